package gateway

import "sync/atomic"

// slots bounds how many do something at once. Nobody waits for a slot: who finds none is told so.
type slots struct {
	limit int64
	used  atomic.Int64
}

func (s *slots) take() bool { return s.takeBut(0) }

// takeBut takes a slot unless that leaves fewer than some for others.
func (s *slots) takeBut(some int64) bool {
	if s.used.Add(1) > s.limit-some {
		s.used.Add(-1)
		return false
	}
	return true
}

// force takes a slot for who had one before, also beyond the limit.
func (s *slots) force() { s.used.Add(1) }

func (s *slots) give() { s.used.Add(-1) }
