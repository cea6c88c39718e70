package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
)

// Code names what advances a run: a workflow in one version.
type Code struct{ Workflow, Version string }

// RunRef names a run that became due and the code it waits for. The zero RunRef stands for any run.
type RunRef struct {
	Key  history.RunKey
	Code Code
}

// Config is what a Store works with. Zero fields have the defaults named.
type Config struct {
	Limits history.Limits // history.DefaultLimits()
	// Authority looks a spec up in memory. It must be fast, pure and safe for concurrent use. What it does not know is
	// answered with *AuthorityMissingError. Nil knows nothing.
	Authority func(canon.Digest) (history.Authority, bool)
	// Ready is called after a commit for each run that became due, and with the zero RunRef by Nudge. It must not block.
	Ready func(RunRef)
	// Ended is called after a commit that ended a run. It must not block.
	Ended func(history.RunKey)

	Batch       int           // messages of one accept transaction, 256
	Lanes       int           // accept transactions at a time, 1
	SideLanes   int           // transactions at a time that wait for a run another one has locked, 4
	LockTimeout time.Duration // how long such a transaction waits, and one of the host's, 2 s

	CacheStates int   // states kept between turns, 4,096
	CacheBytes  int64 // size of the events those states are the fold of, 64 MiB

	Clock func() time.Time // time.Now; this process's clock, which may be wrong. Its values keep the monotonic reading

	Log     zerolog.Logger // silent
	Process string         // the name of this process; its connections for hints show it as their application name
}

func (c Config) withDefaults() Config {
	if c.Limits == (history.Limits{}) {
		c.Limits = history.DefaultLimits()
	}
	if c.Authority == nil {
		c.Authority = func(canon.Digest) (history.Authority, bool) { return nil, false }
	}
	if c.Ready == nil {
		c.Ready = func(RunRef) {}
	}
	if c.Ended == nil {
		c.Ended = func(history.RunKey) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Batch = positive(c.Batch, 256)
	c.Lanes = positive(c.Lanes, 1)
	c.SideLanes = positive(c.SideLanes, 4)
	c.LockTimeout = positive(c.LockTimeout, 2*time.Second)
	c.CacheStates = positive(c.CacheStates, 4096)
	c.CacheBytes = positive(c.CacheBytes, 64<<20)
	return c
}

func positive[T ~int | ~int64](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Store is the door to one database. It is safe for concurrent use; any number of Stores, in any number of processes, may
// share a database.
type Store struct {
	pool   *pgxpool.Pool
	cfg    Config
	queue  chan *call
	side   *sideLane
	notify *notifier
	states *stateCache
	floors *floors
	newer  *newerRuns
	ended  chan struct{} // closed when Run has ended: nobody takes calls any more
}

// Open returns a Store over a migrated database. It starts nothing and connects to nothing; the pool stays the caller's.
// Accept needs Run, everything else works without.
func Open(pool *pgxpool.Pool, cfg Config) *Store {
	cfg = cfg.withDefaults()
	return &Store{
		pool:   pool,
		cfg:    cfg,
		queue:  make(chan *call, queuedBatches*cfg.Batch*cfg.Lanes),
		side:   newSideLane(queuedBatches * cfg.Batch),
		notify: newNotifier(pool, cfg.Process, cfg.Log),
		states: newStateCache(cfg.CacheStates, cfg.CacheBytes),
		floors: newFloors(),
		newer:  newNewerRuns(),
		ended:  make(chan struct{}),
	}
}

// Run takes accept calls and sends hints until ctx ends; then it answers the calls under way, refuses the waiting ones
// with ErrUnavailable and returns nil once all its goroutines have ended. It is called once.
func (s *Store) Run(ctx context.Context) error {
	defer close(s.ended)
	var lanes, hints errgroup.Group
	hinting, stopHints := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHints()
	hints.Go(func() error { s.notify.run(hinting); return nil })
	for range s.cfg.Lanes {
		lanes.Go(func() error { s.runLane(ctx); return nil })
	}
	for range s.cfg.SideLanes {
		lanes.Go(func() error { s.runSideLane(ctx); return nil })
	}
	_ = lanes.Wait()
	s.refuseWaiting()
	stopHints() // after the lanes, so that their last commits are hinted at
	return hints.Wait()
}
