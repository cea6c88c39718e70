package db

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// send gives one message to the store as any caller does.
func (c *contestant) send(m history.Message) string {
	receipt, err := c.store.Accept(context.Background(), m)
	return c.acks.note(m, receipt, err)
}

func (c *contestant) answer(m history.Message, a Answer) string {
	return c.acks.note(m, a.Receipt, a.Err)
}

// wording makes a message to a run.
type wording func(r *ring, run string) history.Message

func signals(id, text string) wording {
	return func(r *ring, run string) history.Message { return r.signal(run, id, text) }
}

// named is a signal of another name.
func named(name, id, text string) wording {
	return func(r *ring, run string) history.Message {
		m := r.signal(run, id, text)
		m.Name = name
		return m
	}
}

func updates(id, text string) wording {
	return func(r *ring, run string) history.Message { return r.update(run, id, text) }
}

func updatesAndStarts(id, text string) wording {
	return func(r *ring, run string) history.Message { return r.updateAndStart(run, id, text) }
}

func signalsAndStarts(id, text string) wording {
	return func(r *ring, run string) history.Message { return r.signalAndStart(run, id, text) }
}

func starts(input string) wording {
	return func(r *ring, run string) history.Message {
		m := r.startOf(run)
		m.Input = payload(r.t, input)
		return m
	}
}

func answers(id, text string) wording {
	return func(r *ring, run string) history.Message { return r.resume(run, id, text) }
}

func disposes(id string) wording {
	return func(_ *ring, run string) history.Message {
		return &history.DisposeHook{Run: keyOf(run), HookID: spec.HookID(id), Actor: "ada"}
	}
}

func cancels(terminate bool) wording {
	return func(_ *ring, run string) history.Message {
		return &history.CancelRun{Run: keyOf(run), Terminate: terminate, Actor: "ada"}
	}
}

func retries(_ *ring, run string) history.Message { return &history.RetryRun{Run: keyOf(run)} }

// to sends a message to the run of the duel.
func to(m wording) func(*contestant) string {
	return func(c *contestant) string { return c.send(m(c.ring, c.run)) }
}

// lately makes a move that begins when the deadline has come.
func lately(do func(*contestant) string) func(*contestant) string {
	return func(c *contestant) string {
		c.setClock(c.late())
		return do(c)
	}
}

// claimsDue has the turns of what is due, as a dispatcher does.
func claimsDue(c *contestant) string {
	done, err := c.store.Advance(context.Background(), c.turnsOf())
	return advanced(done, err)
}

// claimsOne waits for one run and has its turn.
func claimsOne(suffix string) func(*contestant) string {
	return func(c *contestant) string {
		done, err := c.store.AdvanceOne(context.Background(), c.turnsOf(), keyOf(c.run+suffix))
		return advanced(done, err)
	}
}

func advanced(done Advanced, err error) string {
	switch {
	case err != nil:
		return verdictOf(history.Receipt{}, err)
	case len(done.Failed) > 0:
		return "failed: " + done.Failed[0].Err.Error()
	}
	return "turned"
}

// addressed is a message to one of the runs of a duel, by what its ID adds to the duel's name.
type addressed struct {
	suffix string
	m      wording
}

func (c *contestant) all(these []addressed) (all []history.Message) {
	for _, a := range these {
		all = append(all, a.m(c.ring, c.run+a.suffix))
	}
	return all
}

// settles has messages settled in one transaction of the lane; those to locked runs go on in the side lane.
func settles(these ...addressed) func(*contestant) string {
	return func(c *contestant) string {
		var calls []*call
		for _, m := range c.all(these) {
			calls = append(calls, &call{ctx: context.Background(), message: m, run: m.Target(), done: make(chan Answer, 1)})
		}
		c.store.settle(calls, skipLocked)
		var words []string
		for _, call := range calls {
			words = append(words, c.answer(call.message, <-call.done))
		}
		return strings.Join(words, ", ")
	}
}

// hosts accepts messages in one call in a transaction of the host.
func hosts(these ...addressed) func(*contestant) string { return hostsAt(pgx.ReadCommitted, these...) }

// hostsAt is hosts at an isolation level.
func hostsAt(level pgx.TxIsoLevel, these ...addressed) func(*contestant) string {
	return func(c *contestant) string {
		ctx := context.Background()
		tx, err := c.corner.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			return err.Error()
		}
		defer func() { _ = tx.Rollback(ctx) }()
		all := c.all(these)
		answers, err := c.store.AcceptTx(ctx, tx, all)
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err != nil {
			return verdictOf(history.Receipt{}, err)
		}
		var words []string
		for i, a := range answers {
			words = append(words, c.answer(all[i], a))
		}
		return strings.Join(words, ", ")
	}
}
