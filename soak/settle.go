package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// open lists the runs that the ledger leaves open, with the status that they must come to rest in.
func open(entries []entry) map[string]engine.Status {
	runs, _ := gather(entries)
	found := map[string]engine.Status{}
	for id, f := range runs {
		if f.start == nil || !f.start.known {
			continue
		}
		if want := expectedOf(f); !want.status.Ended() {
			found[id] = want.status
		}
	}
	return found
}

// awaitQuiet waits until every run has ended but for those that stay open. It returns those that do not come to rest.
func awaitQuiet(
	ctx context.Context, c *callers, round int, want map[string]engine.Status, within time.Duration,
) ([]violation, error) {
	for deadline := time.Now().Add(within); ; {
		got := map[string]engine.Status{}
		for _, status := range []engine.Status{engine.StatusRunning, engine.StatusBlocked} {
			ids, err := listRuns(ctx, c, round, status)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				got[id] = status
			}
		}
		if maps.Equal(got, want) {
			return nil, nil
		}
		if time.Now().After(deadline) {
			return restless(got, want), nil
		}
		if err := pause(ctx, 10*glance); err != nil {
			return restless(got, want), err
		}
	}
}

// restless names runs that are not as they should be.
func restless(got, want map[string]engine.Status) []violation {
	var found []violation
	for id, status := range got {
		if want[id] != status {
			found = append(found, violation{id, fmt.Sprintf("is still %s, long after the last fault", status)})
		}
	}
	for id, status := range want {
		if _, there := got[id]; !there {
			found = append(found, violation{id, fmt.Sprintf("should be %s and is not", status)})
		}
	}
	slices.SortFunc(found, func(a, b violation) int { return strings.Compare(a.run, b.run) })
	return found
}

// sendAgain sends everything again that was said anything definite of, and something else under the identity of one in
// five: the ledger shows whether the verdicts stand.
func sendAgain(ctx context.Context, c *callers) error {
	all := map[string]message{}
	for id, m := range c.sent {
		if !m.bad { // such a message is no identity: once the run ended, that is what it is refused for
			all[id.String()] = m
		}
	}
	return each(ctx, all, func(ctx context.Context, key string, rng *rand.Rand) error {
		e, err := c.settle(ctx, all[key], rng)
		if other, can := all[key].otherwise(); err == nil && can && e.acknowledged() && rng.IntN(5) == 0 {
			_, err = c.settle(ctx, other, rng)
		}
		return err
	})
}

// sweep cancels the runs that stay open, so that they do not add up over the rounds, and checks that they are.
func sweep(ctx context.Context, c *callers, left map[string]engine.Status) ([]violation, error) {
	var found []violation
	rng := rand.New(rand.NewPCG(5, 5))
	for _, id := range slices.Sorted(maps.Keys(left)) {
		e, err := c.settle(ctx, cancelMessage(id), rng)
		if err != nil {
			return found, err
		}
		var r run
		if _, err := c.get(ctx, runPath(id), &r, rng); err != nil {
			return found, err
		}
		if e.Status != http.StatusAccepted || r.Status != engine.StatusCancelled {
			found = append(found, violation{id, fmt.Sprintf("cancelled: %s %s, and it is %s", e.Verdict, e.Code, r.Status)})
		}
	}
	return found, nil
}
