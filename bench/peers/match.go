package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// How long a peer may take beyond its time.
const (
	closeWithin = 5 * time.Second  // for a peer to stop
	giveUpAfter = 15 * time.Second // for a peer to return once its time is over
)

// measured puts one peer through the jobs that it can do, within its share of the time that is left, of which it has one in so many. It
// returns also when the peer panics or never ends; the peer's goroutines may then live on.
func measured(ctx context.Context, e entry, o options, server *pgx.ConnConfig, shares int) result {
	deadline, _ := ctx.Deadline()
	share := time.Until(deadline) / time.Duration(shares)
	ctx, cancel := context.WithTimeoutCause(ctx, share, fmt.Errorf("its time of %s is over", share.Round(time.Second)))
	defer cancel()
	named := result{Name: e.name, Version: e.version(), Note: e.note}
	r := named
	for _, j := range o.jobs {
		if !e.does(j) {
			continue
		}
		m, err := newMatch(ctx, e, j, o, server)
		if err == nil {
			r, err = m.result(ctx, r)
			err = errors.Join(err, m.clear(ctx))
		}
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			named.Error = err.Error()
			return named
		}
	}
	return r
}

// match is one peer at one job.
type match struct {
	entry   entry
	job     job
	options options
	board   *board
	store   *store
	procs   *processes // nil where CPU time cannot be had
	engine  engine
	made    int // runs named so far
}

func newMatch(ctx context.Context, e entry, j job, o options, server *pgx.ConnConfig) (*match, error) {
	m := &match{entry: e, job: j, options: o, board: newBoard()}
	procs := processes{}
	if !e.embedded {
		var err error
		if m.store, err = newStore(ctx, server, e.name); err != nil {
			return nil, err
		}
		if procs, err = serverProcesses(ctx, o.serverPID, m.store.admin); err != nil {
			if o.serverPID != 0 {
				return nil, errors.Join(err, m.clear(ctx))
			}
			return m, nil // the server runs elsewhere, or this is not Linux: no CPU time
		}
	}
	if _, err := procs.cpu(); err == nil {
		m.procs = &procs
	}
	return m, nil
}

// clear removes the peer's database, also when the time is over.
func (m *match) clear(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpAfter)
	defer cancel()
	return m.store.drop(ctx)
}

// result plays the match in a goroutine of its own, which is left behind when it does not end.
func (m *match) result(ctx context.Context, r result) (result, error) {
	type end struct {
		result result
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- end{err: fmt.Errorf("panic: %v", p)}
			}
		}()
		err := m.play(ctx, &r)
		ended <- end{r, err}
	}()
	select {
	case e := <-ended:
		return e.result, e.err
	case <-ctx.Done():
	}
	select {
	case e := <-ended:
		return e.result, e.err
	case <-time.After(giveUpAfter):
		return result{}, errors.New("it does not stop")
	}
}

// play opens the peer, takes all figures and closes it.
func (m *match) play(ctx context.Context, r *result) (err error) {
	m.engine, err = m.entry.open(ctx, place{job: m.job, board: m.board, store: m.store})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	if m.job == stepsJob {
		err = m.lives(ctx, r)
	} else {
		err = m.signalled(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("job %s: %w", m.job, err)
	}
	return m.checkCompleted(ctx)
}

// signalled takes the figures of signalJob.
func (m *match) signalled(ctx context.Context, r *result) error {
	if err := m.warm(ctx); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	if err := m.burst(ctx, r); err != nil {
		return fmt.Errorf("burst: %w", err)
	}
	r.RoundTrip = map[string]percentiles{}
	for _, c := range inFlight {
		if err := m.roundTrips(ctx, c, r); err != nil {
			return fmt.Errorf("%d in flight: %w", c, err)
		}
	}
	return nil
}

func (m *match) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err := m.engine.close(ctx)
	if m.store != nil && m.store.pool != nil && err == nil {
		m.store.pool.Close()
	}
	return err
}
