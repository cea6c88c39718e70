package db

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
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
	// Takes says that somebody in this process advances runs of a code, by AdvanceHanded. Nil: nobody.
	Takes func(Code) bool
	// Handed is called after a commit for each run that AdvanceHanded can advance. It must not block.
	Handed func()
	// Ready is called after a commit for each other run that became due, and with the zero RunRef by Nudge. It must not
	// block.
	Ready func(RunRef)
	// Tasked is called after a commit with the kinds of the tasks that it made due, of steps with their names, and says
	// false when somebody in another process has to be told: nobody here does them. It must not block.
	Tasked func([]TaskWant) bool
	// Reserve asks for room to do a task that is about to be stored, so that it is begun by this process in the same
	// commit. What was reserved is begun, or released. They must not block.
	Reserve func(TaskWant) bool
	Begun   func([]ClaimedTask)
	Release func([]TaskWant)
	// TaskLease is the lease of tasks that are begun so.
	TaskLease time.Duration
	// Withdrawn is called after a commit with the tasks of a run that nobody needs any more. It must not block.
	Withdrawn func(history.RunKey, []history.TaskKey)
	// Ended is called after a commit that ended a run, with the run as ReadRun shows it if that is at hand, else nil. It
	// must not block.
	Ended func(history.RunKey, *RunView)

	// Answered is called after a commit with the updates of a run that it ended. It must not block.
	Answered func(history.RunKey, []spec.UpdateID)

	// Turned is called after a commit with each turn that it stored. It must not block. Nil: nobody asks.
	Turned func(Turned)

	Batch       int           // messages of one accept transaction, 256
	Lanes       int           // accept transactions at a time, 1
	SideLanes   int           // transactions at a time that wait for a run another one has locked, 4
	LockTimeout time.Duration // how long such a transaction waits, and one of the host's, 2 s

	CacheStates int   // states kept between turns, 16,384
	CacheBytes  int64 // size of the events those states are the fold of, 64 MiB
	KnownRuns   int   // records kept to decide signals on, 16,384; negative: none

	// Audit keeps the audit trail: an entry for each accepted message, written in the transaction of its receipt, and for
	// what is given to AuditRefusal. Off, nothing is written, and what is there stays.
	Audit bool

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
	if c.Takes == nil {
		c.Takes = func(Code) bool { return false }
	}
	if c.Handed == nil {
		c.Handed = func() {}
	}
	if c.Ready == nil {
		c.Ready = func(RunRef) {}
	}
	if c.Tasked == nil {
		c.Tasked = func([]TaskWant) bool { return false }
	}
	if c.Reserve == nil || c.Begun == nil || c.Release == nil {
		c.Reserve = func(TaskWant) bool { return false }
	}
	if c.Withdrawn == nil {
		c.Withdrawn = func(history.RunKey, []history.TaskKey) {}
	}
	if c.Ended == nil {
		c.Ended = func(history.RunKey, *RunView) {}
	}
	if c.Answered == nil {
		c.Answered = func(history.RunKey, []spec.UpdateID) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Batch = positive(c.Batch, 256)
	c.Lanes = positive(c.Lanes, 1)
	c.SideLanes = positive(c.SideLanes, 4)
	c.LockTimeout = positive(c.LockTimeout, 2*time.Second)
	c.CacheStates = positive(c.CacheStates, 16_384)
	c.CacheBytes = positive(c.CacheBytes, 64<<20)
	if c.KnownRuns == 0 {
		c.KnownRuns = 16_384
	}
	return c
}

func positive[T ~int | ~int64](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// foundLimit is how many hooks are kept between the look-up of a token and the answer: about one queue of calls.
const foundLimit = 4096

// Store is the door to one database. It is safe for concurrent use; any number of Stores, in any number of processes, may
// share a database.
type Store struct {
	pool    *pgxpool.Pool
	cfg     Config
	queue   chan *call
	side    *sideLane
	notify  *notifier
	records *knownRuns
	sent    *identities
	found   *foundHooks
	refused *refusals
	tokens  *lookups[[]history.TokenDigest, *sqlc.ReadHookRow]

	keysByDigest *lookups[[][]byte, *sqlc.ApiKey]
	keysByID     *lookups[string, *sqlc.ApiKey]

	handed  *handover
	waits   waits
	figures *figures
	turning *turning
	vain    *contention
	beats   atomic.Uint64 // heartbeats
	states  *stateCache
	floors  *floors
	newer   *newerRuns
	folding chan struct{} // one taken by each State under way
	ended   chan struct{} // closed when Run has ended: nobody takes calls any more
}

// Open returns a Store over a migrated database. It starts nothing and connects to nothing; the pool stays the caller's.
// Accept needs Run, everything else works without.
func Open(pool *pgxpool.Pool, cfg Config) *Store {
	cfg = cfg.withDefaults()
	s := &Store{
		pool:    pool,
		cfg:     cfg,
		queue:   make(chan *call, queuedBatches*cfg.Batch*cfg.Lanes),
		side:    newSideLane(queuedBatches * cfg.Batch),
		notify:  newNotifier(pool, cfg.Process, cfg.Log),
		records: newKnownRuns(cfg.KnownRuns),
		sent:    newIdentities(cfg.KnownRuns),
		found:   newFoundHooks(foundLimit),
		refused: newRefusals(),
		handed:  newHandover(),
		figures: newFigures(),
		vain:    newContention(),
		turning: newTurning(queuedBatches * cfg.Batch),
		states:  newStateCache(cfg.CacheStates, cfg.CacheBytes),
		floors:  newFloors(),
		newer:   newNewerRuns(),
		folding: make(chan struct{}, max(1, pool.Config().MaxConns/2)),
		ended:   make(chan struct{}),
	}
	s.tokens = &lookups[[]history.TokenDigest, *sqlc.ReadHookRow]{leaders: tokenLeaders, batch: tokenBatch, ask: s.resolveTokens}
	s.keysByDigest = &lookups[[][]byte, *sqlc.ApiKey]{leaders: apiKeyLeaders, batch: apiKeyBatch, ask: s.findKeys}
	s.keysByID = &lookups[string, *sqlc.ApiKey]{leaders: apiKeyLeaders, batch: apiKeyBatch, ask: s.readKeys}
	return s
}

// Run takes accept calls and sends hints until ctx ends; then it answers the calls under way, refuses the waiting ones
// with ErrUnavailable and returns nil once all its goroutines have ended. It is called once.
func (s *Store) Run(ctx context.Context) error {
	defer close(s.ended)
	var lanes, hints, writing errgroup.Group
	hinting, stopHints := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHints()
	hints.Go(func() error { s.notify.run(hinting); return nil })
	writing.Go(func() error { s.writeRefusals(hinting); return nil })
	for range s.cfg.Lanes {
		lanes.Go(func() error { s.runLane(ctx); return nil })
	}
	for range s.cfg.SideLanes {
		lanes.Go(func() error { s.runSideLane(ctx); return nil })
	}
	_ = lanes.Wait()
	s.refuseWaiting()
	s.GiveUp()
	stopHints() // after the lanes, so that their last commits are hinted at
	_ = writing.Wait()
	return hints.Wait()
}

// GiveUp has other processes look for the runs that were handed over, because nobody here goes on. Takes is to say so for
// those that follow.
func (s *Store) GiveUp() {
	if !s.handed.empty() {
		s.notify.ready()
	}
}
