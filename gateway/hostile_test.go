package gateway

import (
	"net"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// hostile are requests that strangers make up, no two alike: {n} is the number of the request, {token} a well-formed token of
// no hook. After a ~ comes half of one, whose sender goes away.
var hostile = []string{
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nnull",
	"POST /callbacks/flow/hooks/junk-{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nnull",
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /",
	"~POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n{",
	"~POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"half\":",
	"~POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nX-Half-{n}: ",
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\n\x1f\x8b\x08\x00\x00\x00",
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 8192\r\n\r\n" + strings.Repeat("[", 8192),
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n1e4000",
	"POST /callbacks/flow/hooks/{token} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.{n}.1, 1.2.3.{n}\r\nContent-Length: 1\r\n\r\n1",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIlWzFdZCJ9.{n}\r\n\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer fge_{n}\r\n\r\n",
	"GET /v1/runs/{n} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {n}\r\n\r\n",
	"POST /v1/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 12\r\n\r\ngrant_type=x",
	"POST /v1/runs/r/signals/{n} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k{n}\r\nContent-Length: 1\r\n\r\n1",
	"POST /ingress/source-{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
	"BREW /pot-{n} HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /{n} HTTP/9.9\r\nHost: a\r\n\r\n",
	"~\x16\x03\x01\x02\x00 no HTTP at all {n}",
	"~",
}

// attack makes hostile requests from many addresses at once, and reads of what comes back only the beginning.
func attack(t *testing.T, address string, next func() string, from, requests int) (answered int64) {
	t.Helper()
	const attackers = 16
	var group sync.WaitGroup
	var answers atomic.Int64
	for a := range attackers {
		group.Go(func() {
			for i := from + a; i < from+requests; i += attackers {
				source := &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/256%256), byte(i%256))}
				conn, err := (&net.Dialer{LocalAddr: source, Timeout: 20 * time.Second}).Dial("tcp", address)
				if err != nil {
					t.Errorf("connect: %v", err)
					return
				}
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				text, half := strings.CutPrefix(hostile[i%len(hostile)], "~")
				_, _ = strings.NewReplacer("{n}", strconv.Itoa(i), "{token}", next()).WriteString(conn, text)
				if !half {
					if n, _ := conn.Read(make([]byte, 64)); n > 0 {
						answers.Add(1)
					}
				}
				_ = conn.Close()
			}
		})
	}
	group.Wait()
	return answers.Load()
}

// level is what a process holds when nothing is under way.
func level() (goroutines int, heap uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

// What strangers send leaves nothing behind: not a goroutine, and no more memory than the bounded maps of limits take. It is
// not parallel, so that the process is its own.
func TestHostile_leaves_nothing_behind(t *testing.T) {
	url := pgtest.URL(t)
	c := newCredentials(t, url)
	gw, err := New(Config{
		Engine: engineOn(t, url, nil), Logger: zerolog.Nop(), PublicURL: publicURL, Access: c.verifier, Clock: newTestClock().Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	gw.fiber.Server().MaxIdleWorkerDuration = 100 * time.Millisecond // else goroutines rest for ten seconds
	s := listen(t, gw, &logBuffer{})
	_, key := c.key("default", nil)
	token := s.as(key).open("r", doorInput{Hook: "ask", Stay: true})
	next := unknownTokens(t)

	goroutines, _ := level()
	goroutines += 20 // of the process's own, which come and go; requests would leave thousands
	const first, requests = 2000, 12_000
	attack(t, s.addr, next, 0, first)
	var after int
	defer func() {
		if t.Failed() {
			t.Logf("at most %d goroutines; in the end %d:", goroutines, after)
			_ = pprof.Lookup("goroutine").WriteTo(t.Output(), 1)
		}
	}()
	var heap, held uint64
	await(t, "the process rests", func() bool {
		after, heap = level()
		return after <= goroutines
	})
	answered := attack(t, s.addr, next, first, requests)
	if answered < requests/2 {
		t.Errorf("%d of %d requests were answered", answered, requests)
	}
	const slack = 4 << 20 // of 12,000 requests: 350 bytes each
	await(t, "the process is as it was", func() bool {
		after, held = level()
		return after <= goroutines && held <= heap+slack
	})
	t.Logf("%d requests: goroutines %d, then %d; heap %d kB, then %d kB", requests, goroutines, after, heap>>10, held>>10)
	checkAccepted(t, s.answer(token, `1`))
}
