package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/bench/internal/floor"
	"github.com/flowgate-go/flowgate/bench/internal/load"
	"github.com/flowgate-go/flowgate/bench/internal/server"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// connections is what a process of flowgate has by default.
const connections = 16

// rig is an engine at work on a fresh database.
type rig struct {
	b      *Bench
	db     *server.Database
	look   *pgx.Conn // for questions, apart from the engine's pool
	pool   *pgxpool.Pool
	engine *engine.Engine
	taker  taker
	halt   func() error
}

// newRig makes a database and has an engine at work on it. The public URL is only needed for links.
func (b *Bench) newRig(ctx context.Context, publicURL string) (*rig, error) {
	db, err := b.Server.Migrated(ctx)
	if err != nil {
		return nil, err
	}
	r := &rig{b: b, db: db, taker: taker{called: make(chan struct{}, 1)}}
	if r.look, err = db.Connect(ctx); err != nil {
		return nil, err
	}
	if err := r.start(ctx, publicURL); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// start has a new engine with connections of its own at work.
func (r *rig) start(ctx context.Context, publicURL string) (err error) {
	if r.pool, err = r.db.Pool(ctx, connections, nil); err != nil {
		return err
	}
	key := tokens.Key{ID: "bench", Secret: make([]byte, 32)}
	keys, err := tokens.NewKeyring([]tokens.Key{key}, []tokens.Key{key})
	if err != nil {
		return err
	}
	if r.engine, err = engine.New(ctx, engine.Config{Pool: r.pool, Keys: keys, PublicURL: publicURL, Audit: r.b.Audit}); err != nil {
		return err
	}
	for _, w := range []struct {
		spec spec.WorkflowSpec
		fn   engine.Workflow
	}{{waitSpec, waitOnce}, {hookSpec, hookOnce}, {takeSpec, r.taker.take}, {marchSpec, r.taker.march}, {directSpec, direct}, {stepsSpec, inSteps}, {parentSpec, parent}} {
		if err := r.engine.Register(w.spec, w.fn); err != nil {
			return err
		}
	}
	if err := r.engine.RegisterStep(echoName, echo); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.engine.Run(ctx) }()
	r.halt = func() error {
		cancel()
		return <-ended
	}
	return r.warm(ctx)
}

// warm lives one run, so that nothing measured pays for first connections and statements.
func (r *rig) warm(ctx context.Context) error {
	id := spec.RunID("warm-" + r.engine.NewID())
	if _, err := r.engine.Start(ctx, engine.StartRequest{Workflow: waitSpec.Name, RunID: id, Input: floor.Payload}); err != nil {
		return err
	}
	if _, err := r.engine.SendSignal(ctx, goSignal(id)); err != nil {
		return err
	}
	_, err := r.engine.Wait(ctx, id)
	return err
}

// stop ends the engine and closes its connections.
func (r *rig) stop() (err error) {
	if r.halt != nil {
		err = r.halt()
		r.halt = nil
	}
	if r.pool != nil {
		r.pool.Close()
		r.pool = nil
	}
	return err
}

// close stops the engine. The database goes with the server.
func (r *rig) close() error {
	err := r.stop()
	if r.look == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, r.look.Close(ctx))
}

// goSignal is the one signal that a run of waitOnce takes.
func goSignal(id spec.RunID) engine.SignalRequest {
	return engine.SignalRequest{RunID: id, SignalID: "1", Name: "go", Payload: floor.Payload}
}

// names makes run IDs.
func names(prefix string) func(i int) spec.RunID {
	return func(i int) spec.RunID { return spec.RunID(fmt.Sprintf("%s-%d", prefix, i)) }
}

// park starts runs, waits until their first turns are committed, checks that, and says how long it took. Checking is not
// in the time.
func (r *rig) park(ctx context.Context, workflow string, name func(int) spec.RunID, clients, n int) (time.Duration, error) {
	begin := time.Now()
	_, err := load.Spread(ctx, clients, n, func(ctx context.Context, i int) error {
		_, err := r.engine.Start(ctx, engine.StartRequest{Workflow: workflow, RunID: name(i), Input: floor.Payload})
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := r.rest(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	return took, r.checkParked(ctx, workflow, name, n)
}
