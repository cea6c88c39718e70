package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// answerWithin is how long a caller waits for an answer. A gateway gives one within 3 s.
const answerWithin = 10 * time.Second

// reply is an answer of a gateway, with the members of its body that somebody here reads.
type reply struct {
	status int
	raw    []byte

	Verdict    engine.Verdict `json:"verdict"`
	Code       string         `json:"code"`
	Cause      string         `json:"cause"`
	Receipt    receipt        `json:"receipt"`
	Token      string         `json:"token"`
	ExpiresAt  *time.Time     `json:"expires_at"`
	NextCursor string         `json:"next_cursor"`
}

// client sends requests. It never sends one twice by itself: that a message may have been taken must not be hidden.
type client struct{ http *http.Client }

func newClient() client {
	return client{&http.Client{
		Timeout:   answerWithin,
		Transport: &http.Transport{MaxIdleConnsPerHost: workers, IdleConnTimeout: 5 * time.Second},
	}}
}

// ask is one request of a gateway.
type ask struct {
	method, path string
	body         []byte
	header       http.Header
}

// do sends one request. An error means that there is no answer, or only a part of one.
func (c client) do(ctx context.Context, base string, a ask) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, a.method, base+a.path, bytes.NewReader(a.body))
	if err != nil {
		return reply{}, err
	}
	req.GetBody = nil // without it the transport cannot send the request again
	for name, values := range a.header {
		req.Header[name] = values
	}
	if len(a.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	r := reply{status: res.StatusCode}
	if r.raw, err = io.ReadAll(res.Body); err != nil {
		return reply{}, err
	}
	return r, json.Unmarshal(r.raw, &r)
}

// runPath is the path of a run, or of something of it.
func runPath(run string, more ...string) string {
	path := "/v1/runs/" + url.PathEscape(run)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}
