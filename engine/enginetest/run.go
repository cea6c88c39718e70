package enginetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Run is one run under test. It is not safe for concurrent use.
type Run struct {
	t       testing.TB
	r       *engine.Rehearsal
	started time.Time
	signals int  // sent without an ID of the test's
	updates int  // likewise
	blocks  bool // a blocked run is expected
}

// Option changes what a Run is made of.
type Option func(*engine.RehearsalConfig)

// RunID names the run; default "run".
func RunID(id spec.RunID) Option { return func(c *engine.RehearsalConfig) { c.RunID = id } }

// At sets the time at which the clock begins; default 2026-01-01 00:00 UTC.
func At(now time.Time) Option { return func(c *engine.RehearsalConfig) { c.Now = now } }

// WithLimits sets the limits of the run.
func WithLimits(l engine.Limits) Option { return func(c *engine.RehearsalConfig) { c.Limits = l } }

// CallBudget sets how long one call of the function may take, in real time. The default of 10 s is generous, because
// machines that run tests are busy.
func CallBudget(d time.Duration) Option {
	return func(c *engine.RehearsalConfig) { c.CallBudget = d }
}

// With gives the run what Register takes beside the function: the handlers of queries.
func With(code ...engine.CodeOption) Option {
	return func(c *engine.RehearsalConfig) { c.Code = append(c.Code, code...) }
}

// FromTop calls the function from its beginning every time. A workflow of package flow, which otherwise goes on where it
// waits as long as a turn lasts, is then replayed at each call: its history must be the same.
func FromTop() Option { return func(c *engine.RehearsalConfig) { c.FromTop = true } }

// New prepares a run, and fails the test when the spec is malformed. Two runs of one test code are alike to the byte.
func New(t testing.TB, s spec.WorkflowSpec, fn engine.Workflow, opts ...Option) *Run {
	t.Helper()
	cfg := engine.RehearsalConfig{
		Namespace: spec.DefaultNamespace, RunID: "run", Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Keys: testKeys(t), Random: rand.NewChaCha8([32]byte{}), CallBudget: 10 * time.Second,
	}
	for _, opt := range opts {
		opt(&cfg)
	}
	r, err := engine.Rehearse(s, fn, cfg)
	if err != nil {
		t.Fatalf("prepare the run: %v", err)
	}
	return &Run{t: t, r: r, started: r.Now()}
}

func testKeys(t testing.TB) *tokens.Keyring {
	key := []tokens.Key{{ID: "test", Secret: []byte(strings.Repeat("test", 8))}}
	keys, err := tokens.NewKeyring(key, key)
	if err != nil {
		t.Fatalf("make keys: %v", err)
	}
	return keys
}

// Start starts the run. The input is encoded as JSON.
func (r *Run) Start(input any) {
	r.t.Helper()
	_, err := r.r.Start(r.encode(input), nil)
	r.done("start", err)
}

// TryStart starts the run, which may be refused.
func (r *Run) TryStart(input any) error {
	r.t.Helper()
	_, err := r.r.Start(r.encode(input), nil)
	r.check("start")
	return err
}

// Signal sends a signal under a new ID, which it returns.
func (r *Run) Signal(name string, payload any) spec.SignalID {
	r.t.Helper()
	r.signals++
	id := spec.SignalID(fmt.Sprintf("signal-%d", r.signals))
	r.SignalAs(id, name, payload)
	return id
}

// SignalAs sends a signal under an ID.
func (r *Run) SignalAs(id spec.SignalID, name string, payload any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.TrySignal(id, name, payload)
	r.done("signal "+name, err)
	return receipt
}

// TrySignal sends a signal that may be refused.
func (r *Run) TrySignal(id spec.SignalID, name string, payload any) (engine.Receipt, error) {
	r.t.Helper()
	receipt, err := r.r.SendSignal(id, name, r.encode(payload))
	r.check("signal " + name)
	return receipt, err
}

// Update sends an update under a new ID, which it returns.
func (r *Run) Update(name string, arg any) spec.UpdateID {
	r.t.Helper()
	r.updates++
	id := spec.UpdateID(fmt.Sprintf("update-%d", r.updates))
	r.UpdateAs(id, name, arg)
	return id
}

// UpdateAs sends an update under an ID.
func (r *Run) UpdateAs(id spec.UpdateID, name string, arg any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.TryUpdate(id, name, arg)
	r.done("update "+name, err)
	return receipt
}

// TryUpdate sends an update that may be refused at the door. What the run answers is told by UpdateResult.
func (r *Run) TryUpdate(id spec.UpdateID, name string, arg any) (engine.Receipt, error) {
	r.t.Helper()
	receipt, err := r.r.SendUpdate(id, name, r.encode(arg))
	r.check("update " + name)
	return receipt, err
}

// Resume answers a hook.
func (r *Run) Resume(id spec.HookID, payload any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.TryResume(id, payload)
	r.done("resume "+string(id), err)
	return receipt
}

// TryResume answers a hook, which may be refused.
func (r *Run) TryResume(id spec.HookID, payload any) (engine.Receipt, error) {
	r.t.Helper()
	receipt, err := r.r.ResumeHook(id, r.encode(payload))
	r.check("resume " + string(id))
	return receipt, err
}

// ResumeAs answers a hook as an actor: a verified caller, or the recipient of a page.
func (r *Run) ResumeAs(actor string, id spec.HookID, payload any) engine.Receipt {
	r.t.Helper()
	receipt, err := r.TryResumeAs(actor, id, payload)
	r.done("resume "+string(id)+" as "+actor, err)
	return receipt
}

// TryResumeAs is ResumeAs where it may be refused, such as to who asks.
func (r *Run) TryResumeAs(actor string, id spec.HookID, payload any) (engine.Receipt, error) {
	r.t.Helper()
	receipt, err := r.r.ResumeHookAs(actor, id, r.encode(payload))
	r.check("resume " + string(id) + " as " + actor)
	return receipt, err
}

// Dispose withdraws a hook.
func (r *Run) Dispose(id spec.HookID) {
	r.t.Helper()
	_, err := r.r.DisposeHook(id)
	r.done("dispose "+string(id), err)
}

// Cancel cancels the run, or asks its code to where the spec is CooperativeCancel.
func (r *Run) Cancel() {
	r.t.Helper()
	_, err := r.r.Cancel("")
	r.done("cancel", err)
}

// TryCancel is Cancel where it may be refused.
func (r *Run) TryCancel() error {
	r.t.Helper()
	_, err := r.r.Cancel("")
	r.check("cancel")
	return err
}

// Terminate ends the run whatever its spec says.
func (r *Run) Terminate() {
	r.t.Helper()
	_, err := r.r.Terminate("")
	r.done("terminate", err)
}

// Advance moves the clock on and stops at everything that is due on the way: timers, time-outs, expiries, and retries of
// a blocked run.
func (r *Run) Advance(d time.Duration) {
	r.t.Helper()
	r.done(fmt.Sprintf("advance %s", d), r.r.Advance(d))
}

// Hold lets messages be accepted and time pass without a turn, until Release: as where the workers are down.
func (r *Run) Hold() { r.r.Hold() }

// Release ends Hold: the run goes on until it is quiet.
func (r *Run) Release() {
	r.t.Helper()
	r.done("release", r.r.Release())
}

// Deploy puts another function in the place of the workflow's, as a new release under the same version does.
func (r *Run) Deploy(fn engine.Workflow) { r.r.Swap(fn) }

// Retry makes a blocked run due now.
func (r *Run) Retry() {
	r.t.Helper()
	r.done("retry", r.r.Retry())
}

// ExpectBlocked lets the run be blocked from here on; BlockedReason says why it is.
func (r *Run) ExpectBlocked() { r.blocks = true }

func (r *Run) encode(v any) []byte {
	r.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		r.t.Fatalf("encode a payload: %v", err)
	}
	return text
}

// done fails the test when a step was refused or blocked the run.
func (r *Run) done(step string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", step, err, r.trace())
	}
	r.check(step)
}

func (r *Run) check(step string) {
	r.t.Helper()
	if reason := r.BlockedReason(); reason != "" && !r.blocks {
		r.t.Fatalf("%s: the run is blocked: %s\n%s", step, reason, r.trace())
	}
}
