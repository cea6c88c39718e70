package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

func TestMain(m *testing.M) { pgtest.Main(m, db.Migrate) }

// rig has an engine at work and an inbox on its database, whose courier is started by the test.
type rig struct {
	t    *testing.T
	pool *pgxpool.Pool
	eng  *engine.Engine
	*Inbox
}

var orderSpec = spec.WorkflowSpec{
	Name: "order", Version: "1",
	Signals: []spec.Signal{{Name: "paid", Schema: json.RawMessage(`{"type":"object","required":["n"]}`)}, {Name: "end"}},
}

// order opens a hook, and ends at the signal "end".
func order(ctx *engine.Context) (engine.Decision, error) {
	if _, ended, err := engine.SignalPayload[any](ctx, "end"); ended || err != nil {
		return ctx.Complete("done"), err
	}
	if id := ctx.RunID(); id == "hookless" {
		return ctx.WaitForSignal("end", "end"), nil
	}
	return ctx.Await(ctx.CreateHook("approval"), ctx.WaitForSignal("end", "end")), nil
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t}
	settings, err := pgxpool.ParseConfig(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	settings.MaxConns = 12
	if r.pool, err = pgxpool.NewWithConfig(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.pool.Close)
	keys, err := tokens.NewKeyring(
		[]tokens.Key{{ID: "m1", Secret: bytes.Repeat([]byte("m"), 32)}}, []tokens.Key{{ID: "d1", Secret: bytes.Repeat([]byte("d"), 32)}})
	if err != nil {
		t.Fatal(err)
	}
	if r.eng, err = engine.New(t.Context(), engine.Config{Pool: r.pool, Keys: keys, Limits: engine.Limits{Backlog: 50}}); err != nil {
		t.Fatal(err)
	}
	if err := r.eng.Register(orderSpec, order); err != nil {
		t.Fatal(err)
	}
	r.background(r.eng.Run)
	r.until("the engine takes messages", func() bool {
		return !errors.Is(r.eng.Retry(t.Context(), "nobody"), engine.ErrUnavailable)
	})
	r.Inbox = r.another(change...)
	return r
}

// another is an inbox on the same database.
func (r *rig) another(change ...func(*Config)) *Inbox {
	cfg := Config{Store: db.Open(r.pool, db.Config{}), Engine: r.eng, Poll: 10 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg)
}

// background runs something until the test ends.
func (r *rig) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("it ended with %v", err)
		}
	})
}

func (r *rig) until(what string, yes func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline.C:
			r.t.Fatalf("never: %s", what)
		}
	}
}

func payload(t *testing.T, text string) canon.Payload {
	t.Helper()
	p, err := canon.Parse([]byte(text), canon.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// paid is the signal of an event for a run.
func paid(t *testing.T, run, event, text string) Message {
	t.Helper()
	return Message{
		Namespace: spec.DefaultNamespace, Source: "shop", ID: "shop:" + event, Kind: Signal, RunID: spec.RunID(run), Name: "paid",
		Payload: payload(t, text),
	}
}

// approved is the answer of an event to the hook of a run.
func approved(t *testing.T, run, event, text string) Message {
	t.Helper()
	m := paid(t, run, event, text)
	m.Kind, m.Name = Hook, "approval"
	return m
}

// receive gives a message and returns what becomes of it in words.
func (r *rig) receive(m Message, p Policy) string {
	r.t.Helper()
	result, err := r.Receive(r.t.Context(), m, p)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s", result.Outcome, result.Reason)
}

func (r *rig) want(what string, m Message, p Policy, want string) {
	r.t.Helper()
	if got := r.receive(m, p); got != want {
		r.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (r *rig) start(run string) {
	r.t.Helper()
	if _, err := r.eng.Start(r.t.Context(), engine.StartRequest{Workflow: "order", RunID: spec.RunID(run)}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) end(run string) {
	r.t.Helper()
	if _, err := r.eng.Cancel(r.t.Context(), engine.CancelRequest{RunID: spec.RunID(run)}); err != nil {
		r.t.Fatal(err)
	}
}

// hooked starts a run and waits for its hook.
func (r *rig) hooked(run string) {
	r.t.Helper()
	r.start(run)
	r.until("the hook is there", func() bool {
		_, err := r.eng.Hook(r.t.Context(), spec.RunID(run), "approval")
		return err == nil
	})
}

// letterOf is the message of an identity as it stands.
func (r *rig) letterOf(m Message) Letter {
	r.t.Helper()
	known, err := r.store.KnownMessage(r.t.Context(), m.key())
	if err != nil {
		r.t.Fatal(err)
	}
	return showLetter(known)
}

// stands waits until a message is in a state.
func (r *rig) stands(m Message, state State, reason Reason) Letter {
	r.t.Helper()
	var l Letter
	r.until(fmt.Sprint(m.ID, " is ", state, " ", reason), func() bool {
		l = r.letterOf(m)
		return l.State == state && l.Reason == reason
	})
	return l
}

// received counts the events of a type in the history of a run.
func (r *rig) received(run, kind string) (n int) {
	r.t.Helper()
	if err := r.pool.QueryRow(r.t.Context(), `select count(*) from events e join runs r on r.id = e.run where r.run_id = $1 and e.type = $2`,
		run, kind).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}
