package db

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var w waits
	w.note(time.Time{}, now)
	for range waitEnough - 1 {
		w.note(now.Add(-time.Second), now)
	}
	if got := w.most(now); got != 0 {
		t.Errorf("too few say %s", got)
	}
	w.note(now.Add(time.Second), now) // a clock that was put back
	if got := w.most(now.Add(waitCached - 1)); got != 0 {
		t.Errorf("the answer did not hold: %s", got)
	}
	now = now.Add(waitCached)
	if got := w.most(now); got != time.Second {
		t.Errorf("got %s, want 1s", got)
	}
	for range waitSamples - waitSamples/20 + 1 { // all but less than 1 of 20
		w.note(now.Add(-time.Millisecond), now)
	}
	if got := w.most(now.Add(waitCached)); got != time.Millisecond {
		t.Errorf("got %s, want 1ms", got)
	}
	if got := w.most(now.Add(waitWindow)); got != 0 {
		t.Errorf("long ago still counts: %s", got)
	}
}

// Messages that nobody takes say how long they waited as those do that are taken in the end.
func TestAcceptWait_while_no_lane_takes_anything(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var passed atomic.Int64
	clock := func() time.Time { return began.Add(time.Duration(passed.Load())) }
	s := &Store{cfg: Config{Clock: clock}, queue: make(chan *call, waitEnough), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, waitEnough)
	for range waitEnough {
		go func() {
			_, err := s.Accept(ctx, &history.RetryRun{Run: keyOf("r")})
			gone <- err
		}()
	}
	for len(s.queue) < waitEnough {
		select {
		case err := <-gone:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	passed.Store(int64(1500 * time.Millisecond))
	cancel()
	for range waitEnough {
		if err := <-gone; !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
	if got := s.AcceptWait(); got != 1500*time.Millisecond {
		t.Errorf("got %s, want 1.5s", got)
	}
}
