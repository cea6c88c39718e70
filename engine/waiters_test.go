package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
)

func TestWaitersAreBoundedAndForgotten(t *testing.T) {
	t.Parallel()
	w := newWaiters[history.RunKey, db.RunView](nil, zerolog.Nop())
	key := history.RunKey{Namespace: "n", RunID: "r"}
	leaves := make([]func(), 0, maxWaiters)
	for range maxWaiters {
		_, leave, ok := w.join(key)
		if !ok {
			t.Fatalf("only %d may wait", len(leaves))
		}
		leaves = append(leaves, leave)
	}
	if _, _, ok := w.join(key); ok {
		t.Error("one too many may wait")
	}
	for _, leave := range leaves {
		leave()
		leave() // twice is once
	}
	if w.waiting() != 0 || len(w.byKey) != 0 {
		t.Errorf("%d waiters, %d runs are left", w.waiting(), len(w.byKey))
	}
}

func TestWaitersAskOnceForAllRuns(t *testing.T) {
	t.Parallel()
	asked := make(chan int)
	one, two := history.RunKey{RunID: "1"}, history.RunKey{RunID: "2"}
	w := newWaiters[history.RunKey, db.RunView](func(_ context.Context, keys []history.RunKey) ([]history.RunKey, error) {
		asked <- len(keys)
		return []history.RunKey{two}, errors.New("and then the connection broke")
	}, zerolog.Nop())
	first, leaveFirst, _ := w.join(one)
	second, leaveSecond, _ := w.join(two)
	third, leaveThird, _ := w.join(two)
	defer leaveFirst()
	defer leaveSecond()
	defer leaveThird()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	if n := <-asked; n != 2 {
		t.Errorf("asked about %d runs", n)
	}
	<-second
	<-third
	w.wake(one, nil)
	w.wake(one, nil) // never blocks
	<-first
	w.poll()
	<-asked
	stop()
	go func() { // the look under way, if there is one
		for range asked {
		}
	}()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, open := range []<-chan *db.RunView{first, second, third} {
		for range open { // until it is closed
		}
	}
	if _, _, ok := w.join(one); ok {
		t.Error("after the end one may wait")
	}
	close(asked)
}
