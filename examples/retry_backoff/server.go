package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// reply is what the server says to one request: a status, and how long the pause before the next one must be.
type reply struct {
	status int
	pause  time.Duration
}

// flaky is a server on loopback that says what its script says, page by page, and then only the last of it.
type flaky struct {
	*httptest.Server
	out io.Writer

	mu     sync.Mutex
	script map[string][]reply
	key    map[string]string    // of the first request for a page
	due    map[string]time.Time // when the next request may come
}

func newFlaky(out io.Writer) *flaky {
	f := &flaky{out: out, key: map[string]string{}, due: map[string]time.Time{}, script: map[string][]reply{
		"/rates": {{503, 20 * time.Millisecond}, {503, 40 * time.Millisecond}, {429, time.Second}, {200, 0}},
		"/none":  {{404, 0}},
		"/down":  {{503, 0}},
	}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	return f
}

// mend lets a page be there from now on.
func (f *flaky) mend(page string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script[page] = []reply{{200, 0}}
}

func (f *flaky) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page, now := r.URL.Path, time.Now()
	next := f.script[page][0]
	if len(f.script[page]) > 1 {
		f.script[page] = f.script[page][1:]
	}
	fmt.Fprintf(f.out, "  GET %s: %d, %s\n", page, next.status, f.judge(page, r.Header.Get("Idempotency-Key"), now))
	f.due[page] = now.Add(next.pause)
	if next.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", fmt.Sprint(next.pause.Seconds()))
	}
	w.WriteHeader(next.status)
	if next.status == http.StatusOK {
		fmt.Fprint(w, "1 EUR = 1.0842 USD")
	}
}

// judge says what the server thinks of a request.
func (f *flaky) judge(page, key string, now time.Time) string {
	before, again := f.key[page]
	f.key[page] = key
	switch {
	case !again:
		return "the first time"
	case key != before:
		return "under another key"
	case now.Before(f.due[page]):
		return "too early"
	}
	return "again, under the same key and not too early"
}
