package engine

import (
	"sync"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/internal/history"
)

// maxStuck is the number of abandoned calls of one workflow from which on the process stops claiming its runs.
const maxStuck = 8

// stuckCalls counts the abandoned calls whose goroutines have not ended. It is safe for concurrent use.
type stuckCalls struct {
	log zerolog.Logger

	mu        sync.Mutex
	runs      map[history.RunKey]int
	workflows map[string]int
}

func newStuckCalls(log zerolog.Logger) *stuckCalls {
	return &stuckCalls{log: log, runs: map[history.RunKey]int{}, workflows: map[string]int{}}
}

func (s *stuckCalls) enter(run history.RunKey, workflow string) {
	s.mu.Lock()
	s.runs[run]++
	s.workflows[workflow]++
	n := s.workflows[workflow]
	s.mu.Unlock()
	s.log.Warn().Str("workflow", workflow).Int("abandoned", n).Msg("a call of the workflow function was abandoned")
	if n == maxStuck {
		s.log.Error().Str("workflow", workflow).Int("abandoned", n).
			Msg("too many abandoned calls; this process stops claiming runs of the workflow")
	}
}

func (s *stuckCalls) leave(run history.RunKey, workflow string) {
	s.mu.Lock()
	s.runs[run]--
	if s.runs[run] == 0 {
		delete(s.runs, run)
	}
	s.workflows[workflow]--
	n := s.workflows[workflow]
	if n == 0 {
		delete(s.workflows, workflow)
	}
	s.mu.Unlock()
	if n == maxStuck-1 {
		s.log.Info().Str("workflow", workflow).Msg("this process claims runs of the workflow again")
	}
}

// has says whether an abandoned call of the run is still under way.
func (s *stuckCalls) has(run history.RunKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run] > 0
}

// full says whether runs of the workflow are not to be called.
func (s *stuckCalls) full(workflow string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workflows[workflow] >= maxStuck
}

// count is the number of abandoned calls of all workflows.
func (s *stuckCalls) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, of := range s.workflows {
		n += of
	}
	return n
}
