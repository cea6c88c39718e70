package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// workers is the number of stories that are told at a time, which bounds the open runs: but for a few, every story
// brings its run to its end.
const workers = 48

// load tells stories, one after the other on each worker, until it is stopped. Every story is a run and its callers.
type load struct {
	callers *callers
	seed    uint64
	round   int
	pace    <-chan time.Time // a tick for each message

	next    atomic.Int64
	told    atomic.Int64
	skipped atomic.Int64 // answers that came too late to be given
	rare    map[string]*atomic.Int64

	mu     sync.Mutex
	tokens map[string]bool   // all that were handed out
	open   map[string]string // run to what its story waits for
}

func newLoad(c *callers, seed uint64, round int) *load {
	l := &load{
		callers: c, seed: seed, round: round, tokens: map[string]bool{}, open: map[string]string{},
		rare: map[string]*atomic.Int64{},
	}
	for _, p := range plots {
		l.rare[p.name] = &atomic.Int64{}
	}
	return l
}

// run begins stories until stop is closed, at most perSecond messages a second. It returns when every story has been told.
func (l *load) run(ctx context.Context, stop <-chan struct{}, perSecond int) error {
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	l.pace = ticker.C
	failed := make(chan error, workers)
	for range workers {
		go func() { failed <- l.work(ctx, stop) }()
	}
	var err error
	for range workers {
		if e := <-failed; err == nil {
			err = e
		}
	}
	return err
}

func (l *load) work(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
		if err := l.tell(ctx); err != nil {
			return err
		}
	}
}

// tell tells the next story. Its number and the seed make all its choices.
func (l *load) tell(ctx context.Context) error {
	n := l.next.Add(1)
	rng := rand.New(rand.NewPCG(l.seed, uint64(l.round)<<32|uint64(n)))
	p := l.choose(n, rng)
	s := &story{load: l, rng: rng, run: fmt.Sprintf("%s%05d-%s", roundPrefix(l.round), n, p.name)}
	l.note(s.run, "its first step")
	if err := p.tell(ctx, s); err != nil {
		return fmt.Errorf("story %s: %w", s.run, err)
	}
	l.told.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s.run)
	return nil
}

// roundPrefix begins the IDs of all runs of a round.
func roundPrefix(round int) string { return fmt.Sprintf("r%03d-", round) }

// choose takes each plot once, then picks by weight. One that would make too many runs that stay open gives way to the
// first.
func (l *load) choose(n int64, rng *rand.Rand) plot {
	if n <= int64(len(plots)) {
		l.rare[plots[n-1].name].Add(1)
		return plots[n-1]
	}
	at := rng.IntN(plotWeights)
	for _, p := range plots {
		if at -= p.weight; at >= 0 {
			continue
		}
		if p.atMost > 0 && l.rare[p.name].Add(1) > p.atMost {
			break
		}
		return p
	}
	return plots[0]
}

func (l *load) note(run, waitsFor string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[run] = waitsFor
}

// waiting names stories that are under way, and what they wait for.
func (l *load) waiting() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var some []string
	for _, run := range slices.Sorted(maps.Keys(l.open)) {
		if len(some) == 5 {
			break
		}
		some = append(some, run+" waits for "+l.open[run])
	}
	return fmt.Sprintf("%d stories are under way: %s", len(l.open), strings.Join(some, "; "))
}

func (l *load) keepToken(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens[token] = true
}
