package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

// courierSlots is how many messages between runs a process delivers at a time.
const courierSlots = 32

// worker does the tasks of runs: it begins what is due, renews the leases of what is under way, and stores the outcomes.
// Its owner calls run once.
type worker struct {
	engine  *Engine
	store   *db.Store
	process string
	lease   time.Duration
	drain   time.Duration
	poll    time.Duration
	clock   func() time.Time
	random  io.Reader
	log     zerolog.Logger
	nudges  <-chan struct{} // a task is due
	quiet   <-chan struct{} // closed when no turn is stored any more in this process
	freed   chan struct{}   // there is room where there was too little; holds one
	lines   []*line
	final   context.Context // ends when run gives up what is under way
	giveUp  context.CancelFunc

	attempts sync.WaitGroup
	mu       sync.Mutex
	underWay map[attemptKey]*attempt
	closing  bool
	proven   map[attemptKey]provenAttempt
	failing  int       // errors in a row
	doubt    time.Time // since when something may have begun of which nobody was told; zero if that is not so
}

// attemptKey names a task over all runs.
type attemptKey struct {
	run  history.RunKey
	task history.TaskKey
}

func newWorker(e *Engine, quiet <-chan struct{}) *worker {
	w := &worker{
		engine: e, quiet: quiet, store: e.store, process: e.cfg.Process, lease: e.cfg.StepLease, drain: e.cfg.StepDrain,
		poll: e.cfg.PollInterval, clock: e.cfg.Clock, random: e.cfg.Random, log: e.cfg.Logger, nudges: e.tasks,
		freed: make(chan struct{}, 1), underWay: map[attemptKey]*attempt{},
		proven: map[attemptKey]provenAttempt{},
	}
	w.final, w.giveUp = context.WithCancel(context.Background())
	for queue, names := range e.steps.freeze() {
		l := &line{slots: or(e.cfg.StepQueues[queue], defaultStepQueue)}
		for _, name := range names {
			l.wants = append(l.wants, db.TaskWant{Kind: history.TaskStep, Name: name})
		}
		w.lines = append(w.lines, l)
	}
	couriers := &line{slots: courierSlots}
	for _, kind := range []history.TaskKind{history.TaskCall, history.TaskChild, history.TaskReport, history.TaskStop} {
		couriers.wants = append(couriers.wants, db.TaskWant{Kind: kind})
	}
	w.lines = append(w.lines, couriers)
	return w
}

// run works until ctx ends, then ends what is under way and waits for it for a while, once nobody stores turns any more.
func (w *worker) run(ctx context.Context) error {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		w.renew(renewing)
	}()
	w.work(ctx)
	w.close()
	<-w.quiet
	w.shutDown()
	stop()
	<-renewed
	return nil
}

func (w *worker) work(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	nudges, freed := w.nudges, w.freed
	for {
		look := false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			look = true
		case <-nudges:
		case <-freed:
		}
		pause, err := w.claim(context.WithoutCancel(ctx), look)
		nudges, freed = w.nudges, w.freed
		if err != nil { // a hint does not make a database answer that does not
			pause, nudges, freed = w.backOff(err), nil, nil
		} else if w.failing > 0 {
			w.log.Info().Int("errors", w.failing).Msg("steps go on")
			w.failing = 0
		}
		timer.Reset(pause)
	}
}

func (w *worker) backOff(err error) time.Duration {
	if w.failing == 0 {
		w.log.Error().Err(err).Msg("steps do not go on: the database refuses the worker")
	}
	pause := min(firstBackOff<<min(w.failing, 10), lastBackOff)
	w.failing++
	return pause
}

// claim begins what is due and says in how long to look again. Who was told nothing asks first whether there is anything.
// A line that has more names than room is asked about until it has no room, or every name was asked for: what is due of one
// must not wait for the next time.
func (w *worker) claim(ctx context.Context, look bool) (time.Duration, error) {
	if err := w.returnUntold(ctx, look); err != nil {
		return 0, err
	}
	w.newRound()
	for pause := w.idle(); ; look = true {
		in, over, err := w.claimOnce(ctx, look)
		if err != nil {
			return 0, err
		}
		if pause = min(pause, in); over {
			return pause, nil
		}
	}
}

// claimOnce begins what is due of the names that there is room for, and says when more is due. The round is over when there
// is no room, every name was asked for, or nothing is due.
func (w *worker) claimOnce(ctx context.Context, look bool) (in time.Duration, over bool, err error) {
	if look {
		wants := w.waitsFor()
		if len(wants) == 0 {
			return 2 * w.poll, true, nil // whoever ends makes room
		}
		if in, err := w.store.NextTask(ctx, wants); err != nil || in > 0 {
			return max(in, shortestWait), true, err
		}
	}
	wants, lines := w.wants()
	got := map[db.TaskWant]int{}
	defer func() { w.leave(wants, lines, got) }()
	if len(wants) == 0 {
		return 2 * w.poll, true, nil
	}
	now := slices.DeleteFunc(slices.Clone(wants), func(want db.TaskWant) bool { return want.Most == 0 })
	asked := w.clock()
	claimed, err := w.store.ClaimTasks(ctx, db.TaskClaim{Worker: w.process, Lease: w.lease, Wants: now})
	if err != nil {
		w.doubts()
		return 0, false, err
	}
	for _, t := range claimed.Tasks {
		want := db.TaskWant{Kind: t.Task.Kind, Name: t.Task.Name}
		got[want]++
		w.start(t, lines[want], asked)
	}
	for _, want := range now {
		if got[db.TaskWant{Kind: want.Kind, Name: want.Name}] == want.Most {
			return 0, false, nil // there may be more
		}
	}
	return max(claimed.NextIn, shortestWait), false, nil
}

// start starts an attempt, which has its place, in a goroutine of its own. One that was lost to this very process is told
// here, because no renewal finds it any more. Of two beginnings of one attempt, one of which nobody knew whether it was
// stored, only one goes on: the other gives its place back.
func (w *worker) start(t db.ClaimedTask, l *line, asked time.Time) {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &attempt{w: w, line: l, task: t, ctx: ctx, cancel: cancel, renewedAt: asked}
	a.lease = time.AfterFunc(w.lease-w.clock().Sub(asked), func() { cancel(ErrLeaseLost) })
	w.mu.Lock()
	if w.isProven(a) {
		w.mu.Unlock()
		a.lease.Stop()
		cancel(nil)
		w.release(l)
		return
	}
	if before := w.underWay[a.key()]; before != nil {
		before.cancel(ErrLeaseLost)
	}
	if w.closing {
		cancel(ErrShuttingDown)
	}
	w.underWay[a.key()] = a
	w.attempts.Add(1) // under the lock: whoever waits for the attempts has closed the worker before
	w.mu.Unlock()
	go func() {
		defer w.attempts.Done()
		defer cancel(nil)
		a.run()
		w.forget(a)
	}()
}

// forget ends the renewal of an attempt's lease.
func (w *worker) forget(a *attempt) {
	a.lease.Stop()
	w.mu.Lock()
	if w.underWay[a.key()] == a {
		delete(w.underWay, a.key())
	}
	w.remember(a)
	w.mu.Unlock()
	if a.task.Task.Kind == history.TaskCall {
		hint(w.freed) // the next one to the same run may go
	}
	if a.stuck == nil {
		w.release(a.line)
		return
	}
	w.log.Warn().Str("step", a.task.Task.Name).Str("run", string(a.task.Run.RunID)).
		Msg("the function of a step does not end; its place in the queue stays taken until it does")
	go func() { // ends with the function
		<-a.stuck
		w.release(a.line)
	}()
}

// withdrawn ends the attempts of tasks that nobody needs any more. It does not block.
func (w *worker) withdrawn(run history.RunKey, tasks []history.TaskKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, task := range tasks {
		if a := w.underWay[attemptKey{run, task}]; a != nil {
			a.cancel(ErrStepCancelled)
		}
	}
}

// close takes nothing more on and ends what is under way.
func (w *worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	for _, a := range w.underWay {
		a.cancel(ErrShuttingDown)
	}
}

// shutDown waits for what is under way. What it has no more patience for is given up, and then ends soon.
func (w *worker) shutDown() {
	over := make(chan struct{})
	go func() { // ends with the attempts
		w.attempts.Wait()
		close(over)
	}()
	patience := time.NewTimer(w.drain)
	defer patience.Stop()
	select {
	case <-over:
	case <-patience.C:
		w.log.Warn().Msg("steps are still under way; another process begins them anew")
	}
	w.giveUp()
	<-over
}

// idle is the poll interval, give or take a fifth, so that processes do not poll in step.
func (w *worker) idle() time.Duration { return spread(w.random, w.poll) }

// spread is a duration, give or take a fifth by chance.
func spread(random io.Reader, d time.Duration) time.Duration {
	var raw [2]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return d
	}
	part := int64(binary.BigEndian.Uint16(raw[:])) - 1<<15
	return d + time.Duration(int64(d)/5*part/(1<<15))
}

// The causes with which the context of a step's function ends: see context.Cause.
var (
	// ErrStepCancelled: the step was withdrawn, its run ended, or another attempt began.
	ErrStepCancelled = errors.New("step cancelled")
	// ErrAttemptTimeout: the attempt has run for as long as it may.
	ErrAttemptTimeout = errors.New("the attempt's time is over")
	// ErrHeartbeatTimeout: the function has not called Heartbeat for too long.
	ErrHeartbeatTimeout = errors.New("no heartbeat of the attempt for too long")
	// ErrLeaseLost: the database could not be told in time that the attempt is under way.
	ErrLeaseLost = errors.New("lease of the attempt ended")
	// ErrShuttingDown: the process ends; the attempt is made again elsewhere and does not count as failed.
	ErrShuttingDown = errors.New("the process is shutting down")
)
