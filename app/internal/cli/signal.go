package cli

import (
	"context"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// SignalCommands act on signals.
type SignalCommands struct {
	Send signalSend `cmd:"" help:"Send a signal to a run."`
	Get  signalGet  `cmd:"" help:"Show what became of a signal."`
}

type signalSend struct {
	oneRun
	Waiting
	Name string  `arg:"" help:"Name of the signal; flowgate workflow interface shows those that a workflow takes."`
	Key  *string `name:"idempotency-key" placeholder:"KEY" help:"ID of the signal, which makes it safe to send again; else one is made and shown."`
	Data *string `short:"d" placeholder:"JSON" help:"Payload: JSON, @FILE, or - for the standard input; else null."`
}

// Run implements the command. A script whose variable is empty must not send a new signal each time, so an empty key is refused.
func (c signalSend) Run(ctx context.Context, env Env) error {
	m := client.Message{}
	if c.Key != nil {
		if m.ID = *c.Key; m.ID == "" {
			return &UsageError{"--idempotency-key must not be empty; leave it out, and an ID is made"}
		}
	}
	var err error
	if m.Payload, err = payloadOf(env, "--data", c.Data); err != nil {
		return err
	}
	return c.ask(ctx, env, c.Wait, func(ctx context.Context, api *client.Client) error {
		s, err := api.SendSignal(ctx, c.id(), c.Name, m)
		if err != nil {
			return err
		}
		if c.Wait {
			return c.ended(ctx, env, api, c.id())
		}
		return c.print(env, s.Raw, func(p *page) {
			if s.Duplicate() {
				p.say("signal %s had been accepted before, with the same content", s.SignalID)
			} else {
				p.say("signal %s is accepted", s.SignalID)
			}
			if s.Backlog != nil {
				p.say("the run has %d unread signals, of at most %d", s.Backlog.Unread, s.Backlog.Limit)
			}
		})
	})
}

type signalGet struct {
	oneRun
	SignalID string `arg:"" name:"signal" help:"ID of the signal: the idempotency key."`
}

// Run implements the command.
func (c signalGet) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		s, err := api.Signal(ctx, c.id(), spec.SignalID(c.SignalID))
		if err != nil {
			return err
		}
		return c.print(env, s.Raw, func(p *page) {
			p.row("signal", string(s.SignalID))
			p.row("name", s.Name)
			p.row("state", s.State)
			p.row("received", p.at(s.ReceivedAt)+", "+ago(p.age(s.ReceivedAt)))
			p.row("from", s.Source)
			p.given("by", s.Actor)
			if s.ConsumedBy != nil {
				p.row("read by", string(s.ConsumedBy.WaitID))
			}
		})
	})
}
