package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// heldAt is where a move is held: before its nth statement, from 1.
type heldAt struct {
	n    int
	kind pgfault.Kind
}

// staging is one way to interleave the moves of a duel.
type staging struct {
	order   []int          // in which the moves begin, each when the one before it cannot go on
	holds   map[int]heldAt // of some moves
	release []int          // in which the held ones go on
}

// bout is a duel that is fought once.
type bout struct {
	*ring
	staging  staging
	run      string
	verdicts []string
	done     []chan struct{}
	faults   []*pgfault.Fault
	released []bool
	end      string // the verdicts, and the events since
}

// play fights the duel once.
func (r *ring) play(p staging) *bout {
	r.t.Helper()
	b := r.begin()
	b.staging = p
	since := r.nextSeqs(b.run)
	for _, k := range p.order {
		h, held := p.holds[k]
		if !held {
			h.kind = pgfault.Hold // at no statement
		}
		b.faults[k] = r.corners[k].breaker.At(h.n, h.kind, "")
		go b.move(k)
		b.settled(k)
		if r.duel.reads && k == 1 && !held && !b.over(k) {
			r.t.Errorf("%s: a read waits", b.held())
		}
	}
	for _, k := range p.release {
		b.settled(k)
		b.faults[k].Release()
		b.released[k] = true
		b.settled(k)
	}
	for k := range b.done {
		select {
		case <-b.done[k]:
		case <-time.After(hangs):
			b.hung(k)
		}
		r.corners[k].breaker.Clear()
		if r.corners[k].circles.Swap(0) > 0 {
			r.t.Errorf("%s: move %d waited in a circle", b.held(), k)
		}
	}
	r.finish(b.run)
	b.end = strings.Join(append(slices.Clone(b.verdicts), b.story(since)), " | ")
	return b
}

// boutLength is how long the name of a bout is.
const boutLength = len("r0001")

// boutName is what the IDs of the runs of a bout begin with.
func boutName(n int) string { return fmt.Sprintf("r%04d", n) }

func (r *ring) begin() *bout {
	r.t.Helper()
	r.n++
	n := len(r.duel.moves)
	b := &bout{
		ring: r, run: boutName(r.n), verdicts: make([]string, n), done: make([]chan struct{}, n),
		faults: make([]*pgfault.Fault, n), released: make([]bool, n),
	}
	for k := range b.done {
		b.done[k] = make(chan struct{})
	}
	if r.stopped {
		r.setClock(r.late().Add(-duelDeadline))
		r.turns() // of runs of earlier bouts whose deadline is past
	}
	if r.duel.prepare != nil {
		r.duel.prepare(r, b.run)
	} else {
		r.ok(r.startOf(b.run))
		r.turn(r.preparer())
	}
	return b
}

// preparer is the store that has the first turns of a duel: by turns, so that the states that others keep are once of the
// run as it is, once of the run as it was, and once not there.
func (r *ring) preparer() *Store {
	if k := r.n % (len(r.duel.moves) + 1); k < len(r.duel.moves) {
		return r.corners[k].store
	}
	return r.Store
}

func (b *bout) move(k int) {
	defer close(b.done[k])
	b.verdicts[k] = b.duel.moves[k](&contestant{ring: b.ring, corner: b.corners[k], run: b.run})
}

func (b *bout) over(k int) bool {
	select {
	case <-b.done[k]:
		return true
	default:
		return false
	}
}

// settled waits until a move is over, or waits for a lock, or is held and the server has done all that came before.
func (b *bout) settled(k int) {
	b.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(hangs); !b.still(k); {
		select {
		case <-tick.C:
		case <-end:
			b.hung(k)
		}
	}
}

// hangs is after how long a move is said to hang: more than any patience of the store.
const hangs = 20 * time.Second

func (b *bout) still(k int) bool {
	b.t.Helper()
	sent := ""
	switch f := b.faults[k]; {
	case b.over(k):
		return true
	case f.Happened() && !b.released[k]:
		if sent = f.Sent(); sent == "" {
			return true
		}
	}
	return value[bool](b.acceptRig, `select coalesce(bool_or(wait_event_type = 'Lock'
			or state = 'active' and wait_event = 'ClientRead' and query <> '' and starts_with($2, query)), false)
		from pg_stat_activity where datname = current_database() and application_name = $1`, b.corners[k].name, sent)
}

// hung fails the test with what the sessions of all moves are at, and lets go of them.
func (b *bout) hung(k int) {
	b.t.Helper()
	sessions := value[string](b.acceptRig, `select string_agg(concat_ws(' ', application_name, state, wait_event_type,
			wait_event, left(query, 60)), E'\n') from pg_stat_activity where datname = current_database() and application_name like 'corner %'`)
	held := b.held()
	for k, f := range b.faults {
		if f != nil {
			b.corners[k].breaker.Clear()
		}
	}
	b.t.Fatalf("%s: move %d hangs:\n%s", held, k, sessions)
}

// held says where the moves were held.
func (b *bout) held() string {
	var at []string
	for k, f := range b.faults {
		if f != nil && f.Happened() {
			name, _, _ := strings.Cut(strings.TrimPrefix(f.SQL(), "-- name: "), "\n")
			at = append(at, fmt.Sprintf("move %d %s at %s", k, b.staging.holds[k].kind, name))
		}
	}
	if at == nil {
		return "one after the other"
	}
	return strings.Join(at, "; ")
}

// finish has all turns that are due, and lets blocked runs go on. No run may sleep beside what it was told.
func (r *ring) finish(run string) {
	r.t.Helper()
	r.turns()
	if blocked := r.runs(run, `status = 'blocked'`); len(blocked) > 0 && !r.duel.asleep {
		for _, id := range blocked {
			r.ok(&history.RetryRun{Run: keyOf(id)})
		}
		r.turns()
	}
	for _, id := range r.runs(run, `status = 'running' and exists (
			select from events e where e.run = runs.id and e.seq = runs.next_seq - 1 and e.data ->> 'by_code' is null
				and e.type in ('run.started', 'signal.received', 'hook.resumed', 'hook.disposed', 'run.cancel_requested'))`) {
		r.t.Errorf("%s sleeps beside a message", id)
	}
}

func (r *ring) turns() {
	r.t.Helper()
	r.drain(r.turnsOf())
}

// turn has one claim, which must not fail.
func (r *ring) turn(on *Store) {
	r.t.Helper()
	if _, err := on.Advance(context.Background(), r.turnsOf()); err != nil {
		r.t.Fatal(err)
	}
}

// turnsOf has turns of the duel's code, in the versions that there are.
func (r *ring) turnsOf() Advance {
	a := r.calls.watch(by(r.duel.code))
	a.Codes = []Code{{Workflow: "invoice", Version: "1"}, {Workflow: "invoice", Version: "2"}}
	return a
}

// runs lists runs of a duel in their order.
func (r *ring) runs(prefix, condition string) []string {
	r.t.Helper()
	return value[[]string](r.acceptRig, `select coalesce(array_agg(run_id order by run_id), '{}') from runs
		where starts_with(run_id, $1) and `+condition, prefix)
}

// nextSeqs are the seqs at which the events since begin, by run.
func (r *ring) nextSeqs(prefix string) map[string]int64 {
	r.t.Helper()
	return value[map[string]int64](r.acceptRig, `select coalesce(jsonb_object_agg(run_id, next_seq), '{}') from runs
		where starts_with(run_id, $1)`, prefix)
}

// story is the events of a duel's runs since some seqs, each run's after what its ID adds to the duel's name.
func (b *bout) story(since map[string]int64) string {
	b.t.Helper()
	all := value[map[string]string](b.acceptRig, `
		select coalesce(jsonb_object_agg(substr(r.run_id, length($1) + 1), e.types), '{}')
		from runs r cross join lateral (
			select coalesce(string_agg(e.type, ' ' order by e.seq), '') as types from events e
			where e.run = r.id and e.seq >= coalesce(($2::jsonb ->> r.run_id)::bigint, 1)
		) e where starts_with(r.run_id, $1)`, b.run, since)
	if only, ok := all[""]; ok && len(all) == 1 {
		return only
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, id+": "+all[id])
	}
	return strings.Join(parts, "; ")
}

// verdictOf is an answer in a word.
func verdictOf(receipt history.Receipt, err error) string {
	var closed *history.HookClosedError
	var signal *history.SignalConflictError
	var update *history.UpdateConflictError
	var hook *history.HookConflictError
	var run *history.RunConflictError
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return string(receipt.Verdict)
	case errors.As(err, &signal), errors.As(err, &update), errors.As(err, &hook), errors.As(err, &run):
		return "conflict"
	case errors.As(err, &closed):
		return "gone: " + string(closed.Cause)
	case errors.Is(err, history.ErrRunEnded):
		return "gone"
	case errors.As(err, &pg):
		return err.Error() + " (" + pg.Code + ")"
	}
	return err.Error()
}
