package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Shares of messages that are sent again, and under whose identity something else is sent.
const (
	duplicatesIn = 20 // one in
	conflictsIn  = 100
)

// firstPause and lastPause bound the pause before a message is sent again.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// callers deliver messages to whichever process takes them, and keep the ledger.
type callers struct {
	cluster *cluster
	client  client
	ledger  *ledger
	phase   phase

	mu   sync.Mutex
	sent map[identity]message // what was sent first under each identity
}

func newCallers(c *cluster, l *ledger) *callers {
	return &callers{cluster: c, client: newClient(), ledger: l, phase: phaseLoad, sent: map[identity]message{}}
}

// attempt sends a message once and writes down what became of it.
func (c *callers) attempt(ctx context.Context, m message, rng *rand.Rand) (entry, error) {
	n, base, err := c.cluster.any(ctx, rng)
	if err != nil {
		return entry{}, err
	}
	e := entry{Phase: c.phase, Kind: m.kind, Run: m.run, ID: m.id, Name: m.name, Payload: m.payload, Bad: m.bad, Process: n}
	slot := c.cluster.slots[n]
	before, from := c.cluster.troubles(slot), time.Now()
	r, err := c.client.do(ctx, base, m.ask(rng))
	if ctx.Err() != nil {
		return entry{}, context.Cause(ctx)
	}
	e.At = time.Now()
	e.Took, e.Troubled = e.At.Sub(from), c.cluster.troubles(slot).since(before)
	if err != nil {
		e.Verdict = verdictNone
	} else {
		e.Verdict, e.Status, e.Code, e.Cause, e.Receipt = r.Verdict, r.status, r.Code, r.Cause, r.Receipt
	}
	return e, c.ledger.write(e)
}

// settle sends a message until somebody says definitely what became of it. The error says why it was given up: ctx
// ended, or the ledger cannot be written.
func (c *callers) settle(ctx context.Context, m message, rng *rand.Rand) (entry, error) {
	wait := firstPause
	for {
		e, err := c.attempt(ctx, m, rng)
		if err != nil || e.definite() {
			return e, err
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return e, err
		}
		wait = min(2*wait, lastPause)
	}
}

// send delivers a message. Now and then it sends it twice at once or again, or something else under its identity once it
// is acknowledged. The error says why one of these was given up.
func (c *callers) send(ctx context.Context, m message, rng *rand.Rand) error {
	c.mu.Lock()
	c.sent[m.identity] = m
	c.mu.Unlock()
	again, atOnce, differs := rng.IntN(duplicatesIn) == 0, rng.IntN(2) == 0, rng.IntN(conflictsIn) == 0
	twin := make(chan error, 1)
	if again && atOnce {
		other := rand.New(rand.NewPCG(rng.Uint64(), 1))
		go func() {
			_, err := c.settle(ctx, m, other)
			twin <- err
		}()
	} else {
		twin <- nil
	}
	e, err := c.settle(ctx, m, rng)
	if failed := <-twin; err == nil {
		err = failed
	}
	if err != nil || !e.acknowledged() {
		return err
	}
	if again && !atOnce {
		if _, err := c.settle(ctx, m, rng); err != nil {
			return err
		}
	}
	if other, can := m.otherwise(); can && differs {
		_, err = c.settle(ctx, other, rng)
	}
	return err
}

// read asks until somebody answers with a status of ours, 2xx or 4xx.
func (c *callers) read(ctx context.Context, a ask, rng *rand.Rand) (reply, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		_, base, err := c.cluster.any(ctx, rng)
		if err != nil {
			return reply{}, err
		}
		r, err := c.client.do(ctx, base, a)
		if err == nil && r.status < http.StatusInternalServerError && r.status != http.StatusTooManyRequests {
			return r, nil
		}
		if err := pause(ctx, wait/2+rand.N(wait)); err != nil {
			return reply{}, err
		}
	}
}
