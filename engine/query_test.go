package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

func TestQuery_in_every_state_of_a_run(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	for run, end := range map[spec.RunID]struct {
		how    string
		status engine.Status
		first  string
	}{
		"running": {"", engine.StatusRunning, "add-0"}, "blocked": {"block", engine.StatusBlocked, "add-0"},
		"completed": {"done", engine.StatusCompleted, "add-0"}, "failed": {"fail", engine.StatusFailed, "add-0"},
	} {
		r.startTally(run, "in")
		r.mustSend(run, "a", "add", 3)
		r.mustSend(run, "b", "add", 4)
		r.waiting(run, "end", "gate", "add-2")
		if end.how != "" {
			r.mustSend(run, "e", "end", end.how)
			r.until(run, string(end.status), func(s engine.Snapshot) bool { return s.Status == end.status })
		}
		if diff := cmp.Diff(sum{7, []string{"add-0", "add-1"}}, answerTo[sum](r, run, "total", floor{})); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		if diff := cmp.Diff(sum{4, []string{"add-1"}}, answerTo[sum](r, run, "total", floor{4})); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		if diff := cmp.Diff(sum{}, answerTo[sum](r, run, "total", floor{5})); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		got := answerTo[view](r, run, "view", "why")
		if got.Status != end.status || got.First != end.first || got.Run != "default/"+string(run) || string(got.Input) != `"in"` ||
			string(got.Arg) != `"why"` || got.Length != r.snapshot(run).HistoryLength {
			t.Errorf("%s: %+v", run, got)
		}
	}
}

func TestQuery_shows_the_current_generation(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	r.startTally("run", "in")
	r.mustSend("run", "a", "add", 3)
	r.mustSend("run", "s", "spare", 1)
	r.waiting("run", "end", "gate", "add-1")
	r.mustSend("run", "e", "end", "again")
	r.until("run", "continued", func(s engine.Snapshot) bool { return s.Generation == 2 && len(s.Waiting) == 3 })
	got := answerTo[view](r, "run", "view", nil)
	if got.Generation != 2 || string(got.Input) != `"next"` || got.Gate != "open" || strings.Join(got.Unread, " ") != "s" || got.First != "" {
		t.Errorf("got %+v", got)
	}
	if got := answerTo[sum](r, "run", "total", floor{}); got.Total != 0 {
		t.Errorf("it shows the waits of another generation: %+v", got)
	}
}

// A run whose code is broken takes no turn. What it accepted is there to be seen, undecided.
func TestQuery_shows_what_was_accepted_and_not_taken(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	r.startTally("run", nil)
	r.waiting("run", "add-0", "end", "gate")
	r.mustSend("run", "e", "end", "block")
	r.blocked("run")
	r.mustSend("run", "a", "add", 3)
	r.mustSend("run", "s", "spare", 3)
	if _, err := r.resume("run", "gate", "yes"); err != nil {
		t.Fatal(err)
	}
	got := answerTo[view](r, "run", "view", nil)
	if got.Status != engine.StatusBlocked || strings.Join(got.Unread, " ") != "a e s" || got.Gate != "answered" || string(got.Answer) != `"yes"` {
		t.Errorf("got %+v", got)
	}
	if got.First != "" {
		t.Errorf("the first to settle is %q, which is for a turn to fix", got.First)
	}
	if got := answerTo[sum](r, "run", "total", floor{}); got.Total != 0 {
		t.Errorf("a wait took a signal outside a turn: %+v", got)
	}
}

// Whoever has a receipt finds what it is for, however many ask and send at once.
func TestQuery_shows_all_that_was_accepted_before(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	r.startTally("run", nil)
	const senders, each = 6, 10
	var accepted atomic.Int64
	parallel(2*senders, func(i int) {
		for n := range each {
			if i < senders {
				r.mustSend("run", spec.SignalID(fmt.Sprintf("s%d-%d", i, n)), "add", 1)
				accepted.Add(1)
				continue
			}
			before := accepted.Load()
			seen := answerTo[view](r, "run", "view", nil)
			if got := int64(seen.Taken + len(seen.Unread)); got < before || got > senders*each {
				t.Errorf("%d signals after %d of %d", got, before, senders*each)
			}
		}
	})
	r.until("run", "through", func(s engine.Snapshot) bool { return s.UnreadSignals == 0 })
	if got := answerTo[sum](r, "run", "total", floor{}); got.Total != senders*each {
		t.Errorf("total %d", got.Total)
	}
}

func TestQuery_goes_on_during_a_turn(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, pgtest.New(t))
	cfg.CallBudget = patience
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := func(c *engine.Context) (engine.Decision, error) {
		if len(c.Signals("spare")) > 0 {
			entered <- struct{}{}
			<-leave
			return c.Complete(nil), nil
		}
		return tally(c)
	}
	r := idle(t, cfg)
	if err := r.Register(tallySpec, slow, tallyCode...); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.startTally("run", nil)
	r.mustSend("run", "a", "add", 3)
	r.waiting("run", "end", "gate", "add-1")
	r.mustSend("run", "s", "spare", nil)
	<-entered
	if got := answerTo[sum](r, "run", "total", floor{}); got.Total != 3 {
		t.Errorf("got %+v", got)
	}
	if got := answerTo[view](r, "run", "view", nil); got.Status != engine.StatusRunning || strings.Join(got.Unread, "") != "s" {
		t.Errorf("got %+v", got)
	}
	close(leave)
	r.completed("run")
}

// Queries change nothing, not even which hooks workflow code asked about, and lock no row.
func TestQuery_leaves_no_trace(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	r.startTally("run", nil)
	r.mustSend("run", "a", "add", 3)
	r.waiting("run", "end", "gate", "add-1")
	if _, err := r.resume("run", "gate", "yes"); err != nil {
		t.Fatal(err)
	}
	r.atRest("run")
	before := r.rows()
	for range 3 {
		answerTo[view](r, "run", "view", nil)
		answerTo[sum](r, "run", "total", floor{})
		for _, how := range []string{"panic", "error", "chan"} {
			if _, err := r.Query(r.ctx(), "run", "misbehave", encode(t, how)); err == nil {
				t.Errorf("%s: answered", how)
			}
		}
	}
	if diff := cmp.Diff(before, r.rows()); diff != "" {
		t.Error(diff)
	}
	// The code never asked about the hook, so the next generation gets its answer.
	r.mustSend("run", "e", "end", "again")
	r.until("run", "continued", func(s engine.Snapshot) bool { return s.Generation == 2 })
	if got := answerTo[view](r, "run", "view", nil); got.Gate != "answered" {
		t.Errorf("got %+v", got)
	}
}

// atRest waits until nothing is due in a run that has no deadline.
func (r *rig) atRest(run spec.RunID) {
	r.t.Helper()
	r.until(run, "at rest", func(engine.Snapshot) bool {
		var rests bool
		if err := r.pool.QueryRow(r.ctx(), "select wake_at is null from runs where run_id = $1", string(run)).Scan(&rests); err != nil {
			r.t.Fatal(err)
		}
		return rests
	})
}

// rows has every row that belongs to a run, with the transactions that wrote and locked it.
func (r *rig) rows() map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	for _, table := range []string{"runs", "events", "signals", "hooks", "specs", "spec_versions"} {
		rows, err := r.pool.Query(r.ctx(), fmt.Sprintf("select xmin::text || ' ' || xmax::text || ' ' || t::text from %s as t", table))
		if err != nil {
			r.t.Fatal(err)
		}
		for rows.Next() {
			var row string
			if err := rows.Scan(&row); err != nil {
				r.t.Fatal(err)
			}
			all[table] = append(all[table], row)
		}
		if rows.Err() != nil || table != "hooks" && table != "signals" && len(all[table]) == 0 {
			r.t.Fatalf("%s: %v", table, rows.Err())
		}
	}
	return all
}

func TestQuery_refuses(t *testing.T) {
	t.Parallel()
	r := tallyRig(t)
	r.startTally("run", 1000)
	other, err := r.Namespace("other")
	if err != nil {
		t.Fatal(err)
	}
	is := func(kind error) func(error) bool { return func(err error) bool { return errors.Is(err, kind) } }
	for name, tc := range map[string]struct {
		h       *engine.Handle
		run     spec.RunID
		query   string
		arg     string
		want    func(error) bool
		verdict engine.Verdict
	}{
		"an unknown run":                {r.Handle, "nobody", "view", `1`, is(engine.ErrRunNotFound), engine.VerdictUnknown},
		"another namespace":             {other, "run", "view", `1`, is(engine.ErrRunNotFound), engine.VerdictUnknown},
		"an undeclared query":           {r.Handle, "run", "views", `1`, is(engine.ErrQueryUndeclared), engine.VerdictUnknown},
		"a signal's name":               {r.Handle, "run", "add", `1`, is(engine.ErrQueryUndeclared), engine.VerdictUnknown},
		"a bad run ID":                  {r.Handle, "", "view", `1`, kind[*engine.InvalidError], engine.VerdictInvalid},
		"no name":                       {r.Handle, "run", "", `1`, kind[*engine.InvalidError], engine.VerdictInvalid},
		"a long name":                   {r.Handle, "run", strings.Repeat("x", 256), `1`, kind[*engine.InvalidError], engine.VerdictInvalid},
		"an empty argument":             {r.Handle, "run", "view", ``, kind[*engine.PayloadError], engine.VerdictInvalid},
		"a repeated key":                {r.Handle, "run", "view", `{"a":1,"a":1}`, kind[*engine.PayloadError], engine.VerdictInvalid},
		"too much":                      {r.Handle, "run", "view", `"` + strings.Repeat("x", 256<<10) + `"`, is(engine.ErrPayloadTooLarge), engine.VerdictInvalid},
		"an argument against its rules": {r.Handle, "run", "total", `{"floor":-1}`, violation("/floor"), engine.VerdictInvalid},
		"null where an object is due":   {r.Handle, "run", "total", `null`, violation(""), engine.VerdictInvalid},
		"one that does not fit":         {r.Handle, "run", "misbehave", `{"a":1}`, violation(""), engine.VerdictInvalid},
		"a violation by the handler":    {r.Handle, "run", "misbehave", `"violation"`, violation("/a"), engine.VerdictInvalid},
		"the handler's error":           {r.Handle, "run", "misbehave", `"error"`, refused("no answer to this"), engine.VerdictInvalid},
		"an error without a violation":  {r.Handle, "run", "misbehave", `"no violation"`, kind[*engine.QueryRefusedError], engine.VerdictInvalid},
		"a panic":                       {r.Handle, "run", "misbehave", `"panic"`, fault(engine.QueryPanicked), engine.VerdictBusy},
		"an end of the goroutine":       {r.Handle, "run", "misbehave", `"exit"`, fault(engine.QueryPanicked), engine.VerdictBusy},
		"a panicking error":             {r.Handle, "run", "misbehave", `"panicking error"`, fault(engine.QueryPanicked), engine.VerdictBusy},
		"a panicking JSON":              {r.Handle, "run", "misbehave", `"panicking JSON"`, fault(engine.QueryPanicked), engine.VerdictBusy},
		"an answer without JSON":        {r.Handle, "run", "misbehave", `"chan"`, fault(engine.QueryMisanswers), engine.VerdictBusy},
		"an answer that is too large":   {r.Handle, "run", "misbehave", `"large"`, fault(engine.QueryMisanswers), engine.VerdictBusy},
		"a decision":                    {r.Handle, "run", "misbehave", `"decision"`, fault(engine.QueryMisanswers), engine.VerdictBusy},
		"an answer against its schema":  {r.Handle, "run", "promise", `null`, fault(engine.QueryMisanswers), engine.VerdictBusy},
		"an input that does not decode": {r.Handle, "run", "narrow", `null`, fault(engine.QueryUnreadable), engine.VerdictBusy},
	} {
		got, err := tc.h.Query(r.ctx(), tc.run, tc.query, []byte(tc.arg))
		if got != nil || err == nil || !tc.want(err) || engine.VerdictOf(err) != tc.verdict {
			t.Errorf("%s: %s, %T %v, verdict %s", name, got, err, err, engine.VerdictOf(err))
		}
	}
	if text, err := r.Query(r.ctx(), "run", "view", nil); err != nil || !strings.Contains(string(text), `"arg":null`) {
		t.Errorf("no argument: %s %v", text, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Query(ended, "run", "view", nil); engine.VerdictOf(err) != engine.VerdictBusy {
		t.Errorf("a caller that left: %v", err)
	}
}

func violation(at string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*engine.SchemaError](err)
		return ok && len(e.Violations) > 0 && e.Violations[0].Pointer == at && e.Violations[0].Message != ""
	}
}

func refused(reason string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*engine.QueryRefusedError](err)
		return ok && e.Reason == reason
	}
}

func fault(want engine.QueryFault) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*engine.QueryFailedError](err)
		return ok && e.Fault == want && e.Diagnosis != "" && e.Query != ""
	}
}

// A run is asked through the code of the version it was started with; a process that has it not says so.
func TestQuery_needs_the_code_of_the_version(t *testing.T) {
	t.Parallel()
	first := tallyRig(t)
	first.startTally("old", nil)
	newer := tallySpec
	newer.Version = "2"
	newer.Queries = []spec.Query{{Name: "view"}, {Name: "fresh"}}
	code := []engine.CodeOption{
		engine.OnQuery("view", askView), engine.OnQuery("fresh", func(*engine.QueryContext) (any, error) { return "2", nil }),
	}
	second := idle(t, testConfig(t, first.pool))
	if err := second.Register(newer, tally, code...); err != nil {
		t.Fatal(err)
	}
	second.run()
	second.start(workflow{newer, tally}, "new", nil)
	if got := answerTo[string](second, "new", "fresh", nil); got != "2" {
		t.Errorf("got %q", got)
	}
	if got := answerTo[view](first, "old", "view", nil); got.Version != "1" {
		t.Errorf("got %+v", got)
	}
	gate := idle(t, testConfig(t, first.pool)) // no code, and not running
	for name, tc := range map[string]struct {
		r     *rig
		run   spec.RunID
		query string
		want  error
	}{
		"the older version":               {second, "old", "view", engine.ErrCodeMissing},
		"the newer version":               {first, "new", "view", engine.ErrCodeMissing},
		"no code":                         {gate, "new", "view", engine.ErrCodeMissing},
		"what the older one did not have": {second, "old", "fresh", engine.ErrQueryUndeclared},
		"undeclared, without code":        {gate, "old", "fresh", engine.ErrQueryUndeclared},
	} {
		if _, err := tc.r.Query(tc.r.ctx(), tc.run, tc.query, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := gate.Query(gate.ctx(), "old", "total", json.RawMessage(`[]`)); !violation("")(err) {
		t.Errorf("an argument against its schema, without code: %v", err)
	}
}
