package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// turn is a turn of a run of its name, for the fault at every statement of its transaction.
type turn struct {
	name    string
	code    author
	first   bool     // it is the run's first turn
	signals int      // that came since the turn before
	updates []string // the arguments of those that came since, behind the signals
	blocked bool     // and was retried
	claimed bool     // it is not tried alone, as it differs from another one in nothing that is sent
	finally string
}

// soon is over when a test looks again.
var soon = time.Millisecond

// faultTurns are turns of every kind.
func faultTurns() []turn { return slices.Concat(settlingTurns(), taskTurns(), openingTurns()) }

// settlingTurns are those that see something settled.
func settlingTurns() []turn {
	return []turn{
		{
			name: "consumes", signals: 2,
			finally: "run.started wait.opened hook.created signal.received signal.received wait.completed hook.closed run.completed",
			code: func(s *history.State) history.Decision {
				if status, answer := s.Wait("w"); status == history.WaitDone {
					return decide(&history.Complete{Output: answer})
				}
				return decide(wait("w"), tokenHook(s, "h"))
			},
		},
		{
			name: "sees an expiry", finally: "run.started hook.created hook.expired run.completed",
			code: func(s *history.State) history.Decision {
				if s.Hook("h").State == history.StateExpired {
					return decide(&history.Complete{Output: null})
				}
				h := tokenHook(s, "h").(*history.CreateHook)
				h.In = &soon
				return decide(h)
			},
		},
		{
			name: "sees a time-out", claimed: true, finally: "run.started wait.opened wait.timed_out run.completed",
			code: func(s *history.State) history.Decision {
				if status, _ := s.Wait("w"); status == history.WaitLate {
					return decide(&history.Complete{Output: null})
				}
				return decide(&history.OpenWait{ID: "w", Signal: "approved", Timeout: &soon})
			},
		},
		{
			name: "sees a timer", claimed: true, finally: "run.started timer.started timer.fired run.failed",
			code: func(s *history.State) history.Decision {
				if s.TimerFired("t") {
					return decide(&history.Fail{Message: "too late"})
				}
				return decide(&history.StartTimer{ID: "t", In: &soon})
			},
		},
		{
			name: "answers updates", updates: []string{"1", `"refuse"`, `"leave"`}, code: approval,
			finally: "run.started wait.opened update.received update.received update.received update.completed update.rejected facts.taken",
		},
		{
			name: "orphans updates", signals: 1, updates: []string{"1", `"leave"`}, claimed: true, code: approval,
			finally: "run.started wait.opened signal.received update.received update.received wait.completed update.orphaned " +
				"update.orphaned run.completed",
		},
		{
			name: "continues with updates", signals: 1, updates: []string{`"leave"`, "1"}, claimed: true,
			finally: "run.started wait.opened signal.received update.received update.received wait.completed",
			code: func(s *history.State) history.Decision {
				if status, _ := s.Wait("w"); status != history.WaitDone {
					return answering(s, wait("w"))
				}
				if s.Generation() == 1 {
					return decide(&history.ContinueAsNew{Input: null})
				}
				return answering(s, wait("more"))
			},
		},
		{
			name: "continues as new", signals: 2,
			finally: "run.started wait.opened hook.created signal.received signal.received wait.completed",
			code: func(s *history.State) history.Decision {
				if status, _ := s.Wait("w"); status != history.WaitDone {
					return decide(wait("w"), tokenHook(s, "h"))
				}
				if s.Generation() == 1 {
					return decide(&history.ContinueAsNew{Input: null})
				}
				return decide(wait("more"))
			},
		},
	}
}

// taskTurns are those that see a task settled, or end with tasks open.
func taskTurns() []turn {
	return []turn{
		{
			name: "sees a step time out", finally: "run.started step.scheduled step.timed_out run.failed",
			code: func(s *history.State) history.Decision {
				d := stepping(s)
				if step, ok := d.Commands[0].(*history.ScheduleStep); ok {
					step.ScheduleToClose = &soon
				}
				return d
			},
		},
		{
			name: "leaves tasks", signals: 1,
			finally: "run.started step.scheduled child.requested child.requested call.signal_requested wait.opened signal.received " +
				"wait.completed call.signal_requested child.released child.released step.cancelled run.completed",
			code: func(s *history.State) history.Decision {
				if status, _ := s.Wait("w"); status == history.WaitDone {
					return decide(callOf("last", "somebody"), &history.Complete{Output: null})
				}
				return decide(append(withTasks(s).Commands, wait("w"))...)
			},
		},
		{
			name: "withdraws a step", signals: 1, claimed: true,
			finally: "run.started step.scheduled step.scheduled wait.opened signal.received wait.completed step.cancelled step.scheduled",
			code: func(s *history.State) history.Decision {
				if status, _ := s.Wait("w"); status == history.WaitDone {
					return decide(&history.WithdrawStep{ID: "s"}, stepOf("t"), stepOf("u"))
				}
				return decide(stepOf("s"), stepOf("t"), wait("w"))
			},
		},
	}
}

// openingTurns are the first turns of their runs.
func openingTurns() []turn {
	return []turn{
		{
			name: "opens hooks", first: true,
			finally: "run.started hook.created hook.rejected hook.created hook.created",
			code: func(s *history.State) history.Decision {
				if s.Hook("h").Rejected == nil {
					return decide(tokenHook(s, "g"), hookOn("h", "taken"), tokenHook(s, "i"))
				}
				return decide(tokenHook(s, "j"), tokenHook(s, "i"))
			},
		},
		{
			name: "opens tasks", first: true,
			finally: "run.started step.scheduled child.requested child.requested call.signal_requested", code: withTasks,
		},
		{
			name: "is blocked", first: true, finally: "run.started run.blocked run.unblocked wait.opened",
			code: func(*history.State) history.Decision { return history.Decision{} },
		},
		{
			name: "goes on", first: true, claimed: true, blocked: true, finally: "run.started run.blocked run.unblocked wait.opened", code: approval,
		},
	}
}

func tokenHook(s *history.State, id string) history.Command {
	return hookOn(id, tokenOf(string(s.Key().RunID), id))
}

// turnAuthors are the codes of faultTurns by the name of the run.
var turnAuthors = func() map[string]author {
	codes := map[string]author{}
	for _, t := range faultTurns() {
		codes[t.name] = t.code
	}
	return codes
}()

// mendedAuthor is faultAuthor after the code that was blocked has been mended.
func mendedAuthor(s *history.State) history.Decision {
	if suffix(s) == "is blocked" {
		return approval(s)
	}
	return faultAuthor(s)
}

// dueTurns makes the turns due. Those before them were taken by the store that will take these, so that it knows the
// states.
func (f *faultRig) dueTurns(prefix string, all []turn) {
	f.t.Helper()
	var starts, others, messages []history.Message
	for _, t := range all {
		run := at(prefix, t.name)
		if t.first {
			others = append(others, f.startOf(run))
		} else {
			starts = append(starts, f.startOf(run))
		}
		messages = append(messages, f.messagesTo(run, t.signals)...)
		for i, arg := range t.updates {
			messages = append(messages, f.update(run, fmt.Sprint("u", i), arg))
		}
		if t.blocked {
			messages = append(messages, &history.RetryRun{Run: keyOf(run)})
		}
	}
	f.acceptAll(starts)
	f.turns(f.patient, faultAuthor)
	f.acceptAll(others)
	for _, t := range all {
		if t.blocked {
			f.blockFor(at(prefix, t.name))
		}
	}
	f.acceptAll(messages)
	f.until("what was opened for a moment is over", func() bool {
		return value[bool](f.acceptRig, `select count(*) = $2 from runs
			where starts_with(run_id, $1 || '/') and wake_at <= clock_timestamp()`, prefix, len(all))
	})
}

// acceptAll accepts messages in one transaction.
func (f *faultRig) acceptAll(all []history.Message) {
	f.t.Helper()
	tx := f.acceptRig.begin()
	answers, err := f.AcceptTx(context.Background(), tx, all)
	if err == nil {
		err = tx.Commit(context.Background())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	for _, a := range answers {
		if a.Err != nil {
			f.t.Fatal(a.Err)
		}
	}
}

// owned has another run take the token that one of the turns wants.
func (f *faultRig) owned() {
	f.t.Helper()
	f.ok(f.startOf("owner"))
	f.turns(f.fresh(), opens("h", "taken"))
}

// takeTurns claims what is due, once.
func takeTurns(all []turn) func(*faultRig, *Store, string) []string {
	return func(_ *faultRig, s *Store, prefix string) []string {
		done, err := s.Advance(context.Background(), by(faultAuthor))
		read := make([]string, len(all))
		for i, t := range all {
			read[i] = readingOf(doneWord, err)
			for _, failed := range done.Failed {
				if failed.Run == keyOf(at(prefix, t.name)) {
					read[i] = "failed: " + failed.Err.Error()
				}
			}
		}
		return read
	}
}

// turnWant says what the dispatcher may read. What one run may have brought in is tried again run by run.
func turnWant(m met, _ faultCall) []string {
	switch {
	case m.kind == pgfault.Hold:
		return []string{doneWord}
	case m.kind == pgfault.Refuse && m.claimed() && m.state != "53100" && m.state != "42601":
		return []string{doneWord}
	case m.kind == pgfault.Refuse:
		return []string{refusedWith(m.state)}
	}
	return []string{unavailableWord}
}

// turnCase is the use case of turns that are claimed together.
func turnCase(all []turn) faultCase {
	c := faultCase{
		first:  (*faultRig).owned,
		before: func(f *faultRig, prefix string) { f.dueTurns(prefix, all) },
		act:    takeTurns(all),
		after: func(f *faultRig, prefix string) {
			f.sql(`update runs set wake_at = clock_timestamp() where starts_with(run_id, $1 || '/') and status = 'blocked'`, prefix)
			f.turns(f.fresh(), mendedAuthor)
		},
		want: turnWant, onward: true, finally: map[string]string{},
	}
	for _, t := range all {
		c.calls = append(c.calls, faultCall{run: t.name, first: doneWord, again: doneWord})
		c.finally[t.name] = t.finally
	}
	return c
}

// Each turn alone.
func TestFaultAtEveryStatementOfATurn(t *testing.T) {
	t.Parallel()
	for _, one := range faultTurns() {
		if one.claimed {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			c := turnCase([]turn{one})
			c.atLeast, c.ways = 7, slices.Concat(lostWays[:1], lateWays[1:2], refusedWays("23514"))
			testEveryStatement(t, c)
		})
	}
}

// Turns of every kind in one claim, by a store that knows the states and by one that reads them.
func TestFaultAtEveryStatementOfAClaim(t *testing.T) {
	t.Parallel()
	for part, ways := range map[string][]faultWay{
		"lost": lostWays, "late": lateWays, "refused": refusedWays("23514", "40001", "57014"),
		"refused otherwise": refusedWays("53100", "55P03", "42601"), "lost, cold": lostWays[:1],
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			c := turnCase(faultTurns())
			c.atLeast, c.ways = 10, ways
			if inner := c.act; strings.HasSuffix(part, "cold") {
				c.act = func(f *faultRig, s *Store, prefix string) []string {
					return inner(f, f.over(s.pool, s.cfg.LockTimeout), prefix)
				}
			}
			testEveryStatement(t, c)
		})
	}
}
