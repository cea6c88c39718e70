package httppost_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

func TestWhatStatusesMean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		expect []int
		code   string // empty is success
		final  bool
	}{
		{200, nil, "", false},
		{201, nil, "", false},
		{202, nil, "", false},
		{204, nil, "", false},
		{299, nil, "", false},
		{202, []int{200, 202}, "", false},
		{409, []int{200, 409}, "", false},
		{503, []int{503}, "", false},
		{303, []int{303}, "", false},
		{201, []int{200}, httppost.CodeUnexpected, true},
		{300, nil, httppost.CodeRedirect, true},
		{304, nil, httppost.CodeRedirect, true},
		{307, nil, httppost.CodeRedirect, true},
		{400, nil, httppost.CodeRejected, true},
		{401, nil, httppost.CodeRejected, true},
		{404, nil, httppost.CodeRejected, true},
		{408, nil, httppost.CodeSlow, false},
		{410, nil, httppost.CodeGone, true},
		{413, nil, httppost.CodeRejected, true},
		{425, nil, httppost.CodeEarly, false},
		{429, nil, httppost.CodeThrottled, false},
		{451, nil, httppost.CodeRejected, true},
		{500, nil, httppost.CodeServer, false},
		{501, nil, httppost.CodeServer, false},
		{503, nil, httppost.CodeServer, false},
		{599, nil, httppost.CodeServer, false},
		{600, nil, httppost.CodeUnexpected, true},
		{999, nil, httppost.CodeUnexpected, true},
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			if tt.status != 204 && tt.status != 304 {
				_, _ = io.WriteString(w, hush)
			}
		})
		out, err := do(t, newPoster(t, r.reaching()), httppost.Input{URL: r.URL + "/?" + hush, Body: hush, Statuses: tt.expect})
		if tt.code == "" {
			if err != nil || out.Status != tt.status {
				t.Errorf("%d, expecting %v: %v, %+v", tt.status, tt.expect, err, out)
			}
			continue
		}
		wantFailure(t, err, tt.code, tt.final)
		e, ok := errors.AsType[*httppost.Error](err)
		if !ok || e.Status != tt.status || e.Host != "127.0.0.1" || strings.Contains(err.Error(), hush) {
			t.Errorf("%d: %v", tt.status, err)
		}
		if engine.AdviceOf(err).Timed {
			t.Errorf("%d: a pause that nobody asked for", tt.status)
		}
	}
}

// An internal target is not reached by a redirect either: redirects are not followed at all.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	inner := startReceiver(t, nil, false)
	for _, status := range []int{301, 302, 303, 307, 308} {
		outer := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, inner.URL+"/"+hush, status)
		})
		_, err := do(t, newPoster(t, outer.reaching()), httppost.Input{URL: outer.URL, Body: 1})
		wantFailure(t, err, httppost.CodeRedirect, true)
		if strings.Contains(err.Error(), hush) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if n := len(inner.requests()); n != 0 {
		t.Errorf("%d requests inside", n)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		values []string
		want   time.Duration
	}{
		{[]string{"1"}, time.Second},
		{[]string{" 120 "}, 2 * time.Minute},
		{[]string{"Mon, 30 Nov 2026 12:00:30 GMT"}, 30 * time.Second},
		{[]string{"Monday, 30-Nov-26 12:01:00 GMT"}, time.Minute},
		{[]string{"Mon Nov 30 12:02:00 2026"}, 2 * time.Minute},
		{[]string{"0"}, 0},
		{[]string{"Mon, 30 Nov 2026 11:59:59 GMT"}, 0},
		{nil, 0},
		{[]string{""}, 0},
		{[]string{"-1"}, 0},
		{[]string{"+1"}, 0},
		{[]string{"1.5"}, 0},
		{[]string{"0x10"}, 0},
		{[]string{"soon"}, 0},
		{[]string{"1", "2"}, 0},
		{[]string{"1, 2"}, 0},
		{[]string{"Mon, 31 Feb 2026 12:00:30 GMT"}, 0},
		{[]string{strings.Repeat("9", 400)}, 1 << 31 * time.Second},
		{[]string{"18446744073709551617"}, 1 << 31 * time.Second},
	} {
		if got := httppost.RetryPause(tt.values, now); got != tt.want {
			t.Errorf("%.40q: %s, want %s", tt.values, got, tt.want)
		}
	}
}

func TestRetryAfterReachesTheEngine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status int
		value  string
		want   time.Duration // 0 is none
	}{
		{429, "7", 7 * time.Second},
		{503, "Mon, 30 Nov 2026 12:00:30 GMT", 30 * time.Second},
		{408, "1", time.Second},
		{503, "86400", 10 * time.Minute},
		{503, "99999999999999999999", 10 * time.Minute},
		{503, "next week", 0},
		{503, "0", 0},
		{400, "7", 0},
	} {
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", tt.value)
			w.WriteHeader(tt.status)
		})
		c := r.reaching()
		c.Now, c.MaxRetryAfter = at(now), 10*time.Minute
		_, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1})
		if a := engine.AdviceOf(err); err == nil || a.After != tt.want || a.Timed != (tt.want > 0) {
			t.Errorf("%d %q: %+v, want %s", tt.status, tt.value, a, tt.want)
		}
	}
}

// raw is a server that says the same bytes to whoever connects, then ends the connection.
func raw(t *testing.T, answer string) (uint16, string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 1024)
			_, _ = conn.Read(buf)
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	to := netip.MustParseAddrPort(l.Addr().String())
	return to.Port(), "http://" + to.String()
}

func TestNetworkTrouble(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for name, answer := range map[string]string{
		"nothing":         "",
		"not HTTP":        "SSH-2.0-" + hush + "\r\n",
		"half a header":   "HTTP/1.1 200 OK\r\nX-A: " + hush,
		"a bad header":    "HTTP/1.1 200 OK\r\n" + hush + "\r\n\r\n",
		"a huge header":   "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"a bad length":    "HTTP/1.1 200 OK\r\nContent-Length: " + hush + "\r\n\r\n",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"endless interim": strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100),
	} {
		port, url := raw(t, answer)
		p := newPoster(t, httppost.Config{AllowHTTP: true, Ports: []uint16{port}, InternalNetworks: loopback})
		_, err := do(t, p, httppost.Input{URL: url, Body: 1})
		if err == nil || strings.Contains(err.Error(), hush) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantFailure(t, err, httppost.CodeNetwork, false)
	}
	port, url := raw(t, "this is no TLS "+hush)
	p := newPoster(t, httppost.Config{Ports: []uint16{port}, InternalNetworks: loopback})
	_, err := do(t, p, httppost.Input{URL: strings.Replace(url, "http:", "https:", 1), Body: 1})
	wantFailure(t, err, httppost.CodeTLS, false)
	if strings.Contains(err.Error(), hush) {
		t.Error(err)
	}
}

func TestUntrustedCertificates(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := r.reaching()
	c.RootCAs = nil
	_, err := do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1})
	wantFailure(t, err, httppost.CodeTLS, false)

	c = r.reaching() // its certificate is for example.com and 127.0.0.1, not for this name
	c.Resolver = &resolver{names: map[string][][]netip.Addr{"other.example.org": {addresses("127.0.0.1")}}}
	url := strings.Replace(r.URL, "127.0.0.1", "other.example.org", 1)
	_, err = do(t, newPoster(t, c), httppost.Input{URL: url, Body: 1})
	wantFailure(t, err, httppost.CodeTLS, false)
	if n := len(r.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNamesAndPortsWithoutAnyone(t *testing.T) {
	t.Parallel()
	_, err := do(t, newPoster(t, httppost.Config{Resolver: &resolver{}}), httppost.Input{URL: "https://nobody.example.com", Body: 1})
	wantFailure(t, err, httppost.CodeDNS, false)
	r := newReceiver(t, nil)
	c := r.reaching()
	r.Close()
	_, err = do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1})
	wantFailure(t, err, httppost.CodeNetwork, false)
	if !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

// The second address of a name is tried when nobody answers at the first.
func TestTheNextAddressIsTried(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	c := r.reaching()
	c.InternalNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.Resolver = &resolver{names: map[string][][]netip.Addr{"example.com": {addresses("127.0.0.9", "10.0.0.1", "127.0.0.1")}}}
	if _, err := do(t, newPoster(t, c), httppost.Input{URL: strings.Replace(r.URL, "127.0.0.1", "Example.com.", 1), Body: 1}); err != nil {
		t.Fatal(err)
	}
	if got := r.requests()[0].host; !strings.HasPrefix(got, "example.com:") {
		t.Errorf("Host is %q", got)
	}
}

func TestHostHeader(t *testing.T) {
	t.Parallel()
	p := newPoster(t, httppost.Config{AllowHTTP: true, Ports: []uint16{80, 443, 8443}})
	for url, want := range map[string]string{
		"https://Example.com./x":      "example.com",
		"https://example.com:443":     "example.com",
		"https://example.com:8443":    "example.com:8443",
		"http://example.com":          "example.com",
		"http://example.com:443":      "example.com:443",
		"https://[2606:4700::1111]":   "[2606:4700::1111]",
		"https://[2606:4700:0::1]:80": "[2606:4700::1]:80",
	} {
		if got := httppost.HostHeader(p, url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
