package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/db"
)

// roundLength is how long things are broken before everything is checked.
const roundLength = time.Minute

// soak is one execution.
type soak struct {
	options
	dir     string
	from    time.Time
	db      *database
	cluster *cluster
	loaded  time.Duration // of all rounds
	tally   tally
	census  census
	elders  []elder
	doing   atomic.Pointer[string]
}

// violations is the error of a soak that found some.
type violations []violation

// Error names the first ones.
func (v violations) Error() string {
	lines := []string{fmt.Sprintf("%d violations", len(v))}
	for _, one := range v[:min(len(v), 40)] {
		lines = append(lines, "  "+one.String())
	}
	return strings.Join(lines, "\n")
}

// does says what the soak is at, for who waits for it.
func (s *soak) does(what string) { s.doing.Store(&what) }

func (s *soak) step() string {
	if what := s.doing.Load(); what != nil {
		return *what
	}
	return "begins"
}

// run brings the deployment up and soaks it round by round. It leaves no process behind.
func (s *soak) run(ctx context.Context) (err error) {
	defer func() {
		var found violations
		if err != nil && !errors.As(err, &found) {
			err = fmt.Errorf("while it %s: %w", s.step(), err)
		}
	}()
	s.does("starts PostgreSQL")
	if s.db, err = startDatabase(ctx, s.dir); err != nil {
		return err
	}
	defer func() { s.db.server.Kill() }()
	if err := db.Migrate(ctx, s.db.server.URL()); err != nil {
		return err
	}
	s.does("starts the processes")
	rng := rand.New(rand.NewPCG(s.seed, 0))
	if s.cluster, err = startCluster(ctx, s.dir, s.db, rng); err != nil {
		return err
	}
	defer s.cluster.close()
	if err := s.cluster.deploy(ctx, false); err != nil {
		return err
	}
	for n, begun := 1, time.Now(); ; n++ {
		left := s.length - time.Since(begun)
		if n > 1 && left < 5*time.Second {
			break
		}
		if err := s.round(ctx, n, min(max(left, 5*time.Second), roundLength), rng); err != nil {
			return err
		}
	}
	return s.end(ctx)
}

// round breaks things for a while and checks what is left. An end of a process that nobody asked for ends it.
func (s *soak) round(ctx context.Context, n int, length time.Duration, rng *rand.Rand) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case err := <-s.cluster.violated:
			cancel(err)
		case <-ended:
		}
	}()
	path := filepath.Join(s.dir, fmt.Sprintf("ledger-%03d.jsonl", n))
	l, err := openLedger(path, s.tally)
	if err != nil {
		return err
	}
	defer func() {
		s.tally = l.sums()
		_ = l.close() // every line was written before it counted
	}()
	c := newCallers(s.cluster, l)
	loaded := newLoad(c, s.seed, n)
	if err := s.breakThings(ctx, loaded, length, rng); err != nil {
		return fmt.Errorf("%w\n%s", err, loaded.waiting())
	}
	found, err := s.judge(ctx, c, loaded, n)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return violations(found)
	}
	s.elders = append(s.elders, chooseElders(c, rng)...)
	return s.tidy(path)
}

// tidy removes what a round wrote and was found to be right.
func (s *soak) tidy(ledger string) error {
	if s.keep {
		return nil
	}
	if err := s.cluster.forget(); err != nil {
		return err
	}
	return os.Remove(ledger)
}

// breakThings runs the load, and chaos beside it for the length of the round. Then it deploys what mends the broken
// workflows, and waits for the stories under way to end.
func (s *soak) breakThings(ctx context.Context, l *load, length time.Duration, rng *rand.Rand) error {
	if s.cluster.fixed.Load() {
		s.does("deploys the broken workflows again")
		if err := s.cluster.deploy(ctx, false); err != nil {
			return err
		}
	}
	s.does("breaks things")
	from := time.Now()
	breaking, calm := context.WithTimeout(ctx, length)
	defer calm()
	told := make(chan error, 1)
	go func() { told <- l.run(ctx, breaking.Done(), s.perSecond) }()
	go s.progress(breaking, l)
	c := &chaos{cluster: s.cluster, db: s.db, rng: rand.New(rand.NewPCG(rng.Uint64(), 6))}
	if err := c.run(breaking); err != nil {
		return err
	}
	s.loaded += time.Since(from)
	s.does("waits for the callers that are under way")
	if err := s.cluster.deploy(ctx, true); err != nil {
		return err
	}
	select {
	case err := <-told:
		return err
	case <-time.After(s.quiet):
		return fmt.Errorf("the callers are not done %s after the last fault", s.quiet)
	}
}

// judge waits for the runs to come to rest and compares them with the ledger.
func (s *soak) judge(ctx context.Context, c *callers, l *load, n int) ([]violation, error) {
	s.does("waits for the runs to come to rest")
	c.phase = phaseAgain
	left := open(c.ledger.read())
	found, err := awaitQuiet(ctx, c, n, left, s.quiet)
	if err != nil {
		return found, err
	}
	s.does("sends everything again")
	if err := sendAgain(ctx, c); err != nil {
		return nil, err
	}
	s.does("reads everything")
	w, err := look(ctx, c, n, c.ledger.read())
	if err != nil {
		return nil, err
	}
	s.does("compares")
	s.census.count(w)
	found = append(found, check(c.ledger.read(), w)...)
	secrets, err := s.readFiles(l.tokens)
	if err != nil {
		return nil, err
	}
	swept, err := sweep(ctx, c, left)
	return append(append(found, secrets...), swept...), err
}

// readFiles searches what the processes and PostgreSQL wrote.
func (s *soak) readFiles(known map[string]bool) ([]violation, error) {
	logs, err := s.cluster.logs()
	if err != nil {
		return nil, err
	}
	found, err := s.census.logged.readLogs(logs)
	if err != nil {
		return nil, err
	}
	if logs, err = s.db.logs(); err != nil {
		return nil, err
	}
	more, err := s.census.logged.readDatabaseLogs(logs)
	if err != nil {
		return nil, err
	}
	tokens, files, err := findTokens(s.dir, known)
	s.census.tokens += len(known)
	s.census.files = files
	return append(append(found, more...), tokens...), err
}

// end checks what outlives the rounds, and that the soak did what it is for.
func (s *soak) end(ctx context.Context) error {
	s.does("sends messages of earlier rounds again")
	found, err := s.askElders(ctx)
	if err != nil {
		return err
	}
	s.does("compares rows with events")
	if err := s.verify(ctx); err != nil {
		found = append(found, violation{"verify", err.Error()})
	}
	found = append(found, s.idle()...)
	if len(found) > 0 {
		return violations(found)
	}
	return nil
}
