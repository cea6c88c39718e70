package pgfault

import (
	"context"
	"net"
	"sync"
)

// Dial is how a driver opens connections, such as pgconn.DialFunc.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Breaker counts the statements of all connections that it dialled and breaks one of them when asked to. It is safe for
// concurrent use. The zero Breaker is ready and breaks nothing.
type Breaker struct {
	mu      sync.Mutex
	count   int
	only    func(sql string) bool
	at      int // the statement, from 1, that meets the fault; 0: none
	fault   *Fault
	seen    []string
	sockets sync.WaitGroup
}

// Dialer is dial with connections that the Breaker sees.
func (b *Breaker) Dialer(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, breaker: b, portals: map[string]string{}, prepared: map[string]string{}, expired: make(chan struct{})}, nil
	}
}

// At plans a fault for the nth statement from now, from 1, and forgets an earlier plan. BEGIN, COMMIT and ROLLBACK are
// statements, what a driver does to prepare one is not. state is the SQLSTATE of a refusal, one of States; other kinds
// take none.
func (b *Breaker) At(n int, kind Kind, state string) *Fault { return b.AtText(nil, n, kind, state) }

// AtText is At for the nth statement whose text matches.
func (b *Breaker) AtText(matches func(sql string) bool, n int, kind Kind, state string) *Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault != nil {
		b.fault.Release()
	}
	b.count, b.at, b.only, b.fault, b.seen = 0, n, matches, newFault(kind, state), nil
	return b.fault
}

// Clear forgets the plan and releases it, and returns the texts of the statements that were sent since it was made.
func (b *Breaker) Clear() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault != nil {
		b.fault.Release()
	}
	b.at, b.fault = 0, nil
	return b.seen
}

// seenLimit bounds the texts that are kept of one plan.
const seenLimit = 10_000

// next counts a statement and returns its fault, if it has one.
func (b *Breaker) next(sql string) *Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == nil {
		return nil
	}
	if len(b.seen) < seenLimit {
		b.seen = append(b.seen, sql)
	}
	if b.only != nil && !b.only(sql) {
		return nil
	}
	b.count++
	if b.count != b.at {
		return nil
	}
	if b.fault.kind == Detach {
		b.sockets.Add(1) // under the lock: after Clear there are no more to wait for
	}
	return b.fault
}

// Wait returns when the server has ended all sessions that Detach left to it. The faults must have been released, and no
// plan be left: Clear comes first.
func (b *Breaker) Wait() { b.sockets.Wait() }
