package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// world is what the API shows of the runs of a round when everything is quiet.
type world struct {
	runs   map[string]*run
	listed []string // IDs of all runs of the round that there are
}

// run is one run.
type run struct {
	Workflow      string          `json:"workflow"`
	Status        engine.Status   `json:"status"`
	Generation    int             `json:"generation"`
	Output        json.RawMessage `json:"output"`
	BlockedReason string          `json:"blocked_reason"`
	UnreadSignals int             `json:"unread_signals"`

	events []event
	hooks  map[string]hook // by ID
	fates  map[string]fate // of signals, by ID
}

// event is one event of a history, with the members of its data that somebody here reads.
type event struct {
	Generation int       `json:"generation"`
	Seq        int64     `json:"seq"`
	Type       string    `json:"type"`
	At         time.Time `json:"at"`
	Data       eventData `json:"data"`
}

type eventData struct {
	Input     json.RawMessage `json:"input"`
	Payload   json.RawMessage `json:"payload"`
	SignalID  string          `json:"signal_id"`
	SignalSeq int64           `json:"signal_seq"`
	Name      string          `json:"name"`
	Signal    string          `json:"signal"`
	WaitID    string          `json:"wait_id"`
	HookID    string          `json:"hook_id"`
	ByCode    bool            `json:"by_code"`
	Cause     string          `json:"cause"`
	Deadline  *time.Time      `json:"deadline"`
	ExpiresAt *time.Time      `json:"expires_at"`
}

// hook is one hook as lists show it.
type hook struct {
	ID    string `json:"hook_id"`
	State string `json:"state"`
}

// fate is what became of a signal.
type fate struct {
	Name       string `json:"name"`
	Sequence   int64  `json:"sequence"`
	ReceivedAt string `json:"received_at"`
	State      string `json:"state"`
	ConsumedBy *struct {
		WaitID     string `json:"wait_id"`
		Generation int    `json:"generation"`
	} `json:"consumed_by"`
}

// readers is the number of requests of a check under way at a time.
const readers = 16

// look reads everything that there is of a round's runs.
func look(ctx context.Context, c *callers, round int, entries []entry) (world, error) {
	w := world{runs: map[string]*run{}}
	runs, _ := gather(entries)
	var mu sync.Mutex
	err := each(ctx, runs, func(ctx context.Context, id string, rng *rand.Rand) error {
		r, err := readRun(ctx, c, id, runs[id].signals, rng)
		mu.Lock()
		defer mu.Unlock()
		w.runs[id] = r
		return err
	})
	if err != nil {
		return w, err
	}
	w.listed, err = listRuns(ctx, c, round, "")
	return w, err
}

// each works on the keys of a map, several at a time.
func each[V any](ctx context.Context, all map[string]V, do func(context.Context, string, *rand.Rand) error) error {
	keys := make(chan string)
	failed := make(chan error, readers)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for n := range readers {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			for key := range keys {
				if err := do(ctx, key, rng); err != nil {
					cancel(err)
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for key := range all {
		select {
		case keys <- key:
		case <-ctx.Done():
		}
	}
	close(keys)
	var first error
	for range readers {
		if err := <-failed; first == nil {
			first = err
		}
	}
	if first == nil {
		first = context.Cause(ctx)
	}
	return first
}

// get reads one resource. The bool is false when there is no such thing.
func (c *callers) get(ctx context.Context, path string, into any, rng *rand.Rand) (bool, error) {
	r, err := c.read(ctx, ask{method: "GET", path: path}, rng)
	switch {
	case err != nil:
		return false, err
	case r.status == http.StatusNotFound:
		return false, nil
	case r.status != http.StatusOK:
		return false, fmt.Errorf("GET %s: status %d %s", path, r.status, r.Code)
	}
	return true, json.Unmarshal(r.raw, into)
}

// readRun reads a run, nil when it does not exist.
func readRun(ctx context.Context, c *callers, id string, signals []*fact, rng *rand.Rand) (*run, error) {
	r := &run{hooks: map[string]hook{}, fates: map[string]fate{}}
	found, err := c.get(ctx, runPath(id), r, rng)
	if err != nil || !found {
		return nil, err
	}
	for generation := 1; generation <= r.Generation; generation++ {
		path := fmt.Sprintf("%s?limit=200&generation=%d", runPath(id, "history"), generation)
		if err := eachPage(ctx, c, path, rng, func(e event) bool { r.events = append(r.events, e); return true }); err != nil {
			return nil, err
		}
	}
	err = eachPage(ctx, c, runPath(id, "hooks")+"?limit=200", rng, func(h hook) bool { r.hooks[h.ID] = h; return true })
	if err != nil {
		return nil, err
	}
	for _, signal := range signals {
		var f fate
		found, err := c.get(ctx, runPath(id, "signals", signal.id), &f, rng)
		if err != nil {
			return nil, err
		}
		if found {
			r.fates[signal.id] = f
		}
	}
	return r, nil
}

// listRuns lists the runs of a round, those of one status where one is named. Later rounds must not have begun.
func listRuns(ctx context.Context, c *callers, round int, status engine.Status) ([]string, error) {
	var ids []string
	path := "/v1/runs?limit=200"
	if status != "" {
		path += "&status=" + string(status)
	}
	err := eachPage(ctx, c, path, rand.New(rand.NewPCG(4, 4)), func(r struct {
		ID string `json:"run_id"`
	},
	) bool {
		if !strings.HasPrefix(r.ID, roundPrefix(round)) {
			return false // newest first: the rest is of earlier rounds
		}
		ids = append(ids, r.ID)
		return true
	})
	return ids, err
}

// eachPage visits the items of a list, or the events of a history, until visit returns false.
func eachPage[T any](ctx context.Context, c *callers, path string, rng *rand.Rand, visit func(T) bool) error {
	for cursor := ""; ; {
		var page struct {
			Items      []T    `json:"items"`
			Events     []T    `json:"events"`
			NextCursor string `json:"next_cursor"`
		}
		at := path
		if cursor != "" {
			at += "&cursor=" + url.QueryEscape(cursor)
		}
		if found, err := c.get(ctx, at, &page, rng); err != nil || !found {
			return err
		}
		for _, item := range append(page.Items, page.Events...) {
			if !visit(item) {
				return nil
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
}
