package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// patience bounds every wait of these tests.
const patience = 60 * time.Second

var wantWork = db.TaskWant{Kind: history.TaskStep, Name: "work", Most: 1}

// bench is a worker with a place for the step work, and nobody who has it look for tasks. The runs are another process's.
type bench struct {
	*worker
	t       *testing.T
	pool    *pgxpool.Pool
	asking  *Engine
	calls   atomic.Int32
	entered chan struct{}
	release chan struct{} // closed: the function fails, and its step is due in an hour
}

func newBench(t *testing.T, places int) *bench {
	t.Helper()
	secret := []tokens.Key{{ID: "k", Secret: []byte(strings.Repeat("s", 32))}}
	keys, err := tokens.NewKeyring(secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, pool: pgtest.New(t), entered: make(chan struct{}, 4), release: make(chan struct{})}
	cfg := Config{Pool: b.pool, Keys: keys, StepQueues: map[string]int{defaultQueue: places}}
	doing, asking := b.engineOf(cfg), b.engineOf(cfg)
	b.check(doing.RegisterStep("work", b.work))
	b.check(asking.Register(spec.WorkflowSpec{Name: "w", Version: "1"}, func(c *Context) (Decision, error) {
		return c.RunStep("s", "work", nil, spec.FixedRetry(3, time.Hour)), nil
	}))
	quiet := make(chan struct{})
	close(quiet)
	b.worker, b.asking = newWorker(doing, quiet), asking
	doing.worker.Store(b.worker)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.check(asking.Run(ctx)) })
	t.Cleanup(func() {
		b.free()
		cancel()
		running.Wait()
		b.attempts.Wait()
	})
	return b
}

func (b *bench) engineOf(cfg Config) *Engine {
	e, err := New(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func (b *bench) check(err error) {
	if err != nil {
		b.t.Error(err)
	}
}

func (b *bench) work(context.Context, *Step) (any, error) {
	b.calls.Add(1)
	b.entered <- struct{}{}
	<-b.release
	return nil, errors.New("not yet")
}

func (b *bench) free() {
	select {
	case <-b.release:
	default:
		close(b.release)
	}
}

// places is how many are taken.
func (b *bench) places() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lineOf(wantWork).used
}

func (b *bench) until(what string, is func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never: %s", what)
		}
	}
}

// due starts a run and waits until its step is due.
func (b *bench) due() {
	b.t.Helper()
	_, err := b.asking.Start(b.t.Context(), StartRequest{Workflow: "w"})
	b.check(err)
	b.until("a step is due", func() bool { return b.ask("select exists (select from tasks where worker is null)") })
}

func (b *bench) ask(question string) (yes bool) {
	b.check(b.pool.QueryRow(b.t.Context(), question).Scan(&yes))
	return yes
}

// claimed is the step of a new run, as a commit of this process has begun it.
func (b *bench) claimed() db.ClaimedTask {
	b.t.Helper()
	b.due()
	c, err := b.store.ClaimTasks(b.t.Context(), db.TaskClaim{Worker: b.process, Lease: time.Minute, Wants: []db.TaskWant{wantWork}})
	if err != nil || len(c.Tasks) != 1 {
		b.t.Fatalf("%+v %v", c, err)
	}
	return c.Tasks[0]
}

// begin begins the task as after a commit; unsure: nobody knows of which outcome.
func (b *bench) begin(t db.ClaimedTask, unsure bool) {
	b.t.Helper()
	if !b.reserve(wantWork) {
		b.t.Fatal("there is no room")
	}
	t.Since, t.Unsure = b.clock(), unsure
	b.begun([]db.ClaimedTask{t})
}

// hold keeps everybody from tasks until the transaction ends.
func (b *bench) hold() pgx.Tx {
	b.t.Helper()
	tx, err := b.pool.Begin(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = tx.Exec(b.t.Context(), "lock table tasks in access exclusive mode")
	b.check(err)
	return tx
}

func (b *bench) held() {
	b.t.Helper()
	b.until("somebody waits for tasks", func() bool {
		return b.ask("select exists (select from pg_locks where not granted and relation = 'tasks'::regclass)")
	})
}

// A commit was lost, and its turn is stored again by this process: the row looks as the first commit would have left it.
func TestAttemptOfLostCommitYieldsToTheOneBegunAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	task := b.claimed()
	tx := b.hold()
	b.begin(task, true)
	b.held() // it asks whether the task is its own
	b.begin(task, false)
	<-b.entered
	b.check(tx.Rollback(t.Context()))
	b.until("the first attempt is over, or two are under way", func() bool { return b.places() == 1 || b.calls.Load() > 1 })
	b.free()
	b.until("both places are free", func() bool { return b.places() == 0 })
	if n := b.calls.Load(); n != 1 {
		t.Errorf("the function was called %d times for one attempt", n)
	}
}

// The other way round: the first asks when the second commit is stored, and is told before it is known.
func TestAttemptIsNotBegunBesideItsOwnConfirmedOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	task := b.claimed()
	b.begin(task, true)
	<-b.entered
	b.begin(task, false)
	if n := b.places(); n != 1 {
		t.Errorf("%d places are taken, want 1", n)
	}
	b.free()
	b.until("both places are free", func() bool { return b.places() == 0 })
	if n := b.calls.Load(); n != 1 {
		t.Errorf("the function was called %d times for one attempt", n)
	}
}

// It may even be over by the time at which the second commit is known.
func TestAttemptIsNotBegunAfterItsOwnConfirmedOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	task := b.claimed()
	b.free()
	b.begin(task, true)
	b.until("the attempt is over", func() bool { return b.calls.Load() == 1 && b.places() == 0 })
	b.begin(task, false)
	b.until("the place is free", func() bool { return b.places() == 0 })
	if n := b.calls.Load(); n != 1 {
		t.Errorf("the function was called %d times for one attempt", n)
	}
	task.Task.Attempt++
	b.begin(task, false)
	b.until("the next attempt is over", func() bool { return b.calls.Load() == 2 && b.places() == 0 })
}

// What is claimed and what is begun with its commit share the places of a queue.
func TestQueueIsNeverOverfull(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.due()
	tx := b.hold()
	claiming := make(chan error, 1)
	go func() {
		_, err := b.claim(context.Background(), false)
		claiming <- err
	}()
	b.held()
	if b.reserve(wantWork) {
		t.Error("a place was given away twice")
	}
	b.check(tx.Rollback(t.Context()))
	b.check(<-claiming)
	<-b.entered
	if n := b.places(); n != 1 {
		t.Errorf("%d places are taken, want 1", n)
	}
	b.free()
	b.until("the place is free", func() bool { return b.places() == 0 })
	_, err := b.claim(t.Context(), false)
	if b.check(err); !b.reserve(wantWork) {
		t.Error("a claim that finds nothing keeps its place")
	}
	b.unreserve([]db.TaskWant{wantWork})
}

// What waits for a place gets it before what is about to be stored.
func TestNewStepDoesNotOvertakeTheWaitingOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.begin(b.claimed(), false)
	<-b.entered
	b.due()
	_, err := b.claim(t.Context(), false)
	b.check(err)
	b.free()
	b.until("the place is free", func() bool { return b.places() == 0 })
	if b.reserve(wantWork) {
		t.Fatal("the place was given away")
	}
	_, err = b.claim(t.Context(), false)
	b.check(err)
	<-b.entered
	b.until("the place is free again", func() bool { return b.places() == 0 })
}

// A program of before steps cancels a run and leaves the row of its step.
func TestStepOfAnEndedRunIsNotDone(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.due()
	b.exec("create table kept as select * from tasks")
	var run spec.RunID
	b.check(b.pool.QueryRow(t.Context(), "select run_id from runs").Scan(&run))
	_, err := b.asking.Cancel(t.Context(), CancelRequest{RunID: run})
	b.check(err)
	b.exec("insert into tasks select * from kept")
	ctx, cancel := context.WithCancel(context.Background())
	var storing sync.WaitGroup
	storing.Go(func() { b.check(b.store.Run(ctx)) })
	t.Cleanup(func() { cancel(); storing.Wait() })
	_, err = b.claim(t.Context(), false)
	b.check(err)
	b.until("the row is gone, or the function is called", func() bool {
		return b.calls.Load() > 0 || b.ask("select not exists (select from tasks)")
	})
	if b.calls.Load() > 0 {
		t.Error("the step of an ended run was done")
	}
}

func (b *bench) exec(sql string) {
	b.t.Helper()
	_, err := b.pool.Exec(b.t.Context(), sql)
	b.check(err)
}
