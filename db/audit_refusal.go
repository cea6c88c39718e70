package db

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// refusalRoom is how many refusals may wait to be written.
	refusalRoom = 1024
	// refusalBatch is how many are written together.
	refusalBatch = 256
	// refusalNews is how often it is logged, at most, that some were lost.
	refusalNews = time.Minute
)

// refusals is the line of refusals that are to be written to the audit trail. They change nothing and nobody waits for
// them, so they are written outside of any transaction of a message, and what finds no room is lost and counted.
type refusals struct {
	line chan AuditEntry
	lost atomic.Uint64
	said time.Time // when it was last logged; its owner's alone
	told uint64    // of what was lost, how much was logged
}

func newRefusals() *refusals { return &refusals{line: make(chan AuditEntry, refusalRoom)} }

// AuditRefusal has a refusal written to the audit trail soon, if one is kept. It never blocks. Texts that a row cannot hold
// are cut.
func (s *Store) AuditRefusal(ctx context.Context, e AuditEntry) {
	if !s.cfg.Audit {
		return
	}
	e.Trail = TrailOf(ctx)
	for _, text := range []*string{
		(*string)(&e.Namespace), (*string)(&e.RunID), &e.Name, &e.Identity, &e.Why, &e.Actor, &e.Source,
	} {
		*text = auditText(*text)
	}
	select {
	case s.refused.line <- e:
	default:
		s.refused.lost.Add(1)
	}
}

// AuditLost is how many refusals this process could not write to the audit trail.
func (s *Store) AuditLost() uint64 { return s.refused.lost.Load() }

// writeRefusals writes what is in the line until ctx ends, and then what is left of it: until the database does not take
// some, as nobody shall wait for the end of the process once for each batch.
func (s *Store) writeRefusals(ctx context.Context) {
	for {
		var next AuditEntry
		select {
		case next = <-s.refused.line:
		case <-ctx.Done():
			if len(s.refused.line) == 0 {
				return
			}
			next = <-s.refused.line // its only reader
		}
		if !s.writeBatch(next) && ctx.Err() != nil {
			s.refused.lost.Add(uint64(len(s.refused.line)))
			return
		}
	}
}

// writeBatch writes an entry with those that wait behind it, and says whether the database took them.
func (s *Store) writeBatch(first AuditEntry) bool {
	now := s.cfg.Clock()
	var rows auditRows
	for n, e := 1, first; ; n++ {
		rows.add(e)
		if n == refusalBatch || len(s.refused.line) == 0 {
			break
		}
		e = <-s.refused.line // its only reader
	}
	err := s.change(context.Background(), func(p *pipeline) { rows.queue(p) })
	if err != nil {
		s.refused.lost.Add(uint64(len(rows.params.Kinds)))
	}
	lost := s.refused.lost.Load()
	if lost > s.refused.told && now.Sub(s.refused.said) >= refusalNews {
		s.cfg.Log.Warn().Uint64("lost", lost-s.refused.told).Msg("refusals are missing from the audit trail: there was no room, or the database did not take them")
		s.refused.said, s.refused.told = now, lost
	}
	return err == nil
}
