package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A message of a host's transaction that was open for long is seen about a second after its commit, though nobody nudges
// and other runs keep the dispatcher from its poll.
func TestMessageOfALongTransactionWaitsForNoPoll(t *testing.T) {
	t.Parallel()
	w := workflow{
		spec.WorkflowSpec{Name: "collect", Version: "1", Signals: []spec.Signal{{Name: "item"}}},
		func(c *engine.Context) (engine.Decision, error) {
			for i := 0; ; i++ {
				if _, ok, err := engine.SignalPayload[int](c, engine.ID("item", i)); err != nil || !ok {
					return c.WaitForSignal(engine.ID("item", i), "item"), err
				}
			}
		},
	}
	cfg := testConfig(t, pgtest.New(t))
	cfg.PollInterval = time.Hour
	r := idle(t, cfg, w).run()
	r.start(w, "busy", nil)
	for i := range 4 {
		late := spec.RunID(fmt.Sprint("late", i))
		r.start(w, late, nil)
		r.waiting(late, "item-0")
		tx, err := r.pool.Begin(r.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.SendSignalTx(r.ctx(), tx, engine.SignalRequest{RunID: late, SignalID: "s", Name: "item", Payload: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		<-time.After(600 * time.Millisecond)
		r.mustSend("busy", spec.SignalID(fmt.Sprint("before", i)), "item", 1)
		r.waiting("busy", engine.ID("item", 2*i+1))
		if err := tx.Commit(r.ctx()); err != nil {
			t.Fatal(err)
		}
		r.mustSend("busy", spec.SignalID(fmt.Sprint("after", i)), "item", 1)
		r.waiting("busy", engine.ID("item", 2*i+2))
		r.waiting(late, "item-1")
	}
}
