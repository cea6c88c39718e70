package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// suite is the databases of one test binary.
type suite struct {
	server func() (*server, error) // starts at the first call
	asked  atomic.Bool             // that there was a first call
}

func newSuite(migrate Migrate) *suite {
	s := &suite{}
	start := sync.OnceValues(func() (*server, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		defer cancel()
		return open(ctx, migrate)
	})
	s.server = func() (*server, error) {
		s.asked.Store(true)
		return start()
	}
	return s
}

// open brings up a server, or takes the one the environment names, and makes the template of its databases.
func open(ctx context.Context, migrate Migrate) (*server, error) {
	var (
		s   *server
		err error
	)
	if url := os.Getenv("TEST_DATABASE_URL"); url != "" {
		s, err = bring(ctx, url)
	} else {
		s, err = throwAway(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := s.makeTemplate(ctx, migrate); err != nil {
		return nil, fmt.Errorf("%w%s", err, s.abandon(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// close stops what was started.
func (s *suite) close() error {
	if !s.asked.Load() {
		return nil
	}
	if server, err := s.server(); err == nil { // each test that asked has reported the error
		return server.close(context.Background())
	}
	return nil
}
