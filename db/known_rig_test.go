package db

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
)

// taking has a store hand the runs that its commits make due to its own AdvanceHanded.
func taking(c *Config) { c.Takes = func(Code) bool { return true } }

// knowsNothing has a store read what it decides on.
func knowsNothing(c *Config) { c.KnownRuns = -1 }

// acceptOn accepts a message on a store, which must not refuse it, and waits until its run may have a turn.
func (r *acceptRig) acceptOn(s *Store, m history.Message) {
	r.t.Helper()
	if _, err := s.Accept(context.Background(), m); err != nil {
		r.t.Fatalf("%T: %v", m, err)
	}
	r.stored(s)
}

// stored waits until the batches of a store are over: its turns wait for them.
func (r *acceptRig) stored(s *Store) {
	r.t.Helper()
	r.until("no message is being stored", func() bool {
		s.turning.mu.Lock()
		defer s.turning.mu.Unlock()
		for _, p := range s.turning.runs {
			if p.storing > 0 {
				return false
			}
		}
		return true
	})
}

// turnOn has the turn of one run on a store, whatever that would overlook.
func (r *acceptRig) turnOn(s *Store, run string, code author) {
	r.t.Helper()
	if done, err := s.AdvanceOne(context.Background(), by(code), keyOf(run)); err != nil || done.Committed != 1 {
		r.t.Fatalf("the turn of %s: %+v %v", run, done, err)
	}
}

// hand advances what was handed over on a store, which must not fail.
func (r *acceptRig) hand(s *Store, a Advance) Handed {
	r.t.Helper()
	r.stored(s)
	done, err := s.AdvanceHanded(r.t.Context(), a)
	if err != nil {
		r.t.Fatalf("advance what was handed over: %v", err)
	}
	return done
}

// withdraw takes back what was handed over.
func (s *Store) withdraw() {
	for _, h := range s.handed.take(handedRuns, func(history.RunKey) bool { return true }) {
		s.turning.begin(h.Run.Key, s.cfg.Clock())
		s.turning.end(h.Run.Key)
	}
}

// lane has a running store settle messages as one batch of its lane.
func (r *acceptRig) lane(s *Store, messages ...history.Message) []Answer {
	r.t.Helper()
	calls := make([]*call, len(messages))
	for i, m := range messages {
		calls[i] = &call{ctx: context.Background(), message: m, run: m.Target(), done: make(chan Answer, 1)}
	}
	rest, _ := s.settleKnown(calls)
	s.settle(rest, skipLocked)
	answers := make([]Answer, len(calls))
	for i, c := range calls {
		answers[i] = r.await(c.done)
	}
	return answers
}

// readings are answers as callers read them.
func readings(answers []Answer) (read []string) {
	for _, a := range answers {
		word := readingOf(a.Receipt.Verdict, a.Err)
		if a.Err == nil {
			word = fmt.Sprint(word, " at ", a.Receipt.Sequence)
		}
		if b := a.Receipt.Backlog; b != nil {
			word = fmt.Sprint(word, ", ", b.Unread, " of ", b.Limit)
		}
		read = append(read, word)
	}
	return read
}

// scheduled checks that the table of due runs is what the rows of runs say.
func (r *acceptRig) scheduled() {
	r.t.Helper()
	if got := value[string](r, `
		with want as (select workflow, version, wake_at, id as run, status = 'blocked' as blocked from runs where wake_at is not null),
		have as (select workflow, version, wake_at, run, blocked from due)
		select coalesce(string_agg(line, E'\n'), '') from (
			select 'missing: ' || w::text from (select * from want except all select * from have) w
			union all select 'too many: ' || h::text from (select * from have except all select * from want) h
		) as found (line)`); got != "" {
		r.t.Errorf("the table due differs from the runs:\n%s", got)
	}
}

// truthful checks that what a store keeps of runs is not ahead of what is committed.
func (r *acceptRig) truthful(s *Store) {
	r.t.Helper()
	stored := value[map[int64]int64](r, `select coalesce(jsonb_object_agg(id, next_seq), '{}') from runs`)
	s.states.mu.Lock()
	for id, e := range s.states.byRun {
		if held := e.Value.(cachedState).state; held.NextSeq() > stored[id] {
			r.t.Errorf("run row %d ends at %d, and a state of it is kept that ends at %d", id, stored[id], held.NextSeq())
		}
	}
	s.states.mu.Unlock()
	s.records.mu.Lock()
	defer s.records.mu.Unlock()
	for _, e := range s.records.byKey {
		if known := e.Value.(*storedRun); known.Run.NextSeq > stored[known.ID] {
			r.t.Errorf("%s ends at %d, and is known to end at %d", known.Run.Key.RunID, stored[known.ID], known.Run.NextSeq)
		}
	}
}

// twin is a store, with the run that it knows of each of its own: one decides on what it knows, the other reads.
type twin struct {
	*Store
	log    *statementLog
	name   string
	spoilt bool // the transaction that decides on what is known failed
}

// twins are two running stores and a third one that interferes with both.
type twins struct {
	*acceptRig
	sides []*twin
}

func newTwins(t testing.TB, change ...func(*Config)) *twins {
	t.Helper()
	p := &twins{acceptRig: running(t, change...)}
	p.sql(`create table orders (run_id text primary key)`) // runRows reads it
	for _, side := range []*twin{{name: "knows"}, {name: "reads"}} {
		side.log = &statementLog{}
		own := append([]func(*Config){taking}, change...) // who takes no turns soon knows little
		if side.name == "reads" {
			own = append(own, knowsNothing)
		}
		side.Store = p.traced(side.log, own...)
		side.notify.config = p.pool.Config().ConnConfig // hints are no statements of an accept
		p.start(side.Store)
		p.sides = append(p.sides, side)
	}
	return p
}

// run is the run of a side.
func (s *twin) run(id string) string { return at(s.name, id) }

// parked starts a run on a side and has its first turn there, so that the store knows it.
func (p *twins) parked(s *twin, id string, code author) {
	p.t.Helper()
	p.acceptOn(s.Store, p.startOf(s.run(id)))
	p.turnOn(s.Store, s.run(id), code)
}

// rows are those of the runs of a side.
func (p *twins) rows(s *twin) map[string]string {
	p.t.Helper()
	return (&faultRig{acceptRig: p.acceptRig}).runRows(s.name)
}

// same checks that both sides have the same rows, and that both are right.
func (p *twins) same() {
	p.t.Helper()
	(&faultRig{acceptRig: p.acceptRig}).same("what is known and what is read differ", p.rows(p.sides[0]), p.rows(p.sides[1]))
	p.consistent()
	p.scheduled()
	for _, s := range p.sides {
		p.truthful(s.Store)
	}
}

// knew says that the statements since the last look include one that decides on what is known, and one that reads what it
// decides on. What is known to be old spoils no transaction: others are in it.
func (s *twin) knew() (known, read bool) {
	names, _ := s.log.take()
	at := slices.IndexFunc(names, func(n string) bool {
		return slices.Contains([]string{"SignalKnown", "AcceptKnown", "ResumeKnown", "StartUnknown", "SettleKnown"}, n)
	})
	s.spoilt = at >= 0 && slices.Index(names[at:], "commit") < 0 || at >= 0 && slices.Contains(names[at:], "rollback") &&
		slices.Index(names[at:], "rollback") < slices.Index(names[at:], "commit")
	return at >= 0, slices.Contains(names, "LockRuns")
}

// decided checks what the messages of a case were decided on: what is known was enough, or it was tried. refused: the
// database refuses the case whole.
func (p *twins) decided(s *twin, name string, enough, tried, refused bool) {
	p.t.Helper()
	known, read := s.knew()
	if s.name == "reads" {
		enough, tried = false, false
	}
	if known != (enough || tried) || read == enough {
		p.t.Errorf("%s, by the store that %s: it decides on what it knows: %v, on what it reads: %v", name, s.name, known, read)
	}
	if s.spoilt != (tried && refused) {
		p.t.Errorf("%s, by the store that %s: the transaction that decides on what is known failed: %v", name, s.name, s.spoilt)
	}
}
