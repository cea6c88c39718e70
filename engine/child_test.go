package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// kid waits for a signal that tells it how to end.
var kid = workflow{
	spec.WorkflowSpec{Name: "kid", Version: "1", Signals: []spec.Signal{{Name: "end"}}},
	func(ctx *engine.Context) (engine.Decision, error) {
		how, ok, err := engine.SignalPayload[string](ctx, "w")
		switch {
		case err != nil || !ok:
			return ctx.WaitForSignal("w", "end"), err
		case how == "fail":
			return ctx.Fail(fmt.Errorf("the kid fails")), nil
		case how == "continue":
			return ctx.ContinueAsNew("again"), nil
		}
		return ctx.Complete("kid: " + how), nil
	},
}

// parentOf waits for a kid and a signal that tells it how to end.
func parentOf(policy engine.OnParentEnd) workflow {
	return workflow{
		spec.WorkflowSpec{Name: "parent-" + string(policy), Version: "1", Signals: []spec.Signal{{Name: "end"}}},
		func(ctx *engine.Context) (engine.Decision, error) {
			if f, failed := ctx.ChildFailed("c"); failed {
				return ctx.Complete([]string{string(f.Reason), f.Message}), nil
			}
			if out, ok, err := engine.ChildOutput[string](ctx, "c"); ok || err != nil {
				return ctx.Complete(out), err
			}
			how, ok, err := engine.SignalPayload[string](ctx, "w")
			switch {
			case err != nil:
				return engine.Decision{}, err
			case ok && how == "fail":
				return ctx.Fail(fmt.Errorf("the parent fails")), nil
			case ok:
				return ctx.Complete(how), nil
			}
			return ctx.Await(
				ctx.StartChild("c", "kid", ctx.RunID()+"-kid", nil, engine.WhenParentEnds(policy)), ctx.WaitForSignal("w", "end"),
			), nil
		},
	}
}

// What becomes of a child whose parent ends: by its policy and by how the parent ended.
func TestPoliciesOfChildren(t *testing.T) {
	t.Parallel()
	policies := map[engine.OnParentEnd]engine.Status{
		engine.RequestCancel: engine.StatusCancelled, engine.Terminate: engine.StatusCancelled, engine.Abandon: engine.StatusRunning,
	}
	all := []workflow{kid}
	for policy := range policies {
		all = append(all, parentOf(policy))
	}
	r := newRig(t, all...)
	r.beside(all...)
	ends := map[string]func(spec.RunID){
		"complete": func(id spec.RunID) { r.mustSend(id, "x", "end", "done") },
		"fail":     func(id spec.RunID) { r.mustSend(id, "x", "end", "fail") },
		"cancel": func(id spec.RunID) {
			_, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: id})
			must(t, err)
		},
		"terminate": func(id spec.RunID) {
			_, err := r.Terminate(r.ctx(), engine.CancelRequest{RunID: id})
			must(t, err)
		},
	}
	for policy := range policies {
		for how, end := range ends {
			id := spec.RunID(string(policy) + "-" + how)
			r.start(parentOf(policy), id, nil)
			r.started(id + "-kid")
			end(id)
			r.ended(id)
		}
	}
	for policy, want := range policies {
		for how := range ends {
			id := spec.RunID(string(policy) + "-" + how)
			if want == engine.StatusRunning {
				r.mustSend(id+"-kid", "x", "end", "alone")
				if out := r.completed(id + "-kid"); out != `"kid: alone"` {
					t.Errorf("%s: %s", id, out)
				}
			} else if s := r.ended(id + "-kid"); s.Status != want {
				t.Errorf("child of %s is %s", id, s.Status)
			}
			if n := r.tally(id); n["child.released"] != 1 {
				t.Errorf("%s: %v", id, r.types(id))
			}
		}
	}
	r.eventually("nothing is left to do", func() bool { return r.asks("SELECT NOT EXISTS (SELECT FROM tasks)") })
}

// started waits until a run is there.
func (r *rig) started(run spec.RunID) {
	r.t.Helper()
	r.eventually("run "+string(run)+" is there", func() bool {
		_, err := r.Snapshot(r.ctx(), run)
		return err == nil
	})
}

// A child that sees to its own end is asked only: by a cancelled parent with the policy of asking, not with that of ending.
func TestCooperativeChildIsAsked(t *testing.T) {
	t.Parallel()
	polite := workflow{
		spec.WorkflowSpec{Name: "kid", Version: "1", CooperativeCancel: true, Signals: kid.spec.Signals},
		func(ctx *engine.Context) (engine.Decision, error) {
			if ctx.CancelRequested() {
				return ctx.Complete("tidied up"), nil
			}
			return kid.fn(ctx)
		},
	}
	ask, end := parentOf(engine.RequestCancel), parentOf(engine.Terminate)
	r := newRig(t, polite, ask, end)
	for _, w := range []workflow{ask, end} {
		id := spec.RunID(w.spec.Name)
		r.start(w, id, nil)
		r.started(id + "-kid")
		r.mustSend(id, "x", "end", "done")
	}
	if out := r.completed(spec.RunID(ask.spec.Name) + "-kid"); out != `"tidied up"` {
		t.Errorf("output %s", out)
	}
	if s := r.ended(spec.RunID(end.spec.Name) + "-kid"); s.Status != engine.StatusCancelled {
		t.Errorf("the other one is %s", s.Status)
	}
}

// The ends of a child are facts of its parent, also those in a later generation of the child.
func TestEndsOfChildren(t *testing.T) {
	t.Parallel()
	w := parentOf(engine.RequestCancel)
	r := newRig(t, kid, w)
	for id, c := range map[spec.RunID]struct {
		end  func(spec.RunID)
		want string
	}{
		"completes": {func(id spec.RunID) { r.mustSend(id, "x", "end", "hi") }, `"kid: hi"`},
		"fails":     {func(id spec.RunID) { r.mustSend(id, "x", "end", "fail") }, `["failed","the kid fails"]`},
		"cancelled": {func(id spec.RunID) {
			_, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: id})
			must(t, err)
		}, `["cancelled",""]`},
		"continues": {func(id spec.RunID) {
			r.mustSend(id, "x", "end", "continue")
			r.mustSend(id, "y", "end", "continue")
			r.mustSend(id, "z", "end", "third")
		}, `"kid: third"`},
	} {
		r.start(w, id, nil)
		r.started(id + "-kid")
		c.end(id + "-kid")
		if out := r.completed(id); out != c.want {
			t.Errorf("%s: %s, want %s", id, out, c.want)
		}
	}
}

// asksFor starts a child by what its input says, and ends with what came of it.
var asksFor = workflow{
	spec.WorkflowSpec{Name: "asks-for", Version: "1"},
	func(ctx *engine.Context) (engine.Decision, error) {
		in, err := engine.Input[[2]string](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		if f, failed := ctx.ChildFailed("c"); failed {
			return ctx.Complete(f.Reason), nil
		}
		out, ok, err := engine.ChildOutput[any](ctx, "c")
		if ok || err != nil {
			return ctx.Complete(out), err
		}
		return ctx.StartChild("c", in[0], spec.RunID(in[1]), []string{"asks-for", string(ctx.RunID())}), nil
	},
}

// A child that cannot be started is an outcome: its run ID is another run's, its workflow is nobody's, its input breaks the
// schema. A cycle is a run that is there already.
func TestChildrenThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	strict := workflow{
		spec.WorkflowSpec{Name: "strict", Version: "1", Input: []byte(`{"type":"integer"}`)},
		func(ctx *engine.Context) (engine.Decision, error) { return ctx.Complete(nil), nil },
	}
	r := newRig(t, kid, asksFor, strict)
	r.start(kid, "taken", nil)
	for run, c := range map[spec.RunID]struct {
		in   [2]string
		want string
	}{
		"conflict": {[2]string{"kid", "taken"}, `"conflict"`},
		"unknown":  {[2]string{"nobody", "new"}, `"workflow_unknown"`},
		"schema":   {[2]string{"strict", "new"}, `"schema"`},
		"cycle":    {[2]string{"asks-for", "cycle-2"}, `"conflict"`}, // its child asks for its parent
	} {
		r.start(asksFor, run, c.in)
		if out := r.completed(run); out != c.want {
			t.Errorf("%s: %s, want %s", run, out, c.want)
		}
	}
}

// Children of children go as deep as they may, and the one below is refused to its parent.
func TestDepthOfChildren(t *testing.T) {
	t.Parallel()
	nest := workflow{spec.WorkflowSpec{Name: "nest", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		n, err := engine.Input[int](ctx)
		if err != nil {
			return engine.Decision{}, err
		}
		if f, failed := ctx.ChildFailed("c"); failed {
			return ctx.Complete(fmt.Sprint(n, " ", f.Reason)), nil
		}
		out, ok, err := engine.ChildOutput[string](ctx, "c")
		if ok || err != nil {
			return ctx.Complete(out), err
		}
		return ctx.StartChild("c", "nest", spec.RunID(fmt.Sprint("nest-", n+1)), n+1), nil
	}}
	r := newRig(t, nest)
	r.start(nest, "nest-0", 0)
	if out := r.completed("nest-0"); out != `"32 depth"` {
		t.Errorf("output %s", out)
	}
}

// A name is a child's for good: a later generation that asks for the same run is told, and one of its own is its own.
func TestChildrenOfLaterGenerations(t *testing.T) {
	t.Parallel()
	w := workflow{spec.WorkflowSpec{Name: "rounds", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		own, ok, err := engine.ChildOutput[string](ctx, "own")
		if err != nil {
			return engine.Decision{}, err
		}
		f, failed := ctx.ChildFailed("same")
		same, ok2, err := engine.ChildOutput[string](ctx, "same")
		switch {
		case !ok || !failed && !ok2:
			return ctx.Await(
				ctx.StartChild("own", "kid", spec.RunID(fmt.Sprint("own-", ctx.Generation())), nil), ctx.StartChild("same", "kid", "same", nil),
			), nil
		case ctx.Generation() == 1 && err == nil:
			return ctx.ContinueAsNew(nil), nil
		case failed:
			same = string(f.Reason)
		}
		return ctx.Complete([]string{own, same}), nil
	}}
	r := newRig(t, kid, w)
	r.start(w, "w", nil)
	for _, id := range []spec.RunID{"same", "own-1", "own-2"} {
		r.started(id)
		r.mustSend(id, "x", "end", "of "+id)
	}
	if out := r.completed("w"); out != `["kid: of own-2","conflict"]` {
		t.Errorf("output %s", out)
	}
}

// The parent ends while its child is being started: the child is stopped all the same, whoever was first.
func TestParentEndsBesideTheStartOfItsChild(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	quick := workflow{spec.WorkflowSpec{Name: "quick", Version: "1"}, func(ctx *engine.Context) (engine.Decision, error) {
		if ctx.TimerFired("t") {
			return ctx.Complete(nil), nil
		}
		return ctx.Await(ctx.StartChild("c", "kid", ctx.RunID()+"-kid", nil), ctx.Timer("t", 3*time.Millisecond)), nil
	}}
	r := idle(t, cfg, kid, quick).run()
	r.beside(kid, quick)
	const n = 60
	parallel(n, func(i int) { r.start(quick, spec.RunID(fmt.Sprint("q", i)), nil) })
	for i := range n {
		r.completed(spec.RunID(fmt.Sprint("q", i)))
	}
	r.eventually("no child of an ended parent goes on", func() bool {
		return r.asks("SELECT NOT EXISTS (SELECT FROM runs WHERE workflow = 'kid' AND closed_at IS NULL)")
	})
}
