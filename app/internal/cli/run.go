package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// RunCommands act on runs.
type RunCommands struct {
	Start     runStart     `cmd:"" help:"Start a run of a workflow."`
	Get       runGet       `cmd:"" help:"Show a run: where it stands and what it waits for."`
	List      runList      `cmd:"" help:"List runs, the newest first."`
	History   runHistory   `cmd:"" help:"List what happened to a run."`
	Explain   runExplain   `cmd:"" help:"Say why a run does not go on, and what may help."`
	Cancel    runCancel    `cmd:"" help:"End a run, or ask its code to, where the workflow says so."`
	Terminate runTerminate `cmd:"" help:"End a run at once."`
	Retry     runRetry     `cmd:"" help:"Have a blocked run tried again now."`
}

// oneRun is a command about one run.
type oneRun struct {
	Gateway
	RunID string `arg:"" name:"run" help:"ID of the run."`
}

func (c oneRun) id() spec.RunID { return spec.RunID(c.RunID) }

type runStart struct {
	Gateway
	Waiting
	Workflow string   `arg:"" help:"Name of the workflow; flowgate workflow list shows them."`
	RunID    *string  `name:"run" placeholder:"ID" help:"ID of the run, which makes the start safe to repeat; else one is made."`
	Version  string   `name:"of-version" placeholder:"VERSION" help:"Version of the workflow; else the newest."`
	Data     *string  `short:"d" placeholder:"JSON" help:"Input of the run: JSON, @FILE, or - for the standard input."`
	Label    []string `sep:"none" placeholder:"KEY=VALUE" help:"Label of the run; repeat the flag for more."`
}

// Run implements the command.
func (c runStart) Run(ctx context.Context, env Env) error {
	input, err := payloadOf(env, "--data", c.Data)
	if err != nil {
		return err
	}
	labels, err := labelsOf(c.Label)
	if err != nil {
		return err
	}
	req := client.StartRequest{Workflow: c.Workflow, Version: c.Version, Input: input, Labels: labels}
	if c.RunID != nil {
		if req.RunID = spec.RunID(*c.RunID); req.RunID == "" {
			return &UsageError{"--run must not be empty; leave it out, and an ID is made"}
		}
	}
	return c.ask(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) error {
		s, err := api.Start(ctx, req)
		if err != nil {
			return err
		}
		if c.Wait {
			return c.ended(ctx, env, api, s.RunID)
		}
		return c.print(env, s.Raw, func(p *page) {
			how := "is started"
			if s.Duplicate() {
				how = "had been started before, in the same way"
			}
			p.say("run %s %s", s.RunID, how)
			p.say("see it with: flowgate run get %s", shellWord(string(s.RunID)))
		})
	})
}

type runGet struct {
	oneRun
	Waiting
}

// Run implements the command.
func (c runGet) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) error {
		if c.Wait {
			return c.ended(ctx, env, api, c.id())
		}
		r, err := api.Run(ctx, c.id(), 0)
		if err != nil {
			return err
		}
		return c.print(env, r.Raw, func(p *page) { p.run(r) })
	})
}

type runList struct {
	Gateway
	Paging
	Workflow string   `placeholder:"NAME" help:"Runs of this workflow only."`
	Status   string   `placeholder:"STATUS" help:"Runs of this status only: running, blocked, completed, failed, cancelled."`
	Label    []string `sep:"none" placeholder:"KEY=VALUE" help:"Runs with this label only; repeat the flag for more, all of which must be there."`
}

// Run implements the command.
func (c runList) Run(ctx context.Context, env Env) error {
	if err := c.check(); err != nil {
		return err
	}
	labels, err := labelsOf(c.Label)
	if err != nil {
		return err
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.RunsPage(ctx, client.RunQuery{
			Workflow: c.Workflow, Status: c.Status, Labels: labels, Cursor: c.Cursor, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) { p.runs(found) })
	})
}

type runHistory struct {
	oneRun
	Paging
	Generation int `placeholder:"N" help:"Generation of the run; else the newest."`
}

// Run implements the command.
func (c runHistory) Run(ctx context.Context, env Env) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.HistoryPage(ctx, c.id(), client.HistoryQuery{Generation: c.Generation, Cursor: c.Cursor, Limit: c.Limit})
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) {
			p.row("SEQ", "AT", "EVENT", "DATA")
			for _, e := range found.Events {
				p.row(number(e.Seq), p.at(e.At), e.Type, cut(compact(e.Data), 100))
			}
			p.more(found.NextCursor)
		})
	})
}

type runCancel struct {
	oneRun
	Waiting
	Reason string `placeholder:"TEXT" help:"Why, for the history."`
}

// Run implements the command.
func (c runCancel) Run(ctx context.Context, env Env) error {
	return c.end(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) (client.AcceptedMessage, error) {
		return api.Cancel(ctx, c.id(), c.Reason)
	}, "is cancelled, or asked to end where its workflow wants that")
}

type runTerminate struct {
	oneRun
	Reason string `placeholder:"TEXT" help:"Why, for the history."`
}

// Run implements the command.
func (c runTerminate) Run(ctx context.Context, env Env) error {
	return c.end(ctx, env, false, func(ctx context.Context, api *client.Client) (client.AcceptedMessage, error) {
		return api.Terminate(ctx, c.id(), c.Reason)
	}, "is ended")
}

type runRetry struct {
	oneRun
	Waiting
}

// Run implements the command. On a run that is not blocked it changes nothing.
func (c runRetry) Run(ctx context.Context, env Env) error {
	return c.end(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) (client.AcceptedMessage, error) {
		return api.Retry(ctx, c.id())
	}, "is tried again now, if it was blocked")
}

// end tells the run something by its ID alone.
func (c oneRun) end(
	ctx context.Context, env Env, wait bool,
	by func(context.Context, *client.Client) (client.AcceptedMessage, error), said string,
) error {
	return c.ask(ctx, env, wait, func(ctx context.Context, api *client.Client) error {
		a, err := by(ctx, api)
		if err != nil {
			return err
		}
		if wait {
			return c.ended(ctx, env, api, c.id())
		}
		return c.print(env, a.Raw, func(p *page) {
			if a.Duplicate() {
				said += "; that had been asked for before"
			}
			p.say("run %s %s", c.RunID, said)
		})
	})
}

// runs is a list of runs.
func (p *page) runs(found client.Page[client.Run]) {
	if len(found.Items) == 0 {
		p.say("no runs")
		return
	}
	p.row("RUN", "WORKFLOW", "STATUS", "UNREAD", "AGE", "CHANGED", "LABELS")
	for _, r := range found.Items {
		p.row(string(r.RunID), r.Workflow+" "+r.Version, r.Status, number(r.UnreadSignals), p.age(r.CreatedAt), p.at(r.UpdatedAt), cut(labelled(r.Labels), 60))
	}
	p.more(found.NextCursor)
}

// run is one run.
func (p *page) run(r client.Run) {
	p.row("run", string(r.RunID))
	p.row("workflow", r.Workflow+" "+r.Version)
	p.row("status", r.Status)
	p.row("started", p.at(r.CreatedAt)+", "+ago(p.age(r.CreatedAt)))
	p.optional("ended", r.ClosedAt)
	if r.Generation > 1 {
		p.row("generation", number(r.Generation))
	}
	p.given("labels", labelled(r.Labels))
	p.given("unread", positive(r.UnreadSignals))
	p.given("blocked", r.BlockedReason)
	p.given("error", r.Error)
	if input := compact(r.Input); input != "null" {
		p.given("input", cut(input, 1000))
	}
	p.given("output", cut(compact(r.Output), 1000))
	if len(r.Waiting) > 0 {
		p.say("it waits for")
		p.row("KIND", "ID", "NAME", "UNTIL")
		for _, w := range r.Waiting {
			p.row(w.Kind, w.ID, w.Name, p.atOrNone(w.ExpiresAt))
		}
	}
	if !r.Ended() {
		p.say("what it needs: flowgate run explain %s", shellWord(string(r.RunID)))
	}
}

// given is a row for what is there.
func (p *page) given(name, text string) {
	if text != "" {
		p.row(name, text)
	}
}

func (p *page) optional(name string, t *time.Time) {
	if t != nil {
		p.row(name, p.at(*t)+", "+ago(p.age(*t)))
	}
}
