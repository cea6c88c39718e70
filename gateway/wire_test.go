package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// junkToken has the form of a host's token and belongs to no hook.
const junkToken = "AAAAAAAAAAAAAAAAAAAAAAAAAAAA"

const secretWord = "S3CR3T-in-the-request"

func post(path string, headers ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: gate\r\n" + strings.Join(headers, "\r\n")
}

const junkPath = "/callbacks/flow/hooks/" + junkToken

// Framing and fields that two parties can read in two ways get one refusal and the end of the connection, and what is
// smuggled behind them never runs.
func TestWire_ambiguous_requests_are_refused(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	smuggled := post("/v1/runs/smuggled/cancel", "Content-Length: 0", "", "")
	for name, tc := range map[string]struct {
		request string
		code    string
	}{
		"1 length and chunks": {post(junkPath, "Content-Length: 4", "Transfer-Encoding: chunked", "", "0\r\n\r\n"+smuggled), "malformed-request"},
		"1 chunks and length": {post(junkPath, "Transfer-Encoding: chunked", "Content-Length: 4", "", "0\r\n\r\n"+smuggled), "malformed-request"},
		"2 two lengths":       {post(junkPath, "Content-Length: 4", "Content-Length: 5", "", "null"+smuggled), "malformed-request"},
		"2 two equal lengths": {post(junkPath, "Content-Length: 4", "Content-Length: 4", "", "null"+smuggled), "malformed-request"},
		"3 signed length":     {post(junkPath, "Content-Length: +3", "", "1  "), "malformed-request"},
		"3 negative length":   {post(junkPath, "Content-Length: -1", "", "1  "), "malformed-request"},
		"3 a word as length":  {post(junkPath, "Content-Length: "+secretWord, "", "1  "), "malformed-request"},
		"4 unknown coding":    {post(junkPath, "Transfer-Encoding: xchunked", "", "0\r\n\r\n"), "malformed-request"},
		"4 two codings":       {post(junkPath, "Transfer-Encoding: gzip, chunked", "", "0\r\n\r\n"), "malformed-request"},
		"6 bare CR":           {post(junkPath, "X-A: a\rX-B: b", "Content-Length: 4", "", "null"), "malformed-request"},
		"6 NUL":               {post(junkPath, "X-A: a\x00b", "Content-Length: 4", "", "null"), "malformed-request"},
		"6 folded line":       {post(junkPath, "X-A: a", " b", "Content-Length: 4", "", "null"), "malformed-request"},
		"6 space in a name":   {post(junkPath, "X A: a", "Content-Length: 4", "", "null"), "malformed-request"},
		"6 space after name":  {post(junkPath, "Content-Length : 4", "", "null"), "malformed-request"},
		"6 empty name":        {post(junkPath, ": a", "Content-Length: 4", "", "null"), "malformed-request"},
		"7 no host":           {"POST " + junkPath + " HTTP/1.1\r\nContent-Length: 4\r\n\r\nnull", "malformed-request"},
		"7 two hosts":         {post(junkPath, "Host: b", "Content-Length: 4", "", "null"), "malformed-request"},
		"41 two types":        {post(junkPath, "Content-Type: application/json", "Content-Type: text/plain", "Content-Length: 4", "", "null"), "malformed-request"},
		"two credentials":     {post(junkPath, "Authorization: Bearer a", "Authorization: Bearer b", "Content-Length: 4", "", "null"), "malformed-request"},
		"two signatures":      {post(junkPath, "X-Signature: a", "X-Signature: b", "Content-Length: 4", "", "null"), "malformed-request"},
		"two timestamps":      {post(junkPath, "Webhook-Timestamp: 1", "Webhook-Timestamp: 2", "Content-Length: 4", "", "null"), "malformed-request"},
		"two keys":            {post(junkPath, "Idempotency-Key: a", "idempotency-key: a", "Content-Length: 4", "", "null"), "idempotency-key-invalid"},
		"version 9.1":         {"POST " + junkPath + " HTTP/9.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nnull", "malformed-request"},
		"version 2 preface":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed-request"},
		"version 0.9":         {"GET " + junkPath + "\r\n\r\n", "malformed-request"},
		"15 unknown method":   {"BREW " + junkPath + " HTTP/1.1\r\nHost: a\r\n\r\n", "malformed-request"},
		"15 method in case":   {"post " + junkPath + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nnull", "malformed-request"},
		"not HTTP at all":     {secretWord + "\r\n\r\n", "malformed-request"},
		"secret in a bad one": {post(junkPath, "Authorization: Bearer "+secretWord, "no colon here", "", ""), "malformed-request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := (&site{t: t, addr: s.addr}).one(tc.request)
			checkProblem(t, r, 400, tc.code)
			if !r.closed {
				t.Error("the connection stays open")
			}
			if strings.Contains(r.raw, secretWord) || strings.Contains(r.raw, junkToken) {
				t.Errorf("the refusal repeats the request: %s", r.raw)
			}
		})
	}
	t.Cleanup(func() {
		if logs := s.logs.String(); strings.Contains(logs, "smuggled") || strings.Contains(logs, "/v1/runs/{run}/cancel") {
			t.Error("a smuggled request ran")
		}
	})
}

func TestWire_HTTP_1_0_is_served(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	r := s.one("POST " + junkPath + " HTTP/1.0\r\nContent-Length: 4\r\n\r\nnull")
	checkProblem(t, r, 404, "not-found")
}

// An absolute target (RFC 9112 section 3.2.2) is served by its path alone.
func TestWire_7_absolute_target(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	r := s.one("POST http://evil.example" + junkPath + " HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnull")
	checkProblem(t, r, 404, "not-found")
	if strings.Contains(r.raw, "evil") || strings.Contains(fmt.Sprint(r.header), "evil") {
		t.Errorf("the response takes over the host: %v %s", r.header, r.raw)
	}
}

func TestWire_Expect_is_refused_before_the_body(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	for _, value := range []string{"100-continue", "200-ok"} {
		conn := s.dial()
		if _, err := io.WriteString(conn, post(junkPath, "Expect: "+value, "Content-Length: 4", "", "")); err != nil {
			t.Fatal(err)
		}
		if value == "200-ok" {
			// Only the body of a 100-continue is held back by the sender.
			_, _ = io.WriteString(conn, "null")
		}
		replies := readReplies(t, conn, false)
		if len(replies) != 1 {
			t.Fatalf("got %d responses", len(replies))
		}
		checkProblem(t, replies[0], 417, "expectation-failed")
	}
}

// 10: half headers, half bodies and drips are cut after the read timeout, and nobody else notices.
func TestWire_10_slow_requests_are_cut(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	var group sync.WaitGroup
	for i := range 500 {
		conn := s.dial()
		group.Go(func() {
			began := time.Now()
			switch i % 3 {
			case 0:
				_, _ = io.WriteString(conn, "POST "+junkPath+" HTTP/1.1\r\nHost: a\r\nX-Half: ")
			case 1:
				_, _ = io.WriteString(conn, post(junkPath, "Content-Length: 100", "", "half"))
			case 2:
				_, _ = io.WriteString(conn, post(junkPath, "Content-Length: 100", "", ""))
				drip(conn, began.Add(readTimeout+time.Second))
			}
			replies := readReplies(t, conn, false)
			if len(replies) != 1 || replies[0].status != 408 {
				t.Errorf("case %d: got %d responses, want one 408", i%3, len(replies))
				return
			}
			checkProblem(t, replies[0], 408, "request-timeout")
			if took := time.Since(began); took > readTimeout+3*time.Second {
				t.Errorf("case %d: cut after %s", i%3, took)
			}
		})
	}
	for range 20 {
		began := time.Now()
		checkProblem(t, s.call("POST", junkPath, "null"), 404, "not-found")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("an honest request took %s beside slow ones", took)
		}
	}
	group.Wait()
}

// drip sends a byte every 100 ms until the connection ends or the time is over.
func drip(w io.Writer, until time.Time) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		if _, err := io.WriteString(w, " "); err != nil || now.After(until) {
			return
		}
	}
}

func TestWire_header_block_limit(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	fits := s.one(post(junkPath, "X-Big: "+strings.Repeat("a", 15<<10), "Content-Length: 4", "Connection: close", "", "null"))
	checkProblem(t, fits, 404, "not-found")
	tooBig := s.one(post(junkPath, "X-Big: "+strings.Repeat("a", 17<<10), "Content-Length: 4", "", "null"))
	checkProblem(t, tooBig, 431, "headers-too-large")
}

// 12 for bodies that are too large: also in chunks, and at once when the length is declared.
func TestWire_12_bodies_over_the_limit(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	over := strings.Repeat(" ", DefaultMaxBody-3) + "null"

	checkProblem(t, s.call("POST", junkPath, over), 413, "payload-too-large")
	checkProblem(t, s.call("POST", junkPath, over+" "), 413, "payload-too-large")
	checkProblem(t, s.one(post(junkPath, "Content-Length: 10000000000", "", "")), 413, "payload-too-large")

	// A sender that is still writing gets the answer, not a broken connection.
	for range 20 {
		checkProblem(t, s.call("POST", junkPath, strings.Repeat(" ", DefaultMaxBody+(600<<10))), 413, "payload-too-large")
	}

	conn := s.dial()
	var chunked bytes.Buffer
	out := bufio.NewWriter(&chunked)
	_, _ = out.WriteString(post(junkPath, "Transfer-Encoding: chunked", "", ""))
	for range 5 {
		fmt.Fprintf(out, "%x\r\n%s\r\n", 64<<10, strings.Repeat(" ", 64<<10))
	}
	_ = out.Flush()
	go func() { _, _ = conn.Write(chunked.Bytes()) }()
	replies := readReplies(t, conn, false)
	if len(replies) != 1 {
		t.Fatalf("chunks over the limit: got %d responses", len(replies))
	}
	checkProblem(t, replies[0], 413, "payload-too-large")
}

// X09: a sender that does not know the length beforehand is served.
func TestX09_chunked_bodies_are_taken(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	r := s.one(post(junkPath, "Transfer-Encoding: chunked", "Connection: close", "", "2\r\nnu\r\n2\r\nll\r\n0\r\n\r\n"))
	checkProblem(t, r, 404, "not-found")
	bad := s.one(post(junkPath, "Transfer-Encoding: chunked", "Connection: close", "", "2\r\nnu\r\n0\r\n\r\n"))
	checkProblem(t, bad, 400, "malformed-payload")
}

// 15, 57: no other method reaches a token, whatever it is overridden with, and none looks it up.
func TestWire_15_other_methods_have_no_effect(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "CONNECT"} {
		r := s.one(method + " " + junkPath + " HTTP/1.1\r\nHost: a\r\nX-HTTP-Method-Override: POST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		if method == "HEAD" || method == "CONNECT" {
			if r.status != http.StatusMethodNotAllowed {
				t.Errorf("%s: got %d", method, r.status)
			}
		} else {
			checkProblem(t, r, 405, "method-not-allowed")
		}
		if allow := r.header.Get("Allow"); allow != "POST, DELETE" {
			t.Errorf("%s: got Allow %q", method, allow)
		}
	}
	r := s.call("GET", "/v1/runs/a/cancel?_method=POST", "")
	checkProblem(t, r, 405, "method-not-allowed")
	if allow := r.header.Get("Allow"); allow != "POST" {
		t.Errorf("got Allow %q", allow)
	}
}

func TestWire_paths_match_exactly(t *testing.T) {
	t.Parallel()
	s := serveOn(t, newEngine(t), nil)
	for _, path := range []string{
		"/", "/callbacks/flow/hooks/", "/Callbacks/flow/hooks/" + junkToken, "/callbacks/flow/hooks/" + junkToken + "/",
		"//callbacks/flow/hooks/" + junkToken, "/callbacks/flow/hooks/../hooks/" + junkToken, "/v1/runs/", "/v1//runs",
		"/callbacks%2Fflow/hooks/" + junkToken, "/metrics", "/livez", "/readyz",
	} {
		r := s.one(post(path, "Content-Length: 4", "Connection: close", "", "null"))
		checkProblem(t, r, 404, "not-found")
	}
}
