package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// HookCommands act on hooks.
type HookCommands struct {
	List    hookList    `cmd:"" help:"List hooks, the newest first."`
	Get     hookGet     `cmd:"" help:"Show a hook, never its token."`
	Link    hookLink    `cmd:"" help:"Print the link that answers a hook. Whoever has it may answer."`
	Resume  hookResume  `cmd:"" help:"Answer a hook."`
	Dispose hookDispose `cmd:"" help:"Withdraw a hook."`
}

// oneHook is a command about one hook.
type oneHook struct {
	oneRun
	HookID string `arg:"" name:"hook" help:"ID of the hook in its run."`
}

func (c oneHook) hook() spec.HookID { return spec.HookID(c.HookID) }

type hookList struct {
	Gateway
	Paging
	RunID     string        `name:"run" placeholder:"ID" help:"Hooks of this run only."`
	State     string        `placeholder:"STATE" help:"Hooks in this state only: active, resumed, disposed, expired, cancelled, run_ended."`
	Label     []string      `sep:"none" placeholder:"KEY=VALUE" help:"Hooks with this label only; repeat the flag for more."`
	OlderThan time.Duration `placeholder:"DURATION" help:"Hooks that are at least so old only, such as 24h."`
}

// Run implements the command.
func (c hookList) Run(ctx context.Context, env Env) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.OlderThan < 0 {
		return &UsageError{"--older-than must be more than 0"}
	}
	labels, err := labelsOf(c.Label)
	if err != nil {
		return err
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.HooksPage(ctx, client.HookQuery{
			RunID: spec.RunID(c.RunID), State: c.State, Labels: labels, OlderThan: c.OlderThan, Cursor: c.Cursor, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) { p.hooks(found) })
	})
}

func (p *page) hooks(found client.Page[client.Hook]) {
	if len(found.Items) == 0 {
		p.say("no hooks")
		return
	}
	p.row("RUN", "HOOK", "STATE", "AGE", "UNTIL", "SUBJECT")
	for _, h := range found.Items {
		p.row(string(h.RunID), string(h.HookID), h.State, p.age(h.CreatedAt), p.atOrNone(h.ExpiresAt), cut(h.Subject, 60))
	}
	p.more(found.NextCursor)
}

type hookGet struct{ oneHook }

// Run implements the command.
func (c hookGet) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		h, err := api.Hook(ctx, c.id(), c.hook())
		if err != nil {
			return err
		}
		return c.print(env, h.Raw, func(p *page) { p.hook(h) })
	})
}

func (p *page) hook(h client.Hook) {
	p.row("run", string(h.RunID))
	p.row("hook", string(h.HookID))
	p.row("name", h.Name)
	p.row("state", h.State)
	p.given("kind", h.Kind)
	p.given("subject", h.Subject)
	p.given("labels", labelled(h.Labels))
	p.row("created", p.at(h.CreatedAt)+", "+ago(p.age(h.CreatedAt)))
	p.row("until", p.atOrNone(h.ExpiresAt))
	p.optional("closed", h.ResolvedAt)
	p.given("by", h.Actor)
}

type hookLink struct {
	oneHook
	Recipient *string `placeholder:"PERSON" help:"Print the link of the approval page of this person instead."`
}

// Run implements the command. The link goes to the standard output alone, so that a script can take it from there.
func (c hookLink) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		if c.Recipient != nil {
			l, err := api.PageLink(ctx, c.id(), c.hook(), *c.Recipient)
			if err != nil {
				return err
			}
			return c.print(env, l.Raw, func(p *page) { p.say("%s", l.URL) })
		}
		l, err := api.HookLink(ctx, c.id(), c.hook())
		if err != nil {
			return err
		}
		return c.print(env, l.Raw, func(p *page) { p.say("%s", l.URL) })
	})
}

type hookResume struct {
	oneHook
	Waiting
	Data *string `short:"d" placeholder:"JSON" help:"The answer: JSON, @FILE, or - for the standard input; else null."`
}

// Run implements the command.
func (c hookResume) Run(ctx context.Context, env Env) error {
	answer, err := payloadOf(env, "--data", c.Data)
	if err != nil {
		return err
	}
	return c.ask(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) error {
		a, err := api.ResumeHook(ctx, c.id(), c.hook(), answer)
		if err != nil {
			return err
		}
		if c.Wait {
			return c.ended(ctx, env, api, c.id())
		}
		return c.print(env, a.Raw, func(p *page) {
			if a.Duplicate() {
				p.say("hook %s had been answered so before", c.HookID)
				return
			}
			p.say("hook %s is answered", c.HookID)
		})
	})
}

type hookDispose struct{ oneHook }

// Run implements the command.
func (c hookDispose) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		a, err := api.DisposeHook(ctx, c.id(), c.hook())
		if err != nil {
			return err
		}
		return c.print(env, a.Raw, func(p *page) {
			if a.Duplicate() {
				p.say("hook %s had been withdrawn before", c.HookID)
				return
			}
			p.say("hook %s is withdrawn", c.HookID)
		})
	})
}
