package db

import (
	"sync"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// identity is what a signal is known by.
type identity struct {
	run history.RunKey
	id  spec.SignalID
}

// identities remembers signals that this process accepted lately, so that a repeated one is not taken for new: it is
// judged by what is stored of it. It forgets the oldest half at a time. It is safe for concurrent use.
type identities struct {
	half int

	mu         sync.Mutex
	young, old map[identity]struct{}
}

func newIdentities(limit int) *identities {
	return &identities{half: max(limit/2, 1), young: map[identity]struct{}{}}
}

func (s *identities) add(run history.RunKey, id spec.SignalID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.young) >= s.half {
		s.old, s.young = s.young, make(map[identity]struct{}, s.half)
	}
	s.young[identity{run, id}] = struct{}{}
}

func (s *identities) has(run history.RunKey, id spec.SignalID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, young := s.young[identity{run, id}]
	_, old := s.old[identity{run, id}]
	return young || old
}
