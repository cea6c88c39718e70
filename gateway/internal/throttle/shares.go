package throttle

import "sync"

// Shares bounds how much of something each key uses at once. Keys that use nothing take no room. It is safe for concurrent
// use.
type Shares[K comparable] struct {
	limit int
	mu    sync.Mutex
	used  map[K]int
}

// NewShares makes shares of this size for each key.
func NewShares[K comparable](limit int) *Shares[K] {
	return &Shares[K]{limit: limit, used: map[K]int{}}
}

// Take takes one of the key's share; it is false when the key uses all of it.
func (s *Shares[K]) Take(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[key] >= s.limit {
		return false
	}
	s.used[key]++
	return true
}

// Force takes one for a key that had one before, also beyond its share.
func (s *Shares[K]) Force(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[key]++
}

// Give gives one back.
func (s *Shares[K]) Give(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[key]--; s.used[key] <= 0 {
		delete(s.used, key)
	}
}

// Used is how much the key uses.
func (s *Shares[K]) Used(key K) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[key]
}

// Len is how many keys use something.
func (s *Shares[K]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used)
}
