package db

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// hintWays are what can happen to a hint.
var hintWays = []faultWay{
	{kind: pgfault.LoseBefore},
	{kind: pgfault.LoseAfter},
	{kind: pgfault.Hold},
	{kind: pgfault.Refuse, state: "57014"},
}

// hinted is a store that runs and whose hints, and nothing else, go over connections that a breaker sees.
func (r *acceptRig) hinted(b *pgfault.Breaker) *Store {
	s := r.open(r.pool)
	s.notify.config = r.brokenBy(b).Config().ConnConfig
	return s
}

// A hint that is lost takes nothing with it: the message is accepted, who polls finds it, and later hints come.
func TestALostHintLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	heard := f.listener(readyChannel)
	for i, w := range hintWays {
		var b pgfault.Breaker
		s := f.hinted(&b)
		f.start(s)
		run := fmt.Sprint("r", i)
		fault := b.At(1, w.kind, w.state)
		for _, m := range []history.Message{f.startOf(run), f.signal(run, "s", "1")} {
			if a := f.await(sendTo(s, context.Background(), m)); readingOf(a.Receipt.Verdict, a.Err) != acceptedWord {
				t.Errorf("hint %v: %+v", w, a)
			}
		}
		f.until("the hint failed", fault.Happened)
		f.turns(f.fresh(), approval)
		if v := f.view(run); v.Status != history.Completed {
			t.Errorf("hint %v: the run is %s", w, v.Status)
		}
		fault.Release()
		b.Clear()
		before := heard()
		f.until("a later hint comes", func() bool { s.notify.ready(); return heard() > before })
	}
	f.nothingLeft()
}

// The answer to a COMMIT is lost. The second attempt finds that all is done, and those who wait for it are told all the
// same.
func TestALostCommitIsHintedAt(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	var due atomic.Int64
	s := f.over(f.patient.pool, longWait, func(c *Config) { c.Ready = func(RunRef) { due.Add(1) } })
	f.start(s)
	ready, ended := f.listener(readyChannel), f.listener(endedChannel)
	for _, m := range []history.Message{f.startOf("a"), &history.CancelRun{Run: keyOf("a")}} {
		due.Store(0)
		readyBefore, endedBefore := ready(), ended()
		f.ready()
		f.breaker.AtText(isCommit, 1, pgfault.LoseAfter, "")
		if a := f.await(sendTo(s, context.Background(), m)); readingOf(a.Receipt.Verdict, a.Err) != duplicateWord {
			t.Errorf("%T: %+v", m, a)
		}
		f.breaker.Clear()
		f.until(fmt.Sprintf("everybody is told of %T", m), func() bool {
			return due.Load() > 0 && ready() > readyBefore && ended() > endedBefore
		})
	}
}

// Whoever cannot begin to listen tries again until it listens.
func TestFaultAtEveryStatementOfListening(t *testing.T) {
	t.Parallel()
	f := newFaultRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 100)
	var ready []*atomic.Int64
	for _, w := range hintWays {
		for n := 1; n <= 2; n++ {
			var b pgfault.Breaker
			var hints atomic.Int64
			fault := b.At(n, w.kind, w.state)
			s := f.hinted(&b)
			go func() {
				ended <- s.Listen(ctx, Heed{Ready: func() { hints.Add(1) }, Ended: func() {}, Tasks: func() {}})
			}()
			f.until("it failed", fault.Happened)
			fault.Release()
			ready = append(ready, &hints)
		}
	}
	f.until("all listen", func() bool {
		all := true
		for _, hints := range ready {
			all = all && hints.Load() > 0
		}
		return all
	})
	f.ok(f.startOf("a"))
	f.until("all hear", func() bool {
		all := true
		for _, hints := range ready {
			all = all && hints.Load() > 1
		}
		return all
	})
	cancel()
	for range ready {
		if err := <-ended; err != nil {
			t.Errorf("Listen: %v", err)
		}
	}
}
