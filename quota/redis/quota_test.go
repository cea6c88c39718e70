package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/flowgate-go/flowgate/quota/redis"
	"github.com/flowgate-go/flowgate/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a Redis whose time stands still.
func server(t *testing.T) (*miniredis.Miniredis, func(time.Duration)) {
	t.Helper()
	m := miniredis.RunT(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m.SetTime(now)
	return m, func(d time.Duration) {
		now = now.Add(d)
		m.SetTime(now)
		m.FastForward(d)
	}
}

func quota(t *testing.T, cfg redis.Config) *redis.Quota {
	t.Helper()
	q, err := redis.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return q
}

// Two gateways on one Redis allow together what one allows alone, and each namespace has its own.
func TestQuota_is_one_for_all(t *testing.T) {
	t.Parallel()
	m, pass := server(t)
	cfg := redis.Config{URL: "redis://" + m.Addr(), PerSecond: 2, Burst: 10}
	gateways := []*redis.Quota{quota(t, cfg), quota(t, cfg)}
	allowed := func(ns spec.Namespace) int64 {
		var n atomic.Int64
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				wait, err := gateways[i%2].Take(t.Context(), ns)
				switch {
				case err != nil:
					t.Error(err)
				case wait == 0:
					n.Add(1)
				case wait < 0 || wait > 500*time.Millisecond+time.Microsecond:
					t.Errorf("wait %s", wait)
				}
			})
		}
		all.Wait()
		return n.Load()
	}
	if n := allowed("a"); n != 10 {
		t.Errorf("%d were allowed, want 10", n)
	}
	if n := allowed("b"); n != 10 {
		t.Errorf("%d of another namespace were allowed, want 10", n)
	}
	pass(time.Second)
	if n := allowed("a"); n != 2 {
		t.Errorf("%d were allowed after a second, want 2", n)
	}
	pass(time.Hour)
	if keys := m.Keys(); len(keys) != 0 {
		t.Errorf("what is full again is kept: %q", keys)
	}
}

func TestQuota_of_less_than_one_a_second(t *testing.T) {
	t.Parallel()
	m, pass := server(t)
	q := quota(t, redis.Config{URL: "redis://" + m.Addr(), PerSecond: 0.1, Burst: 1})
	for range 3 {
		if wait, err := q.Take(t.Context(), "a"); wait != 0 || err != nil {
			t.Fatalf("got %s, %v", wait, err)
		}
		if wait, err := q.Take(t.Context(), "a"); wait < 9*time.Second || wait > 11*time.Second || err != nil {
			t.Fatalf("got %s, %v", wait, err)
		}
		pass(10 * time.Second)
	}
}

// A Redis that is away, that says no, or that does not answer is an error in time.
func TestQuota_without_its_backend(t *testing.T) {
	t.Parallel()
	m, _ := server(t)
	q := quota(t, redis.Config{URL: "redis://" + m.Addr(), PerSecond: 1, Burst: 1})
	m.SetError("LOADING")
	if _, err := q.Take(t.Context(), "a"); err == nil {
		t.Error("an error of the server is an answer")
	}
	m.SetError("")
	m.Close()
	if _, err := q.Take(t.Context(), "a"); err == nil {
		t.Error("a server that is away is an answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	if wait, err := q.Take(t.Context(), "a"); wait != 0 || err != nil {
		t.Errorf("it is back: got %s, %v", wait, err)
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "hunter2", "http://hunter2@h", "redis://u:hunter2@h:x", "redis://h/hunter2", "redis://u:hunter2@h?x=hunter2", "\x7f"} {
		_, err := redis.New(redis.Config{URL: url, PerSecond: 1, Burst: 1})
		if !errors.Is(err, redis.ErrURL) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	for _, cfg := range []redis.Config{{PerSecond: 0, Burst: 1}, {PerSecond: -1, Burst: 1}, {PerSecond: 1}, {PerSecond: 1e10, Burst: 1}} {
		cfg.URL = "redis://127.0.0.1:1"
		if _, err := redis.New(cfg); !errors.Is(err, redis.ErrRate) {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}
