package history

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/spec"
)

func drawMessage(t *rapid.T, generation int) Message {
	v := payload(rapid.IntRange(0, 1).Draw(t, "v"))
	hook := hookID(rapid.IntRange(0, 2).Draw(t, "hook"), generation)
	switch rapid.IntRange(0, 13).Draw(t, "message") {
	case 0, 1:
		return &ResumeHook{Run: testKey, HookID: hook, Payload: v, ByToken: rapid.Bool().Draw(t, "by token")}
	case 2, 3:
		return &DisposeHook{Run: testKey, HookID: hook}
	case 4:
		return &CancelRun{Run: testKey, Terminate: rapid.Bool().Draw(t, "terminate")}
	case 5:
		return &RetryRun{Run: testKey}
	case 10, 11, 12, 13:
		return drawTaskMessage(t, generation, v)
	case 6:
		return &StartRun{Run: testKey, Workflow: "w", Version: "1", Input: v}
	}
	name := rapid.SampledFrom([]string{"a", "b", "undeclared"}).Draw(t, "name")
	return &SendSignal{Run: testKey, ID: spec.SignalID(fmt.Sprint("s", rapid.IntRange(0, 5).Draw(t, "id"))), Name: name, Payload: v}
}

// Messages judged together, each seeing the effects of those before it, have the receipts, events and rows of messages
// that are committed one by one.
func TestAccept_a_batch_is_its_messages_one_by_one(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := &wild{seed: rapid.Uint64().Draw(t, "seed"), parks: rapid.Bool().Draw(t, "parks"), works: rapid.Bool().Draw(t, "works")}
		together, single := newRig(t, code.decide), newRig(t, code.decide)
		cooperative, full := rapid.Bool().Draw(t, "cooperative"), rapid.IntRange(1, 12).Draw(t, "backlog")
		for _, r := range []*rig{together, single} {
			r.auth.cooperative, r.lim.Backlog = cooperative, full
			r.settle()
		}
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			rec := together.records()
			for range rapid.IntRange(1, 8).Draw(t, "messages") {
				m := drawMessage(t, single.run.Generation)
				one, oneErr := single.accept(m)
				many, manyErr := rec.Accept(m, together.auth, together.lim, together.now)
				if diff := cmp.Diff([]any{one, fmt.Sprint(oneErr)}, []any{many, fmt.Sprint(manyErr)}); diff != "" {
					t.Fatalf("%T (-one by one +together):\n%s", m, diff)
				}
			}
			together.commit(rec)
			for _, r := range []*rig{together, single} {
				rowsEqualEvents(t, r)
				r.settle()
			}
			if diff := cmp.Diff(single.story(), together.story()); diff != "" {
				t.Fatalf("one by one against together:\n%s", diff)
			}
			if diff := cmp.Diff(single.run, together.run); diff != "" {
				t.Fatalf("run rows:\n%s", diff)
			}
			if diff := cmp.Diff([]any{single.tasks, single.letters}, []any{together.tasks, together.letters}); diff != "" {
				t.Fatalf("rows of tasks and dead letters:\n%s", diff)
			}
		}
	})
}
