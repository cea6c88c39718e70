package app_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// A process that is told to stop under load finishes what it took, tells others to come again, and ends in time. What it
// acknowledged is there afterwards, and what it did not can be sent again.
func TestTermUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	const senders = 16
	env := deployment(pgtest.URL(t))
	gate := launch(t, env, "serve", "--open-api", "--examples")
	call(t, http.StatusCreated, "POST", gate.url+"/v1/runs", collector)

	var all sync.WaitGroup
	var acknowledged [senders]atomic.Int64
	var last [senders]string // signals whose fate their sender does not know
	for i := range senders {
		all.Go(func() {
			for {
				id := fmt.Sprintf("s%d-%d", i, acknowledged[i].Load())
				r, err := try("POST", gate.url+signalPath("c1", id), fmt.Sprint(i))
				if err == nil && r.status == http.StatusAccepted {
					acknowledged[i].Add(1)
					continue
				}
				if err == nil && r.status != http.StatusServiceUnavailable {
					t.Errorf("%s: status %d: %v", id, r.status, r.body)
				}
				last[i] = id
				return
			}
		})
	}
	eventually(t, "the load", func() bool {
		for i := range senders {
			if acknowledged[i].Load() < 5 {
				return false
			}
		}
		return true
	})
	began := time.Now()
	gate.signal(t, syscall.SIGTERM)
	gate.wantExit(t, 0)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it ended after %s", took)
	}
	all.Wait()

	next := launch(t, env, "serve", "--open-api", "--examples")
	for i := range senders {
		for n := range acknowledged[i].Load() {
			wantDurable(t, next.url, "c1", fmt.Sprintf("s%d-%d", i, n), fmt.Sprint(i))
		}
		call(t, http.StatusAccepted, "POST", next.url+signalPath("c1", last[i]), fmt.Sprint(i))
	}
}
