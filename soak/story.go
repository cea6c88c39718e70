package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// story is a run and what its callers do. Its steps are those of one goroutine, but for those that together takes.
type story struct {
	load *load
	rng  *rand.Rand
	run  string
	sent int // signals
}

// start starts the run.
func (s *story) start(ctx context.Context, workflow string, in input) error {
	in.Note = s.run
	return s.send(ctx, s.rng, startMessage(s.run, workflow, in))
}

// send delivers a message at the pace of the load.
func (s *story) send(ctx context.Context, rng *rand.Rand, m message) error {
	s.load.note(s.run, m.identity.String())
	select {
	case <-s.load.pace:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.load.callers.send(ctx, m, rng)
}

// together delivers messages at about the same time, each by a caller of its own.
func (s *story) together(ctx context.Context, all ...message) error {
	failed := make(chan error, len(all))
	for _, m := range all {
		rng, late := rand.New(rand.NewPCG(s.rng.Uint64(), 2)), time.Duration(s.rng.IntN(10))*time.Millisecond
		go func() {
			err := pause(ctx, late)
			if err == nil {
				err = s.send(ctx, rng, m)
			}
			failed <- err
		}()
	}
	var err error
	for range all {
		err = errors.Join(err, <-failed)
	}
	return err
}

// signal is the next signal of the run. IDs are of the run, in no order.
func (s *story) signal(name string) message {
	s.sent++
	id := fmt.Sprintf("%s-%d-%04x", name, s.sent, s.rng.Uint32()&0xffff)
	note := ""
	if s.rng.IntN(50) == 0 {
		note = strings.Repeat("a longer payload, to have some of them ", 200)
	}
	return signalMessage(s.run, name, id, note)
}

// bad is a message that must be refused as invalid: an undeclared signal, or a payload that breaks its schema.
func (s *story) bad() message {
	m := s.signal(itemSignal)
	m.bad = true
	if s.rng.IntN(2) == 0 {
		m.name = "undeclared"
	} else {
		m.payload = encode(map[string]int{"id": 7})
	}
	return m
}

// link is what is handed to an outside party.
type link struct {
	token   string
	expires *time.Time
}

// link asks for the token of a hook until the hook is open. It reports false when it has closed before.
func (s *story) link(ctx context.Context, hook string) (link, bool, error) {
	s.load.note(s.run, "the link of hook "+hook)
	for {
		r, err := s.load.callers.read(ctx, ask{method: "POST", path: runPath(s.run, "hooks", hook, "token")}, s.rng)
		if err != nil {
			return link{}, false, err
		}
		switch r.status {
		case http.StatusOK:
			s.load.keepToken(r.Token)
			return link{r.Token, r.ExpiresAt}, true, nil
		case http.StatusGone:
			s.load.skipped.Add(1)
			return link{}, false, nil
		case http.StatusNotFound: // the first turn has not come yet
			if err := s.exists(ctx); err != nil {
				return link{}, false, err
			}
			if err := pause(ctx, 2*glance); err != nil {
				return link{}, false, err
			}
		default:
			return link{}, false, fmt.Errorf("the link of hook %s: status %d %s", hook, r.status, r.Code)
		}
	}
}

// exists fails when nobody knows the run, whose start was acknowledged: then its story would go on for ever.
func (s *story) exists(ctx context.Context) error {
	r, err := s.load.callers.read(ctx, ask{method: "GET", path: runPath(s.run)}, s.rng)
	if err == nil && r.status == http.StatusNotFound {
		return violations{{s.run, "lost: its start was acknowledged, and nobody knows it"}}
	}
	return err
}

// rest waits up to so many milliseconds.
func (s *story) rest(ctx context.Context, atMost int) error {
	return pause(ctx, ms(s.rng.IntN(atMost)))
}
