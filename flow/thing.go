package flow

import (
	"fmt"
	"slices"

	"github.com/flowgate-go/flowgate/engine"
)

// kind is what a thing is called in the history and in diagnoses.
type kind string

const (
	wait  kind = "wait"
	timer kind = "timer"
	hook  kind = "hook"
	step  kind = "step"
	child kind = "child"
	call  kind = "call"
)

// thing is what the function opened under an ID, or wants to.
type thing struct {
	w     *Workflow
	kind  kind
	id    string
	order int // of the code
	place int // in the order of settling, as far as the history goes; 0 while it has none

	standing bool // named in every decision until it settled or is closed; else while an await waits for it
	closed   bool // the function has stopped it or disposed of it
	proven   bool // it is in the history
	disposal bool // the wish to have done with the resource of the ID

	open  func(*engine.Context) engine.Decision // once it is declared: what was asked for then
	again func(*engine.Context) engine.Decision // once it is in the history; nil means as open
	shown func()                                // called when the function is shown that it settled; may be nil
}

func (t *thing) String() string { return fmt.Sprintf("%s %q", t.kind, t.id) }

// done says that the function was shown that it settled.
func (t *thing) done() bool { return t.place != 0 && t.place <= t.w.place }

// name is the part of a decision that names the thing.
func (t *thing) name(ctx *engine.Context, full bool) engine.Decision {
	if t.proven && !full && t.again != nil {
		return t.again(ctx)
	}
	return t.open(ctx)
}

// declare takes up a thing of the author's. One that the history knows must be of the same kind there, and a wait for the
// same signal; what else must be equal the engine compares when the thing is named.
func (w *Workflow) declare(t *thing, signal string) *thing {
	t.w = w
	if w.unwinding {
		return t
	}
	if _, twice := w.byID[t.id]; twice {
		w.refuse(engine.CauseDecision, fmt.Sprintf("ID %q is used twice; in a loop add the round: engine.ID(%q, i)", t.id, t.id))
	}
	t.order = len(w.all)
	w.byID[t.id], w.all = t, append(w.all, t)
	if known, ok := w.ctx.Turn().Thing(t.id); ok {
		switch {
		case string(known.Kind) != string(t.kind):
			w.contradict(fmt.Sprintf("ID %q is a %s in the history and a %s in the code", t.id, known.Kind, t.kind))
		case t.kind == wait && known.Name != signal:
			w.contradict(fmt.Sprintf("%s is for signal %q in the history and for %q in the code", t, known.Name, signal))
		}
		t.proven = true
		w.put(t, known.Place)
	}
	if t.standing && !t.done() {
		w.standing = append(w.standing, t)
	}
	// An input is encoded now, and once: the function may change the value as soon as it has handed it over, while the thing
	// is named at some await after this, and on a replay at a much later one.
	asked := t.open(w.ctx)
	t.open = func(*engine.Context) engine.Decision { return asked }
	return t
}

// put notes where a thing settled.
func (w *Workflow) put(t *thing, place int) {
	if place != 0 {
		t.place, w.byPlace[place] = place, t
	}
}

// close ends what stands: a claim is withdrawn by no longer being named, a resource by saying so.
func (t *thing) close() {
	w := t.w
	if w.enter() || t.closed || t.done() {
		return
	}
	t.closed = true
	w.drop(t)
	if t.resource() && t.proven && t.place == 0 {
		gone := &thing{w: w, kind: t.kind, id: t.id, order: len(w.all), standing: true, disposal: true, proven: true}
		gone.open = func(ctx *engine.Context) engine.Decision {
			if t.kind == step {
				return ctx.CancelStep(t.id)
			}
			return ctx.DisposeHook(t.id)
		}
		w.all, w.standing = append(w.all, gone), append(w.standing, gone)
	}
}

// resource says that the thing lives until it settles or is withdrawn, and may settle though the function has done with it.
func (t *thing) resource() bool { return t.kind != wait && t.kind != timer }

// late says that the thing is asked for in the last decision too, if it is new: a message is sent though its run ends. Of
// steps and children that would never be done the engine says so, unless the function failed before it came to await them.
func (t *thing) late(failed bool) bool {
	return !t.proven && !t.closed && (t.kind == call || !failed && (t.kind == step || t.kind == child))
}

func (w *Workflow) drop(t *thing) {
	if i := slices.Index(w.standing, t); i >= 0 {
		w.standing = slices.Delete(w.standing, i, i+1)
	}
}
