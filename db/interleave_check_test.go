package db

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ledger is what callers were told was accepted, now or before.
type ledger struct {
	mu   sync.Mutex
	acks []acknowledged
}

type acknowledged struct {
	message history.Message
	receipt history.Receipt
}

// note keeps the answer of a message if it is a receipt, and returns it in a word.
func (l *ledger) note(m history.Message, receipt history.Receipt, err error) string {
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.acks = append(l.acks, acknowledged{m, receipt})
	}
	return verdictOf(receipt, err)
}

// check looks for what must never be, whatever came of a duel, in the runs of all its bouts.
func (r *ring) check() {
	r.t.Helper()
	stories := r.chronicles(boutName(r.first))
	for _, a := range r.acks.acks {
		if word := stories[string(a.message.Target().RunID)].holds(a); word != "" {
			r.t.Errorf("%s: %T was acknowledged at seq %d, %s", a.message.Target().RunID, a.message, a.receipt.Sequence, word)
		}
	}
	if n := value[int](r.acceptRig, `select count(*) from runs where wake_at is not null`); n != 0 {
		r.t.Errorf("%d runs are due after their end", n)
	}
	for at, n := range r.calls.n {
		if n != 1 && !r.duel.again {
			r.t.Errorf("the turn %s was decided %d times", at, n)
		}
	}
}

// checkAll compares all rows of the ring with the events.
func (r *ring) checkAll() {
	r.t.Helper()
	r.consistent()
	verified := 0
	for page, err := range r.Verify(context.Background(), VerifyQuery{}) {
		if err != nil {
			r.t.Fatal(err)
		}
		verified += page.Runs
		for _, found := range page.Found {
			r.t.Error(found)
		}
	}
	if n := value[int](r.acceptRig, `select count(*) from runs`); n != verified {
		r.t.Errorf("%d of %d runs were verified", verified, n)
	}
}

// chronicle is the events of a run by seq, read for what they say of each other.
type chronicle struct {
	events    map[int64]history.Event
	signals   map[spec.SignalID]int64
	opened    map[spec.WaitID]history.Event
	consumed  map[int64]bool   // seqs of signals
	last      map[string]int64 // seq of the last signal consumed, by name
	deadlines map[spec.HookID]*time.Time
	closed    map[spec.HookID]bool
	wrong     []string
}

// chronicles are those of the runs from one on, whose names say so.
func (r *ring) chronicles(from string) map[string]*chronicle {
	r.t.Helper()
	rows, err := r.pool.Query(context.Background(), `select e.*, r.run_id from events e join runs r on r.id = e.run
		where r.run_id >= $1 order by e.run, e.seq`, from)
	if err != nil {
		r.t.Fatal(err)
	}
	type eventRow struct {
		sqlc.Event
		RunID string
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[eventRow])
	if err != nil {
		r.t.Fatal(err)
	}
	stories := map[string]*chronicle{}
	for _, row := range events {
		c := stories[row.RunID]
		if c == nil {
			c = newChronicle()
			stories[row.RunID] = c
		}
		e, err := eventOf(row.Event)
		if err != nil {
			r.t.Fatal(err)
		}
		c.add(e)
	}
	for run, c := range stories {
		for _, wrong := range c.wrong {
			r.t.Errorf("%s: %s", run, wrong)
		}
	}
	return stories
}

func newChronicle() *chronicle {
	return &chronicle{
		events: map[int64]history.Event{}, signals: map[spec.SignalID]int64{}, opened: map[spec.WaitID]history.Event{},
		consumed: map[int64]bool{}, last: map[string]int64{},
		deadlines: map[spec.HookID]*time.Time{}, closed: map[spec.HookID]bool{},
	}
}

func (c *chronicle) fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *chronicle) add(e history.Event) {
	c.events[e.Seq] = e
	switch d := e.Data.(type) {
	case *history.SignalReceived:
		if first, known := c.signals[d.SignalID]; known {
			c.fail("signal %s was stored at %d and %d", d.SignalID, first, e.Seq)
		}
		c.signals[d.SignalID] = e.Seq
	case *history.WaitOpened:
		c.opened[d.WaitID] = e
	case *history.WaitCompleted:
		c.consume(e, d)
	case *history.HookCreated:
		c.deadlines[d.HookID] = d.ExpiresAt
	case *history.HookResumed:
		if deadline := c.deadlines[d.HookID]; deadline != nil && !e.At.Before(*deadline) {
			c.fail("hook %s was answered at its deadline", d.HookID)
		}
		c.close(d.HookID)
	case *history.HookDisposed:
		c.close(d.HookID)
	case *history.HookExpired:
		if deadline := c.deadlines[d.HookID]; deadline == nil || e.At.Before(*deadline) {
			c.fail("hook %s expired before its deadline", d.HookID)
		}
		c.close(d.HookID)
	case *history.HookClosed:
		c.close(d.HookID)
	}
}

func (c *chronicle) close(id spec.HookID) {
	if c.closed[id] {
		c.fail("hook %s ended twice", id)
	}
	c.closed[id] = true
}

func (c *chronicle) consume(e history.Event, d *history.WaitCompleted) {
	received, ok := c.events[d.SignalSeq].Data.(*history.SignalReceived)
	if !ok || received.SignalID != d.SignalID {
		c.fail("wait %s took what is no signal", d.WaitID)
		return
	}
	if c.consumed[d.SignalSeq] {
		c.fail("signal %s was taken twice", d.SignalID)
	}
	c.consumed[d.SignalSeq] = true
	if c.last[received.Name] > d.SignalSeq {
		c.fail("signal %s was taken out of order", d.SignalID)
	}
	c.last[received.Name] = d.SignalSeq
	opening := c.opened[d.WaitID]
	deadline := opening.Data.(*history.WaitOpened).Deadline
	if deadline != nil && d.SignalSeq > opening.Seq && !c.events[d.SignalSeq].At.Before(*deadline) {
		c.fail("wait %s took a signal of its deadline", d.WaitID)
	}
}

// holds says what is wrong with an acknowledged message, if anything is.
func (c *chronicle) holds(a acknowledged) string {
	if c == nil {
		return "but nothing is stored"
	}
	var digest, want canon.Digest
	ok := false
	switch m := a.message.(type) {
	case *history.StartRun:
		d, is := c.events[1].Data.(*history.RunStarted)
		ok, want = is && a.receipt.Sequence == 1, m.Input.Digest()
		if is {
			digest = d.Digest
		}
	case *history.SendSignal:
		d, is := c.events[a.receipt.Sequence].Data.(*history.SignalReceived)
		ok, want = is && d.SignalID == m.ID && d.Name == m.Name, m.Payload.Digest()
		if is {
			digest = d.Digest
		}
	case *history.SendUpdate:
		d, is := c.events[a.receipt.Sequence].Data.(*history.UpdateReceived)
		ok, want = is && d.UpdateID == m.ID && d.Name == m.Name, m.Payload.Digest()
		if is {
			digest = d.Digest
		}
	case *history.StartWith:
		return c.holds(acknowledged{message: m.Send, receipt: a.receipt})
	case *history.ResumeHook:
		d, is := c.events[a.receipt.Sequence].Data.(*history.HookResumed)
		ok, want = is && d.HookID == m.HookID, m.Payload.Digest()
		if is {
			digest = d.Digest
		}
	case *history.DisposeHook:
		d, is := c.events[a.receipt.Sequence].Data.(*history.HookDisposed)
		ok = is && d.HookID == m.HookID
	case *history.CancelRun:
		_, ok = c.events[a.receipt.Sequence].Data.(*history.RunCancelRequested)
	case *history.SettleTask:
		d, is := c.events[a.receipt.Sequence].Data.(*history.StepCompleted)
		ok, want = is && string(d.StepID) == m.Task.ID && d.Attempt == m.Attempt, m.Output.Digest()
		if is {
			digest = d.Digest
		}
	case *history.RetryRun, *history.HoldTask:
		ok = true // it leaves no event
	}
	switch {
	case !ok:
		return "where something else is stored"
	case digest != want:
		return "and another payload is stored"
	case a.receipt.Sequence > 0 && !c.events[a.receipt.Sequence].At.Equal(a.receipt.ReceivedAt):
		return "and another time is stored"
	}
	return ""
}
