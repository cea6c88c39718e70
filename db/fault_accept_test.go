package db

import (
	"context"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
	"github.com/flowgate-go/flowgate/spec"
)

// message is a message to a run of its name, for the fault at every statement of its acceptance.
type message struct {
	name    string
	before  was
	of      func(f *faultRig, run string) history.Message
	token   bool // the caller has a token and no IDs
	again   string
	batched bool // it is not tried alone, as it differs from another one in nothing that is sent
	atLeast int
	finally string
}

// was is a run as it is before a message comes.
type was int

const (
	absent was = iota
	started
	cooperative // started under a spec that leaves the end of a cancelled run to its code
	blocked     // for long
	stepHeld    // its step is held
)

// prepare makes the runs that messages go to, and lets them take their first turns.
func (f *faultRig) prepare(prefix string, all ...message) {
	f.t.Helper()
	var starts []history.Message
	for _, m := range all {
		start := f.startOf(at(prefix, m.name))
		if m.before == cooperative {
			start.SpecDigest = coopSpec
		}
		if m.before != absent {
			starts = append(starts, start)
		}
	}
	f.acceptAll(starts)
	for _, m := range all {
		if m.before == blocked {
			f.blockFor(at(prefix, m.name))
		}
	}
	f.turns(f.fresh(), faultAuthor)
	f.sql(`update tasks set worker = 'w' where kind = 'step' and worker is null and not held`) // somebody is at work on each
	var holds []history.Message
	for _, m := range all {
		if m.before == stepHeld {
			letter := history.Letter{Failure: history.Failure{Reason: history.FailedExhausted}}
			holds = append(holds, &history.HoldTask{Run: keyOf(at(prefix, m.name)), Task: theStep, Letter: letter})
		}
	}
	f.acceptAll(holds)
}

// blockFor blocks a run that has just started, for an hour.
func (f *faultRig) blockFor(run string) {
	f.t.Helper()
	if err := f.Block(context.Background(), keyOf(run), 2, history.BlockPanic, "nil map"); err != nil {
		f.t.Fatal(err)
	}
	f.sql(`update runs set wake_at = now() + interval '1 hour' where run_id = $1`, run)
}

// faultMessages are all messages there are.
func faultMessages() []message {
	return []message{
		{
			name: "start", atLeast: 7, finally: "run.started wait.opened",
			of: func(f *faultRig, run string) history.Message { return f.startOf(run) },
		},
		{
			name: "signal with start", atLeast: 8, finally: "run.started signal.received wait.opened wait.completed run.completed",
			of: func(f *faultRig, run string) history.Message { return f.signalAndStart(run, "s", `{"n":1}`) },
		},
		{
			name: "signal with a start of what is there", before: started, atLeast: 9,
			finally: "run.started wait.opened signal.received wait.completed run.completed",
			of:      func(f *faultRig, run string) history.Message { return f.signalAndStart(run, "s", `{"n":1}`) },
		},
		{
			name: "signal", before: started, atLeast: 9,
			finally: "run.started wait.opened signal.received wait.completed run.completed",
			of:      func(f *faultRig, run string) history.Message { return f.signal(run, "s", `{"n":1}`) },
		},
		{
			name: "update", before: started, atLeast: 9,
			finally: "run.started wait.opened update.received update.completed",
			of:      func(f *faultRig, run string) history.Message { return f.update(run, "u", `{"n":1}`) },
		},
		{
			name: "update with start", atLeast: 8, finally: "run.started update.received wait.opened update.completed",
			of: func(f *faultRig, run string) history.Message { return f.updateAndStart(run, "u", `{"n":1}`) },
		},
		{
			name: "resume", before: started, batched: true,
			finally: "run.started hook.created hook.resumed run.completed",
			of:      func(f *faultRig, run string) history.Message { return f.resume(run, "h", `{"n":1}`) },
		},
		{
			name: "resume by token", before: started, token: true, atLeast: 11,
			finally: "run.started hook.created hook.resumed run.completed",
			of: func(f *faultRig, run string) history.Message {
				m := f.resume(run, "h", `{"n":1}`)
				m.ByToken = true
				return m
			},
		},
		{
			name: "dispose", before: started, batched: true,
			finally: "run.started hook.created hook.disposed run.completed",
			of: func(_ *faultRig, run string) history.Message {
				return &history.DisposeHook{Run: keyOf(run), HookID: "h"}
			},
		},
		{
			name: "dispose by token", before: started, batched: true,
			finally: "run.started hook.created hook.disposed run.completed",
			of: func(_ *faultRig, run string) history.Message {
				return &history.DisposeHook{Run: keyOf(run), HookID: "h", ByToken: true}
			},
		},
		{
			name: "cancel", before: started, atLeast: 9,
			finally: "run.started hook.created hook.created wait.opened run.cancel_requested hook.closed hook.closed run.cancelled",
			of:      func(_ *faultRig, run string) history.Message { return &history.CancelRun{Run: keyOf(run)} },
		},
		{
			name: "ask to cancel", before: cooperative, batched: true,
			finally: "run.started hook.created hook.created wait.opened run.cancel_requested wait.withdrawn hook.closed hook.closed run.cancelled",
			of:      func(_ *faultRig, run string) history.Message { return &history.CancelRun{Run: keyOf(run)} },
		},
		{
			name: "terminate", before: cooperative, batched: true,
			finally: "run.started hook.created hook.created wait.opened run.cancel_requested hook.closed hook.closed run.cancelled",
			of: func(_ *faultRig, run string) history.Message {
				return &history.CancelRun{Run: keyOf(run), Terminate: true}
			},
		},
		{
			name: "retry", before: blocked, again: acceptedWord, atLeast: 6, finally: "run.started run.blocked run.unblocked wait.opened",
			of: func(_ *faultRig, run string) history.Message { return &history.RetryRun{Run: keyOf(run)} },
		},
		{
			name: "settle", before: started, again: taskClosed, atLeast: 9,
			finally: "run.started step.scheduled step.completed run.completed",
			of: func(_ *faultRig, run string) history.Message {
				return &history.SettleTask{Run: keyOf(run), Task: theStep, Output: null}
			},
		},
		{
			name: "let fail", before: started, again: taskClosed, batched: true,
			finally: "run.started step.scheduled step.failed run.failed",
			of: func(_ *faultRig, run string) history.Message {
				f := &history.Failure{Reason: history.FailedExhausted}
				return &history.SettleTask{Run: keyOf(run), Task: theStep, Failure: f, Letter: &history.Letter{Failure: *f}}
			},
		},
		{
			name: "hold", before: started, again: staleAttempt, atLeast: 8, finally: "run.started step.scheduled",
			of: func(_ *faultRig, run string) history.Message {
				return &history.HoldTask{Run: keyOf(run), Task: theStep, Letter: history.Letter{Failure: history.Failure{Reason: history.FailedExhausted}}}
			},
		},
		{
			name: "replay", before: stepHeld, again: taskClosed, batched: true, finally: "run.started step.scheduled",
			of: func(_ *faultRig, run string) history.Message {
				return &history.ReplayTask{Run: keyOf(run), Task: theStep}
			},
		},
		{
			name: "discard", before: stepHeld, again: taskClosed, atLeast: 9,
			finally: "run.started step.scheduled step.failed run.failed",
			of: func(_ *faultRig, run string) history.Message {
				return &history.DiscardTask{Run: keyOf(run), Task: theStep}
			},
		},
		{
			name: "cancel with tasks", before: started, atLeast: 9,
			finally: "run.started step.scheduled child.requested child.requested call.signal_requested run.cancel_requested " +
				"child.released child.released step.cancelled run.cancelled",
			of: func(_ *faultRig, run string) history.Message { return &history.CancelRun{Run: keyOf(run)} },
		},
	}
}

// theStep is that of a run of stepping.
var theStep = history.TaskKey{Generation: 1, Kind: history.TaskStep, ID: "s"}

// What is read of what is over.
var taskClosed, staleAttempt = history.ErrTaskClosed.Error(), history.ErrStaleAttempt.Error()

// withTasks has a task of every kind open.
func withTasks(s *history.State) history.Decision {
	run := string(s.Key().RunID)
	return decide(stepOf("s"), childOf("c", run+"-c", history.ChildTerminate), childOf("d", run+"-d", history.ChildAbandon), callOf("k", run+"-k"))
}

// tokenOf is the token of a run's hook.
func tokenOf(run, hook string) string { return run + " " + hook }

// faultAuthor is the code of all runs of the fault tests; what it does depends on the run's name.
func faultAuthor(s *history.State) history.Decision {
	run := string(s.Key().RunID)
	hook := func(id string) history.Command { return hookOn(id, tokenOf(run, id)) }
	switch suffix(s) {
	case "resume", "resume by token", "dispose", "dispose by token":
		switch h := s.Hook("h"); h.State {
		case history.StateResumed:
			return decide(&history.Complete{Output: h.Payload})
		case history.StateDisposed:
			return decide(&history.Complete{Output: null})
		}
		h := hook("h").(*history.CreateHook)
		h.Name = "disposable"
		return decide(h)
	case "settle", "let fail", "hold", "replay", "discard":
		return stepping(s)
	case "cancel with tasks":
		return withTasks(s)
	case "cancel", "ask to cancel", "terminate":
		if s.CancelRequested() {
			return decide(&history.AcceptCancel{})
		}
		return decide(hook("h"), hook("i"), wait("w"))
	}
	if code, ok := turnAuthors[suffix(s)]; ok {
		return code(s)
	}
	return approval(s)
}

// acceptWant says what the caller of one message may read when one statement of its transaction failed. batch: there are
// others in the transaction, so that it is decided again in parts.
func acceptWant(batch bool) func(met, faultCall) []string {
	return func(m met, c faultCall) []string {
		lookedUp := m.begun() || m.late
		switch {
		case m.kind == pgfault.Hold:
			return []string{c.first, c.again}
		case m.sql == "rollback": // of a transaction that had nothing to write: it was decided by then
			return []string{c.first}
		case m.late && c.first == unknownRun: // nothing to lock, so nothing to wait for
			return []string{c.first}
		case m.late:
			return []string{unavailableWord}
		case !lookedUp && m.kind == pgfault.Refuse:
			return []string{refusedWith(m.state)}
		case !lookedUp: // what only reads is not tried again
			return []string{unavailableWord}
		case m.kind == pgfault.Refuse && (m.state == "55P03" || batch && m.state == "23514"):
			return []string{c.first}
		case m.kind == pgfault.Refuse:
			return []string{refusedWith(m.state)}
		case (m.kind == pgfault.LoseAfter || m.kind == pgfault.Detach) && isCommit(m.sql):
			return []string{c.again}
		}
		return []string{c.first}
	}
}

const unknownRun = "run not found"

// Each message alone.
func TestFaultAtEveryStatementOfAMessage(t *testing.T) {
	t.Parallel()
	for _, m := range faultMessages() {
		if m.batched {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			again := m.again
			if again == "" {
				again = duplicateWord
			}
			testEveryStatement(t, faultCase{
				calls:  []faultCall{{run: m.name, first: acceptedWord, again: again}},
				first:  func(f *faultRig) { f.patient.cfg.KnownRuns = -1 }, // it reads what it judges by
				before: func(f *faultRig, prefix string) { f.prepare(prefix, m) },
				act: func(f *faultRig, s *Store, prefix string) []string {
					return []string{m.deliver(f, s, at(prefix, m.name))}
				},
				after:   func(f *faultRig, _ string) { f.turns(f.fresh(), faultAuthor) },
				want:    acceptWant(false),
				ways:    slices.Concat(lostWays[:1], lateWays, refusedWays("23514", "40001", "55P03")),
				atLeast: m.atLeast, finally: map[string]string{m.name: m.finally},
			})
		})
	}
}

// Messages that change nothing: a repetition, a conflict and one to a run that has ended.
func TestFaultAtEveryStatementOfWhatChangesNothing(t *testing.T) {
	t.Parallel()
	const run = "cancel"
	for word, of := range map[string]func(f *faultRig, run string) history.Message{
		duplicateWord: func(f *faultRig, run string) history.Message { return f.signal(run, "s", "1") },
		"signal ID was accepted with another payload": func(f *faultRig, run string) history.Message { return f.signal(run, "s", "2") },
		"run ended": func(f *faultRig, run string) history.Message { return f.signal(run, "t", "1") },
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			m := message{name: run, before: started, of: of}
			testEveryStatement(t, faultCase{
				calls: []faultCall{{run: run, first: word, again: word}},
				before: func(f *faultRig, prefix string) {
					f.prepare(prefix, m)
					f.ok(f.signal(at(prefix, run), "s", "1"))
					f.ok(&history.CancelRun{Run: keyOf(at(prefix, run))})
				},
				act:   func(f *faultRig, s *Store, prefix string) []string { return []string{m.deliver(f, s, at(prefix, run))} },
				after: func(*faultRig, string) {}, want: acceptWant(false), atLeast: 6, idle: true,
				ways: slices.Concat(lostWays[:1], lateWays[:2], refusedWays("23514")),
			})
		})
	}
}

// deliver sends the message as its caller would.
func (m message) deliver(f *faultRig, s *Store, run string) string {
	ctx := context.Background()
	if m.token {
		hook, err := s.ResolveToken(ctx, []history.TokenDigest{digestOf("of no hook"), digestOf(tokenOf(run, "h"))})
		if err != nil {
			return readingOf("", err)
		}
		if hook.Run != keyOf(run) || hook.ID != spec.HookID("h") {
			return "another hook"
		}
	}
	receipt, err := s.Accept(ctx, m.of(f, run))
	return readingOf(receipt.Verdict, err)
}
