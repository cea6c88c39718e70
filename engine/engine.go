package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Engine runs workflows on a database. Its embedded Handle has the use cases of the namespace "default"; Namespace gives
// those of another one. It is safe for concurrent use.
type Engine struct {
	*Handle

	cfg    Config
	limits history.Limits
	base   *url.URL // of links; nil when none is configured
	store  *db.Store

	authorities *authorities
	versions    *versions
	live        *liveCodes
	registry    *registry
	exec        *executor
	figures     *figures
	tracing     *tracing // nil: none
	waiters     *waiters[history.RunKey, db.RunView]
	answers     *waiters[db.UpdateKey, struct{}]
	nudges      chan struct{} // holds one: more would say nothing new
	handed      chan struct{} // as nudges, for runs that this process made due
	tasks       chan struct{} // as nudges, for tasks
	steps       *stepRegistry
	worker      atomic.Pointer[worker] // nil until Run
	claimOnly   bool                   // nothing is handed over
	claimTasks  bool                   // no task is begun by the commit that makes it
	started     atomic.Bool
	ending      atomic.Bool // no turn begins any more
}

// New makes an engine and checks its keys against those that other processes on the database use. It starts nothing.
//
// Errors: *InvalidError for the public URL, an error of package db when a key is missing that a retained hook needs or
// has another value than elsewhere, ErrUnavailable.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := parseBase(cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, limits: cfg.Limits.run(), base: base, authorities: newAuthorities(), registry: newRegistry(),
		nudges: make(chan struct{}, 1), handed: make(chan struct{}, 1),
		tasks: make(chan struct{}, 1), steps: newStepRegistry(), figures: newFigures(), tracing: newTracing(cfg.Tracer),
	}
	e.Handle = &Handle{e: e, ns: spec.DefaultNamespace}
	e.exec = newExecutor(cfg)
	var turned func(db.Turned)
	if e.tracing != nil {
		turned = e.tracing.turned
	}
	e.store = db.Open(cfg.Pool, db.Config{
		Turned: turned,
		Limits: e.limits, Authority: e.authorities.lookup, Process: cfg.Process, Log: cfg.Logger,
		Clock: cfg.Clock, Audit: cfg.Audit,
		Takes: e.takes, Handed: func() { hint(e.handed) }, Ready: e.ready,
		Tasked: e.tasked, Withdrawn: e.withdrawn, TaskLease: cfg.StepLease,
		Reserve: e.reserve, Begun: e.begun, Release: e.release,
		Ended:    func(key history.RunKey, end *db.RunView) { e.waiters.wake(key, end) },
		Answered: e.answered,
	})
	if e.tracing != nil {
		e.tracing.store = e.store
	}
	e.versions = &versions{load: e.store.SpecVersion, clock: cfg.Clock}
	e.live = &liveCodes{load: e.store.LiveCodes, clock: cfg.Clock}
	e.waiters = newWaiters[history.RunKey, db.RunView](e.store.EndedRuns, cfg.Logger)
	e.answers = newWaiters[db.UpdateKey, struct{}](e.store.EndedUpdates, cfg.Logger)
	if err := e.store.CheckKeys(ctx, keyChecks(cfg)); err != nil {
		return nil, fmt.Errorf("check token keys: %w", err)
	}
	return e, nil
}

func newExecutor(cfg Config) *executor {
	return &executor{
		keys: cfg.Keys, random: cfg.Random, limits: cfg.Limits.run(), callBudget: cfg.CallBudget,
		batchBudget: cfg.BatchBudget, dev: cfg.Dev, stuck: newStuckCalls(cfg.Logger), log: cfg.Logger,
	}
}

func keyChecks(cfg Config) []db.KeyCheck {
	var checks []db.KeyCheck
	for _, c := range cfg.Keys.Checks() {
		checks = append(checks, db.KeyCheck{Kind: db.KeyKind(c.Kind), ID: c.ID, Check: c.Check[:]})
	}
	return checks
}

var errRunTwice = errors.New("engine: Run was called before")

// Run does the engine's work until ctx ends: it commits what callers send, moves runs on where workflows are registered,
// and listens to other processes. Use cases that write wait for it to begin, as long as their context lets them, and answer
// ErrUnavailable once it ended.
//
// When ctx ends it finishes the claim under way, ends the contexts of steps, waits for them as long as Config.StepDrain lets
// it, and returns nil once its goroutines have ended, but for functions of workflows and steps that do not end. Run is
// called once.
func (e *Engine) Run(ctx context.Context) error {
	if !e.started.CompareAndSwap(false, true) {
		return errRunTwice
	}
	codes := e.registry.freeze()
	quiet := make(chan struct{})
	e.worker.Store(newWorker(e, quiet))
	work, ctx := errgroup.WithContext(ctx)
	storing, stopStoring := context.WithCancel(context.WithoutCancel(ctx)) // outcomes of steps are stored at the end, too
	defer stopStoring()
	work.Go(func() error { return e.store.Run(storing) })
	work.Go(func() error {
		defer stopStoring()
		return e.worker.Load().run(ctx)
	})
	work.Go(func() error {
		<-ctx.Done()
		e.ending.Store(true)
		e.store.GiveUp()
		return nil
	})
	if e.cfg.AuditKeep > 0 {
		work.Go(func() error { return e.sweepAudit(ctx) })
	}
	if e.tracing != nil {
		work.Go(func() error { return e.tracing.run(ctx, quiet) })
	}
	work.Go(func() error { return e.waiters.run(ctx) })
	work.Go(func() error { return e.answers.run(ctx) })
	work.Go(func() error {
		return e.store.Listen(ctx, db.Heed{Ready: e.wake, Ended: e.pollEnds, Tasks: func() { hint(e.tasks) }})
	})
	if len(codes) > 0 {
		d := &dispatcher{
			store: e.store, exec: e.exec, figures: e.figures, registry: e.registry, codes: codes, handed: e.handed, nudges: e.nudges,
			poll: e.cfg.PollInterval, random: e.cfg.Random, clock: e.cfg.Clock, log: e.cfg.Logger,
		}
		said := make(chan struct{}) // others must not say of a run under way that nobody has its code
		work.Go(func() error { return e.heartbeat(ctx, codes, said) })
		work.Go(func() error {
			defer close(quiet)
			<-said
			return d.run(ctx)
		})
	} else {
		close(quiet)
	}
	err := work.Wait()
	if n := e.exec.stuck.count(); n > 0 {
		e.cfg.Logger.Warn().Int("abandoned", n).Msg("calls of workflow functions are still under way")
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// answered is told which updates of a run have ended.
func (e *Engine) answered(run history.RunKey, ids []spec.UpdateID) {
	for _, id := range ids {
		e.answers.wake(db.UpdateKey{Run: run, ID: id}, nil)
	}
}

// pollEnds has waiting callers look for ends in other processes.
func (e *Engine) pollEnds() {
	e.waiters.poll()
	e.answers.poll()
}

// ready is told which run became due, or of any run by the zero reference.
func (e *Engine) ready(ref db.RunRef) {
	if _, ours := e.registry.get(Code(ref.Code)); ours || ref == (db.RunRef{}) {
		e.wake()
	}
}

// takes says that this process moves on runs of a code now.
func (e *Engine) takes(c db.Code) bool {
	_, ours := e.registry.get(Code(c))
	return ours && !e.claimOnly && !e.ending.Load() && !e.exec.stuck.full(c.Workflow)
}

// wake has the dispatcher look for due runs. It never blocks.
func (e *Engine) wake() { hint(e.nudges) }

// tasked is told which tasks became due, and says whether there is room for all of them in this process.
func (e *Engine) tasked(wants []db.TaskWant) bool {
	hint(e.tasks)
	w := e.worker.Load()
	return w != nil && w.takes(wants)
}

func (e *Engine) reserve(want db.TaskWant) bool {
	w := e.worker.Load()
	return w != nil && !e.claimTasks && w.reserve(want)
}

func (e *Engine) begun(tasks []db.ClaimedTask) { e.worker.Load().begun(tasks) }

func (e *Engine) release(wants []db.TaskWant) { e.worker.Load().unreserve(wants) }

func (e *Engine) withdrawn(run history.RunKey, tasks []history.TaskKey) {
	if w := e.worker.Load(); w != nil {
		w.withdrawn(run, tasks)
	}
}

// hint leaves a hint, unless one is there.
func hint(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Nudge has every process look for due runs now. Call it after committing a transaction in which StartTx or
// SendSignalTx were used; without it the next poll finds what they stored.
func (e *Engine) Nudge() { e.store.Nudge() }

// Ping asks the database for a sign of life. Errors: ErrUnavailable.
func (e *Engine) Ping(ctx context.Context) error {
	if err := e.cfg.Pool.Ping(ctx); err != nil {
		return ErrUnavailable // the driver's words may name hosts and accounts
	}
	return nil
}

// AcceptWait is how long messages wait, before anything is done for them, while many of them come: the 95th percentile of
// the last 5 s, and zero when few came. What one run is held up by is not in it.
func (e *Engine) AcceptWait() time.Duration { return e.store.AcceptWait() }

// NewID makes an identifier the way Start names a run that its caller does not: by default a UUIDv7.
func (e *Engine) NewID() string { return e.cfg.NewID() }
