package inbox

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
)

// decided says what an operator is told.
func decided(v engine.Verdict, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(v)
}

func (r *rig) wantDecided(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// A dead letter is replayed, and discarded, by two people, twice.
func TestReplayAndDiscard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	r.start("r")
	m := paid(t, "r", "1", `{}`)
	r.want("broken", m, Policy{}, "ignored payload-schema")
	id := r.letterOf(m).ID
	r.wantDecided("replay", decided(r.Replay(ctx, "default", id, "ada")), "accepted")
	r.wantDecided("replay by another one", decided(r.Replay(ctx, "default", id, "bob")), "duplicate")
	if l := r.letterOf(m); l.State != StateHeld || l.Actor != "ada" || !l.Deadline.After(l.ReceivedAt) {
		t.Errorf("got %+v", l)
	}
	if _, err := r.poll(ctx); err != nil {
		t.Fatal(err)
	}
	r.stands(m, StateDead, ReasonSchema) // it is as broken as before
	r.wantDecided("discard", decided(r.Discard(ctx, "default", id, "bob")), "accepted")
	r.wantDecided("discard again", decided(r.Discard(ctx, "default", id, "ada")), "duplicate")
	r.wantDecided("replay of what is discarded", decided(r.Replay(ctx, "default", id, "ada")), engine.ErrLetterDecided.Error())
	if l := r.letterOf(m); l.State != StateDiscarded || l.Actor != "bob" || l.ResolvedAt == nil || l.Reason != ReasonSchema {
		t.Errorf("got %+v", l)
	}
	r.want("discarded, and again", m, patient, "duplicate ")

	held := paid(t, "later", "2", `{"n":1}`)
	r.want("early", held, patient, "held ")
	id = r.letterOf(held).ID
	r.wantDecided("replay of what waits", decided(r.Replay(ctx, "default", id, "ada")), "duplicate")
	r.start("later")
	if _, err := r.poll(ctx); err != nil {
		t.Fatal(err)
	}
	r.stands(held, StateDelivered, "")
	r.wantDecided("discard of what is delivered", decided(r.Discard(ctx, "default", id, "ada")), engine.ErrLetterDecided.Error())
	r.wantDecided("replay of what is delivered", decided(r.Replay(ctx, "default", id, "ada")), "duplicate")
}

// Of many who decide at once, one does; nobody is told what is not so.
func TestDecisionsMeet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("r")
	m := paid(t, "r", "1", `{}`)
	r.want("broken", m, Policy{}, "ignored payload-schema")
	id := r.letterOf(m).ID
	answers := make([]string, 16)
	var people sync.WaitGroup
	for i := range answers {
		people.Go(func() { answers[i] = decided(r.Discard(t.Context(), "default", id, "ada")) })
	}
	people.Wait()
	if n := strings.Count(strings.Join(answers, " "), "accepted"); n != 1 || strings.Count(strings.Join(answers, " "), "duplicate") != 15 {
		t.Errorf("got %v", answers)
	}
}

// A replayed message is delivered when what was wrong is not so any more.
func TestReplayDelivers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := paid(t, "r", "1", `{"n":1}`)
	r.want("early", m, Policy{Hold: 1}, "held ")
	r.background(r.Run)
	id := r.stands(m, StateDead, ReasonExpired).ID
	r.start("r")
	r.want("redelivered, and dead", m, patient, "duplicate ")
	r.wantDecided("replay", decided(r.Replay(t.Context(), "default", id, "ada")), "accepted")
	r.stands(m, StateDelivered, "")
	if n := r.received("r", "signal.received"); n != 1 {
		t.Errorf("%d signals", n)
	}
}

func TestLetter_hostile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	m := paid(t, "r", "1", `{"n":1}`)
	r.want("early", m, patient, "held ")
	id := r.letterOf(m).ID
	for _, bad := range []string{"", "m-", "m-0", "m--1", "m-01", "m-+1", id + " ", "M" + id[1:], id[2:], "m-9223372036854775808", "m-999999", "m-1e1"} {
		if _, err := r.Letter(ctx, "default", bad); !errors.Is(err, engine.ErrLetterNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := r.Letter(ctx, "other", id); !errors.Is(err, engine.ErrLetterNotFound) {
		t.Errorf("another namespace: %v", err)
	}
	r.wantDecided("another namespace", decided(r.Discard(ctx, "other", id, "ada")), engine.ErrLetterNotFound.Error())
	if _, err := r.Discard(ctx, "default", id, "a\x00"); !is[*engine.InvalidError](err) {
		t.Errorf("an actor that is none: %v", err)
	}
	for _, f := range []Filter{{State: "open"}, {Limit: -1}, {Limit: 201}, {Source: "\x00"}, {RunID: " "}, {Reason: "\n"}, {Cursor: "junk"}} {
		if _, _, err := r.List(ctx, "default", f); !is[*engine.InvalidError](err) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	l, err := r.Letter(ctx, "default", id)
	if err != nil || string(l.Payload) != `{"n":1}` || l.Signal != "paid" || l.RunID != "r" {
		t.Errorf("got %+v, %v", l, err)
	}
}
