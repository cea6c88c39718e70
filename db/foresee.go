package db

import (
	"errors"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
)

// foresee decides the calls of every run that can be decided on what is known. The others are left. What is foreseen is in
// key order.
func (s *Store) foresee(calls []*call) (all []*foreseen, rest []*call) {
	byRun := make(map[history.RunKey]*foreseen, len(calls))
	for _, c := range calls {
		f := byRun[c.run]
		if f == nil {
			f = s.foreseeRun(c)
			byRun[c.run] = f
			all = append(all, f)
		}
		f.calls = append(f.calls, c)
	}
	all = slices.DeleteFunc(all, func(f *foreseen) bool {
		if f.decide(s) {
			return false
		}
		rest = append(rest, f.calls...)
		return true
	})
	slices.SortFunc(all, func(a, b *foreseen) int { return a.Run.Key.Compare(b.Run.Key) })
	return all, rest
}

// foreseeRun begins with what is known of the run of a call, which may be nothing.
func (s *Store) foreseeRun(c *call) *foreseen {
	known, ok := s.records.get(c.run)
	if !ok {
		return &foreseen{}
	}
	rec := newRecord(known.ID, known.Run, time.Time{})
	rec.bare = known.bare
	return &foreseen{record: rec, known: known}
}

// decide reports whether all calls of the run can be told now.
func (f *foreseen) decide(s *Store) bool {
	if f.record == nil {
		return len(f.calls) == 1 && f.start(s)
	}
	if m, ok := f.calls[0].message.(*history.SettleTask); ok {
		return len(f.calls) == 1 && f.settleTask(s, m)
	}
	auth, ok := s.cfg.Authority(f.known.Run.SpecDigest)
	if !ok {
		return false
	}
	if m, ok := f.calls[0].message.(*history.ResumeHook); ok {
		return len(f.calls) == 1 && f.resume(s, m, auth)
	}
	for _, c := range f.calls {
		m, ok := c.message.(*history.SendSignal)
		if !ok || s.sent.has(m.Run, m.ID) || !f.takes(m, auth, s.cfg.Limits) {
			return false
		}
	}
	return len(f.Events) > 0
}

// takes reports whether a message is accepted, or repeats one that is accepted now.
func (f *foreseen) takes(m history.Message, auth history.Authority, limits history.Limits) bool {
	receipt, err := f.Accept(m, auth, limits, f.now)
	if _, differs := errors.AsType[*history.SignalConflictError](err); err != nil && !differs {
		return false
	}
	f.answers = append(f.answers, Answer{Receipt: receipt, Err: err})
	return true
}

// resume foresees the answer to a hook that was found by its token a moment ago.
func (f *foreseen) resume(s *Store, m *history.ResumeHook, auth history.Authority) bool {
	hook, ok := s.found.get(m.Run, m.HookID)
	if !ok || hook.State != history.StateActive {
		return false
	}
	f.Hooks[m.HookID], f.hook = hook, string(m.HookID)
	return f.takes(m, auth, s.cfg.Limits)
}

// settleTask foresees the outcome of a task that is no more than an event of its run.
func (f *foreseen) settleTask(s *Store, m *history.SettleTask) bool {
	if m.Begun == nil || m.Letter != nil {
		return false
	}
	f.Tasks[m.Task], f.task = *m.Begun, m
	return f.takes(m, nil, s.cfg.Limits) && len(f.Events) == 1
}

// start foresees the start of a run of which nothing is known.
func (f *foreseen) start(s *Store) bool {
	m, ok := f.calls[0].message.(*history.StartRun)
	if !ok || s.cfg.KnownRuns < 0 || m.Parent != nil {
		return false
	}
	f.record = newRecord(0, freshRun(m, time.Time{}), time.Time{})
	f.Fresh, f.fresh = true, true
	return f.takes(m, nil, s.cfg.Limits)
}
