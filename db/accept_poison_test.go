package db

import (
	"errors"
	"fmt"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// A message that the database refuses fails alone, with its own words; the others of its batch are accepted in order.
func TestPoisonFailsAlone(t *testing.T) {
	t.Parallel()
	nul := func(m *history.SendSignal) history.Message { m.Actor = "a\x00b"; return m }
	for name, tt := range map[string]struct {
		poison func(r *acceptRig) history.Message
		check  func(error) bool
	}{
		"NUL in an actor": {
			func(r *acceptRig) history.Message { return nul(r.signal("a", "poison", "1")) }, isInvalid,
		},
		"bad UTF-8 in a source": {
			func(r *acceptRig) history.Message {
				m := r.signal("a", "poison", "1")
				m.Source = "\xff"
				return m
			}, isInvalid,
		},
		"NUL in a label": {
			func(r *acceptRig) history.Message {
				m := r.startOf("poison")
				m.Labels = spec.Labels{"team": "a\x00b"}
				return m
			}, isInvalid,
		},
		"NUL in a run ID": {
			func(r *acceptRig) history.Message { return r.signal("a\x00b", "s", "1") }, isInvalid,
		},
		"NUL in a hook ID": {
			func(r *acceptRig) history.Message { return r.resume("a", "h\x00", "1") }, isInvalid,
		},
		"NUL in a reason": {
			func(r *acceptRig) history.Message { return &history.CancelRun{Run: keyOf("b"), Reason: "a\x00b"} },
			// the reason is in JSON only, which escapes it
			func(err error) bool { return err == nil },
		},
		"a spec that is not stored": {
			func(r *acceptRig) history.Message {
				m := r.startOf("poison")
				m.SpecDigest = absentSpec
				return m
			},
			func(err error) bool { return errors.Is(err, ErrWorkflowNotFound) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t)
			ms := append([]history.Message{r.startOf("a"), r.startOf("b")}, r.messagesTo("a", 20)...)
			ms = append(ms, tt.poison(r))
			ms = append(ms, r.messagesTo("a", 40)[20:]...)
			answers := r.line(ms...)
			r.start(r.Store)
			for i, answer := range answers {
				a := r.await(answer)
				switch {
				case i == 22:
					if !tt.check(a.Err) {
						t.Errorf("poison: %v", a.Err)
					}
				case a.Err != nil:
					t.Errorf("message %d: %v", i, a.Err)
				case i >= 2 && a.Receipt.Sequence != int64(i-min(1, i/23)):
					t.Errorf("message %d has seq %d: the order was lost", i, a.Receipt.Sequence)
				}
			}
			r.consistent()
		})
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*spec.InvalidError](err)
	return ok
}

// Many poisoned messages cost more transactions and nothing else.
func TestMuchPoison(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	r.start(r.Store)
	r.ok(r.startOf("a"))
	var answers []<-chan Answer
	for i := range 60 {
		m := r.signal("a", fmt.Sprint("s", i), "1")
		if i%3 == 0 {
			m.Source = "\x00"
		}
		answers = append(answers, r.send(m))
	}
	for i, answer := range answers {
		if a := r.await(answer); isInvalid(a.Err) != (i%3 == 0) {
			t.Errorf("message %d: %v", i, a.Err)
		}
	}
	r.consistent()
}
