package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// LetterCommands act on dead letters.
type LetterCommands struct {
	List    letterList    `cmd:"" help:"List steps that were given up, or webhooks that could not be delivered."`
	Get     letterGet     `cmd:"" help:"Show a dead letter."`
	Replay  letterReplay  `cmd:"" help:"Have a held step, or a webhook, tried again."`
	Discard letterDiscard `cmd:"" help:"Let a held step fail, or put a letter away."`
}

type letterList struct {
	Gateway
	Paging
	Kind   string `placeholder:"KIND" help:"step, which is the default, or message: webhooks."`
	State  string `placeholder:"STATE" help:"Letters in this state only: held, failed, replayed, discarded; of messages held, dead, delivered, discarded."`
	Name   string `placeholder:"STEP" help:"Steps of this name only."`
	Source string `placeholder:"SOURCE" help:"Messages of this source only."`
	RunID  string `name:"run" placeholder:"ID" help:"Messages for this run only."`
	Reason string `placeholder:"REASON" help:"Messages with this reason only."`
}

// Run implements the command.
func (c letterList) Run(ctx context.Context, env Env) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.LettersPage(ctx, client.LetterQuery{
			Kind: c.Kind, State: c.State, Name: c.Name, Source: c.Source, Run: spec.RunID(c.RunID), Reason: c.Reason,
			Cursor: c.Cursor, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) { p.letters(found) })
	})
}

func (p *page) letters(found client.Page[client.Letter]) {
	if len(found.Items) == 0 {
		p.say("no dead letters")
		return
	}
	p.row("LETTER", "RUN", "WHAT", "STATE", "REASON", "ATTEMPTS", "AGE")
	for _, l := range found.Items {
		p.row(l.ID, string(l.RunID), what(l), l.State, l.Reason, number(l.Attempt), p.ageOrNone(began(l)))
	}
	p.more(found.NextCursor)
}

// what a letter is about.
func what(l client.Letter) string {
	switch {
	case l.Name != "":
		return "step " + l.Name
	case l.Signal != "":
		return "signal " + l.Signal
	}
	return "hook " + string(l.HookID)
}

func began(l client.Letter) *time.Time {
	if l.CreatedAt != nil {
		return l.CreatedAt
	}
	return l.ReceivedAt
}

func (p *page) ageOrNone(t *time.Time) string {
	if t == nil {
		return ""
	}
	return p.age(*t)
}

type oneLetter struct {
	Gateway
	ID string `arg:"" name:"letter" help:"ID of the letter, as list shows it."`
}

type letterGet struct{ oneLetter }

// Run implements the command.
func (c letterGet) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		l, err := api.Letter(ctx, c.ID)
		if err != nil {
			return err
		}
		return c.print(env, l.Raw, func(p *page) {
			p.row("letter", l.ID)
			p.row("run", string(l.RunID))
			p.row("what", what(l))
			p.given("step", string(l.StepID))
			p.given("source", l.Source)
			p.given("message", l.MessageID)
			p.row("state", l.State)
			p.given("reason", l.Reason)
			p.given("code", l.Code)
			p.given("says", l.Message)
			p.row("attempts", number(l.Attempt))
			p.optional("since", began(l))
			p.optional("decided", l.ResolvedAt)
			p.given("by", l.Actor)
			p.given("payload", cut(compact(l.Payload), 1000))
		})
	})
}

type letterReplay struct{ oneLetter }

// Run implements the command.
func (c letterReplay) Run(ctx context.Context, env Env) error {
	return c.decide(ctx, env, "is tried again", func(ctx context.Context, api *client.Client) (client.LetterDecision, error) {
		return api.ReplayLetter(ctx, c.ID)
	})
}

type letterDiscard struct{ oneLetter }

// Run implements the command.
func (c letterDiscard) Run(ctx context.Context, env Env) error {
	return c.decide(ctx, env, "is put away", func(ctx context.Context, api *client.Client) (client.LetterDecision, error) {
		return api.DiscardLetter(ctx, c.ID)
	})
}

func (c oneLetter) decide(
	ctx context.Context, env Env, said string, by func(context.Context, *client.Client) (client.LetterDecision, error),
) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		d, err := by(ctx, api)
		if err != nil {
			return err
		}
		return c.print(env, d.Raw, func(p *page) {
			if d.Duplicate() {
				said += "; that had been decided before"
			}
			p.say("letter %s %s", c.ID, said)
		})
	})
}
