package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
)

type runExplain struct{ oneRun }

// Run implements the command.
func (c runExplain) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		x, err := api.Explain(ctx, c.id())
		if err != nil {
			return err
		}
		return c.print(env, x.Raw, func(p *page) { p.explanation(x) })
	})
}

// explanation is first what a person wants to know, then what it is known by, then what can be done.
func (p *page) explanation(x client.Explanation) {
	p.say("run %s of %s %s is %s", x.RunID, x.Workflow, x.Version, x.Status)
	for _, sentence := range x.Because {
		p.say("- %s", sentence)
	}
	if b := x.Blocked; b != nil {
		p.say("blocked")
		p.row("cause", b.Cause)
		p.row("diagnosis", b.Diagnosis)
		p.row("attempts", number(b.Attempts))
		p.row("tried again", p.untilOrNone(b.RetryAt))
	}
	p.waits(x.Waiting)
	if len(x.Unread) > 0 {
		p.heading("unread signals", "NAME", "COUNT", "OLDEST")
		for _, u := range x.Unread {
			p.row(u.Name, number(u.Count), ago(p.age(u.OldestAt)))
		}
	}
	if len(x.NearMisses) > 0 {
		p.heading("names that are nearly right", "SENT", "MEANT", "WHERE")
		for _, n := range x.NearMisses {
			p.row(n.Sent, n.Meant, n.Where)
		}
	}
	if len(x.DeadLetters) > 0 {
		p.heading("dead letters", "LETTER", "KIND", "NAME", "STATE", "REASON", "AGE")
		for _, l := range x.DeadLetters {
			p.row(l.ID, l.Kind, l.Name, l.State, l.Reason, p.age(l.Since))
		}
	}
	if len(x.Refusals) > 0 {
		p.heading("refused", "AT", "KIND", "NAME", "VERDICT", "WHY", "BY")
		for _, r := range x.Refusals {
			p.row(p.at(r.At), r.Kind, r.Name, string(r.Verdict), r.Why, r.Actor)
		}
	}
	p.advice(x)
}

func (p *page) waits(all []client.Waited) {
	if len(all) == 0 {
		return
	}
	p.heading("it waits for", "KIND", "ID", "NAME", "UNTIL", "ATTEMPTS", "NEXT TRY", "LAST ERROR")
	for _, w := range all {
		next := p.untilOrNone(w.NextTryAt)
		switch {
		case w.Held:
			next = "held"
		case w.UnderWay:
			next = "under way"
		}
		p.row(w.Kind, w.ID, w.Name, p.untilOrNone(w.ExpiresAt), positive(w.Attempts), next, cut(w.LastError, 80))
	}
}

// advice names the commands that may help.
func (p *page) advice(x client.Explanation) {
	var lines []string
	if x.Blocked != nil {
		lines = append(lines, "flowgate run retry "+shellWord(string(x.RunID))+"  # once its code is fixed")
	}
	for _, w := range x.Waiting {
		switch w.Kind {
		case "hook":
			lines = append(lines, "flowgate hook link "+shellWord(string(x.RunID))+" "+shellWord(w.ID)+"  # for who shall answer")
		case "signal":
			lines = append(lines, "flowgate signal send "+shellWord(string(x.RunID))+" "+shellWord(w.Name)+" -d JSON")
		}
	}
	for _, l := range x.DeadLetters {
		lines = append(lines, "flowgate deadletter replay "+shellWord(l.ID)+"  # or discard")
	}
	if len(lines) == 0 {
		return
	}
	p.say("what you can do")
	for _, line := range lines[:min(len(lines), 10)] {
		p.say("  %s", line)
	}
}

// heading begins a table.
func (p *page) heading(title string, columns ...string) {
	p.say("%s", title)
	p.row(columns...)
}

// untilOrNone is a time to come.
func (p *page) untilOrNone(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case !t.After(p.now):
		return "now"
	}
	return p.at(*t)
}
