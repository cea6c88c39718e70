package proof

import (
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func second(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC) }

func value(text string) canon.Payload {
	p, err := canon.Parse([]byte(text), canon.Limits{})
	if err != nil {
		panic(err)
	}
	return p
}

// recording is a history without fault and what callers were told meanwhile.
type recording struct {
	calls  []Call
	events []history.Event
}

func (r *recording) happens(data history.Data, taken ...int64) {
	n := len(r.events) + 1
	r.events = append(r.events, history.Event{Generation: 1, Seq: int64(n), At: second(n), Taken: taken, Data: data})
}

// told records a call whose receipt, if it has one, is of event seq.
func (r *recording) told(o Operation, v history.Verdict, seq int, words string) {
	c := Call{Operation: o, Answer: Answer{Verdict: v, Words: words}, Begun: int64(2 * len(r.calls)), Ended: int64(2*len(r.calls) + 1)}
	if seq > 0 {
		at := second(seq)
		c.Answer.Sequence, c.Answer.At = int64(seq), Stamp(&at)
	}
	r.calls = append(r.calls, c)
}

var (
	startsR1  = Operation{Verb: Start, Run: "r1", Name: Plain, Version: "1", Payload: `{"seed":1}`}
	cancelsR1 = Operation{Verb: Cancel, Run: "r1"}
)

func signals(id, name, payload string) Operation {
	return Operation{Verb: Signal, Run: "r1", ID: id, Name: name, Payload: payload}
}

func resumes(id, payload string) Operation {
	return Operation{Verb: Resume, Run: "r1", ID: id, Payload: payload}
}

func disposes(id string) Operation { return Operation{Verb: Dispose, Run: "r1", ID: id} }

func received(id, name, payload string) history.Data {
	return &history.SignalReceived{SignalID: spec.SignalID(id), Name: name, Payload: value(payload)}
}

// faultless has seqs 1 to 14 and 16 calls.
func faultless() *recording {
	r := &recording{}
	r.happens(&history.RunStarted{Workflow: Plain, Version: "1", Input: value(startsR1.Payload)}) // 1
	r.told(startsR1, history.Accepted, 1, "")
	r.happens(&history.WaitOpened{WaitID: "w0", Signal: "a"})                           // 2
	r.happens(&history.WaitOpened{WaitID: "w1", Signal: "b", Deadline: new(second(9))}) // 3
	r.happens(&history.HookCreated{HookID: "h00", Name: "h0"})                          // 4
	r.happens(&history.HookCreated{HookID: "h10", Name: "h1"})                          // 5
	r.happens(received("s1", "a", "1"))                                                 // 6
	r.told(signals("s1", "a", "1"), history.Accepted, 6, "")
	r.happens(received("s2", "a", "2")) // 7
	r.told(signals("s2", "a", "2"), history.Accepted, 7, "")
	r.told(signals("s1", "a", "1.0"), history.Duplicate, 6, "")
	r.told(signals("s1", "a", "2"), history.Conflict, 0, "")
	r.told(signals("s3", "undeclared", "2"), history.Invalid, 0, "")
	r.happens(&history.WaitCompleted{WaitID: "w0", SignalID: "s1", SignalSeq: 6}, 6) // 8
	r.happens(&history.WaitTimedOut{WaitID: "w1"}, 7)                                // 9
	r.told(resumes("h10", "1"), history.Busy, 0, "unavailable")                      // and it was stored
	r.happens(&history.HookResumed{HookID: "h10", Payload: value("1")})              // 10
	r.told(resumes("h10", "1"), history.Duplicate, 10, "")
	r.told(resumes("h10", "2"), history.Conflict, 0, "")
	r.told(disposes("h10"), history.Conflict, 0, "")
	r.happens(received("s4", "b", "2")) // 11
	r.told(signals("s4", "b", "2"), history.Accepted, 11, "")
	r.happens(&history.RunCancelRequested{})                                         // 12
	r.happens(&history.HookClosed{HookID: "h00", Cause: history.StateCancelled}, 10) // 13
	r.happens(&history.RunCancelled{})                                               // 14
	r.told(cancelsR1, history.Accepted, 12, "")
	r.told(cancelsR1, history.Duplicate, 12, "")
	r.told(disposes("h00"), history.Gone, 0, "hook is closed: cancelled")
	r.told(signals("s5", "a", "2"), history.Gone, 0, "run ended")
	r.told(Operation{Verb: Retry, Run: "r1"}, history.Gone, 0, "run ended")
	return r
}

func TestCheck_finds_nothing_in_a_faultless_recording(t *testing.T) {
	t.Parallel()
	r := faultless()
	if broken := append(Laws(r.events, false), Check(r.calls, r.events, Trouble{})...); len(broken) > 0 {
		t.Fatal(strings.Join(broken, "\n"))
	}
}

// A commit whose outcome nobody knew is decided again: the caller reads that its own message is there already. Where no
// connection broke, that is a lie.
func TestCheck_knows_that_a_lost_commit_may_answer_duplicate(t *testing.T) {
	t.Parallel()
	r := faultless()
	r.call(t, "signal 0/r1 s2").Answer.Verdict = history.Duplicate
	if broken := Check(r.calls, r.events, Trouble{ConnectionsBroke: true}); len(broken) > 0 {
		t.Error(strings.Join(broken, "\n"))
	}
	r.call(t, "signal 0/r1 s2").Answer.Sequence = 8
	if broken := Check(r.calls, r.events, Trouble{ConnectionsBroke: true}); len(broken) == 0 {
		t.Error("another receipt is none")
	}
}

// call finds a call by its line.
func (r *recording) call(t *testing.T, line string) *Call {
	t.Helper()
	for i := range r.calls {
		if strings.Contains(r.calls[i].String(), line) {
			return &r.calls[i]
		}
	}
	t.Fatalf("no call %q", line)
	return nil
}

// add appends a call.
func (r *recording) add(o Operation, v history.Verdict, seq int, words string) {
	r.told(o, v, seq, words)
}

func TestCheck_sees_each_lie(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *recording)
		want  string
	}{
		"an acknowledged signal is not in the history": {func(_ *testing.T, r *recording) {
			r.add(signals("s9", "a", "1"), history.Accepted, 15, "")
		}, "acknowledged, and lost"},
		"a receipt names another event": {func(t *testing.T, r *recording) {
			r.call(t, "signal 0/r1 s2").Answer.Sequence = 8
		}, "is #7 at"},
		"a receipt names another time": {func(t *testing.T, r *recording) {
			r.call(t, "s1 a 1.0").Answer.At = "03:04:07"
		}, "is #6 at"},
		"the history has another payload": {func(t *testing.T, r *recording) {
			r.call(t, "signal 0/r1 s2").Payload = "1"
		}, "another payload in the history"},
		"the history has another name": {func(t *testing.T, r *recording) {
			r.call(t, "signal 0/r1 s2").Name = "b"
		}, "is named a in the history"},
		"the run started with another input": {func(t *testing.T, r *recording) {
			r.call(t, "start").Payload = `{"seed":2}`
		}, "another input in the history"},
		"two callers were the first": {func(t *testing.T, r *recording) {
			r.call(t, "s1 a 1.0").Answer.Verdict = history.Accepted
		}, "accepted from 2 callers"},
		"nobody sent a signal": {func(_ *testing.T, r *recording) {
			r.events[10].Data.(*history.SignalReceived).SignalID = "s8"
		}, "signal s8 was accepted from 0 callers"},
		"nobody sent an answer": {func(t *testing.T, r *recording) {
			r.call(t, "unavailable").Answer.Verdict = history.Unknown
		}, "resume h10 was accepted from 0 callers"},
		"nobody wished the end": {func(t *testing.T, r *recording) {
			r.call(t, "cancel 0/r1 via 0: accepted").Answer.Sequence = 13
		}, "nobody wished it"},
		"a wish was acknowledged and lost": {func(_ *testing.T, r *recording) {
			r.add(cancelsR1, history.Accepted, 13, "")
		}, "nobody cancelled it so"},
		"another wish than the first": {func(_ *testing.T, r *recording) {
			r.happens(&history.RunCancelRequested{})
			r.add(cancelsR1, history.Duplicate, 15, "")
		}, "nobody cancelled it so"},
		"a conflict with an equal message": {func(t *testing.T, r *recording) {
			r.call(t, "s1 a 2").Payload = "10e-1"
		}, "a conflict with nothing in the history"},
		"a conflict of withdrawing what was not answered": {func(t *testing.T, r *recording) {
			r.call(t, "dispose 0/r1 h10").ID = "h00"
		}, "a conflict with nothing in the history"},
		"a duplicate of another payload": {func(t *testing.T, r *recording) {
			r.call(t, "resume 0/r1 h10 1 via 0: duplicate").Payload = "2"
		}, "another payload in the history"},
		"gone although the run goes on": {func(_ *testing.T, r *recording) {
			r.events = r.events[:11]
			r.calls = append(r.calls[:11], r.calls[len(r.calls)-2])
		}, "the run has not ended"},
		"gone for another cause": {func(t *testing.T, r *recording) {
			r.call(t, "dispose 0/r1 h00").Answer.Words = "hook is closed: expired"
		}, "in the history the hook is closed: cancelled"},
		"gone although there is no such hook": {func(t *testing.T, r *recording) {
			r.call(t, "dispose 0/r1 h00").ID = "h20"
		}, "there is no such hook"},
		"gone although the hook is open": {func(_ *testing.T, r *recording) {
			r.events[12].Data.(*history.HookClosed).HookID = "other"
		}, "the hook is open"},
		"invalid although nothing is wrong": {func(t *testing.T, r *recording) {
			r.call(t, "undeclared").Name = "typed"
		}, "nothing is wrong with it"},
		"denied to whom it is allowed": {func(t *testing.T, r *recording) {
			r.call(t, "dispose 0/r1 h00").Answer.Verdict = history.Denied
		}, "the caller may do it"},
		"a later message comes first": {func(_ *testing.T, r *recording) {
			r.calls[1].Begun, r.calls[1].Ended = 5, 5
			r.calls[2].Begun, r.calls[2].Ended = 2, 3
		}, "comes before"},
		"a known signal is gone": {func(_ *testing.T, r *recording) {
			r.add(signals("s1", "a", "1"), history.Gone, 0, "run ended")
		}, "is to be a duplicate after"},
		"a known signal that differs is gone": {func(_ *testing.T, r *recording) {
			r.add(signals("s1", "a", "2"), history.Gone, 0, "run ended")
		}, "is to be a conflict after"},
		"a known signal meets a full backlog": {func(_ *testing.T, r *recording) {
			r.add(signals("s1", "a", "1"), history.Busy, 0, history.ErrBacklogFull.Error())
		}, "is to be a duplicate after"},
		"accepted after the end": {func(_ *testing.T, r *recording) {
			r.happens(received("s9", "a", "1"))
			r.add(signals("s9", "a", "1"), history.Accepted, 15, "")
		}, "accepted after"},
		"the run is unknown after its start": {func(_ *testing.T, r *recording) {
			r.add(signals("s9", "a", "1"), history.Unknown, 0, "run not found")
		}, "unknown after"},
		"the hook is unknown after its answer": {func(_ *testing.T, r *recording) {
			r.add(disposes("h10"), history.Unknown, 0, "hook not found")
		}, "unknown after"},
		"a duplicate of nothing yet": {func(t *testing.T, r *recording) {
			again := r.call(t, "s1 a 1.0")
			again.Begun, again.Ended = -2, -1
		}, "a duplicate before"},
		"a duplicate of nothing at all": {func(t *testing.T, r *recording) {
			r.call(t, "signal 0/r1 s2").Answer.Verdict = history.Duplicate
		}, "a duplicate of nothing"},
		"withdrawn by nobody": {func(_ *testing.T, r *recording) {
			r.add(disposes("h00"), history.Duplicate, 13, "")
		}, "nobody disposed of it so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faultless()
			tc.spoil(t, r)
			found := strings.Join(Check(r.calls, r.events, Trouble{}), "\n")
			if !strings.Contains(found, tc.want) {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

func TestLaws_see_each_broken_history(t *testing.T) {
	t.Parallel()
	set := func(i int, d history.Data) func(*recording) { return func(r *recording) { r.events[i-1].Data = d } }
	for name, tc := range map[string]struct {
		spoil func(*recording)
		want  string
	}{
		"a gap":          {func(r *recording) { r.events[6].Seq = 8 }, "seq is not 7"},
		"time goes back": {func(r *recording) { r.events[6].At = second(5) }, "time goes back"},
		"two starts":     {set(7, &history.RunStarted{}), "a run starts once"},
		"another life":   {func(r *recording) { r.events[6].Generation = 2 }, "generation 2 after 1"},
		"stored twice":   {set(7, received("s1", "a", "1")), "signal s1 was received before"},
		"consumed twice": {set(9, &history.WaitCompleted{WaitID: "w1", SignalID: "s1", SignalSeq: 6}), "is no unread one of name b"},
		"passed over":    {set(8, &history.WaitCompleted{WaitID: "w0", SignalID: "s2", SignalSeq: 7}), "signal s2 is consumed before #6"},
		"another's name": {set(8, &history.WaitCompleted{WaitID: "w1", SignalID: "s1", SignalSeq: 6}), "is no unread one of name b"},
		"another's ID":   {set(8, &history.WaitCompleted{WaitID: "w0", SignalID: "s2", SignalSeq: 6}), "#6 is not signal s2"},
		"ends twice":     {set(9, &history.WaitWithdrawn{WaitID: "w0"}), "wait w0 is not open"},
		"too early":      {set(9, &history.WaitTimedOut{WaitID: "w0"}), "wait w0 is not"},
		"opened twice":   {set(9, &history.WaitOpened{WaitID: "w1", Signal: "b"}), "was opened before"},
		"deadline moves": {func(r *recording) { reopen(r) }, "its deadline moved"},
		"younger first":  {func(r *recording) { overtake(r) }, "took what the older wait w0 was open for"},
		"earlier there":  {func(r *recording) { ignore(r) }, "signal #6 was there for wait w1 before"},
		"fires early": {func(r *recording) {
			r.events[2].Data = timerAt(20)
			r.events[8].Data = &history.TimerFired{TimerID: "t0"}
		}, "timer t0 is not due"},
		"due time moves":  {func(r *recording) { r.events[1].Data = timerAt(20); r.events[2].Data = timerAt(21) }, "due time moved"},
		"fires twice":     {set(9, &history.TimerFired{TimerID: "t0"}), "timer t0 is not running"},
		"expires early":   {set(13, &history.HookExpired{HookID: "h00"}), "hook h00 is not past its deadline"},
		"another cause":   {set(13, &history.HookClosed{HookID: "h00", Cause: history.StateRunEnded}), "what was open was closed as [run_ended]"},
		"an ID again":     {set(11, &history.HookCreated{HookID: "h10"}), "hook h10 was there before"},
		"closed twice":    {set(13, &history.HookClosed{HookID: "h10", Cause: history.StateCancelled}), "hook h10 is not open"},
		"answered late":   {set(5, &history.HookCreated{HookID: "h10", Name: "h1", ExpiresAt: new(second(10))}), "answered past its deadline"},
		"hook left open":  {set(13, &history.FactsTaken{}), "hook h00 outlives its run"},
		"after the end":   {func(r *recording) { r.happens(&history.FactsTaken{}) }, "an event after the end"},
		"shown twice":     {func(r *recording) { r.events[8].Taken = []int64{6} }, "shown in the order"},
		"left out":        {func(r *recording) { r.events[7].Taken = nil }, "shown in the order"},
		"never shown":     {func(r *recording) { r.events = r.events[:12] }, "shown in the order"},
		"taken too late":  {func(r *recording) { late(r) }, "took a message of"},
		"never continues": {set(9, &history.RunContinued{}), "generation 1 after 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := faultless()
			tc.spoil(r)
			found := strings.Join(Laws(r.events, name == "never shown"), "\n")
			if !strings.Contains(found, tc.want) {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

// reopen has a wait opened again under another deadline.
func reopen(r *recording) {
	r.events[8].Data = &history.WaitWithdrawn{WaitID: "w1"}
	r.events[10].Data = &history.WaitOpened{WaitID: "w1", Signal: "b", Deadline: new(second(20)), Again: true}
}

// overtake has the younger of two waits of one name take the first message.
func overtake(r *recording) {
	r.events[2].Data = &history.WaitOpened{WaitID: "w1", Signal: "a"}
	r.events[7].Data = &history.WaitCompleted{WaitID: "w1", SignalID: "s1", SignalSeq: 6}
}

// ignore has a wait take a message while an earlier one of another name is there for another wait.
func ignore(r *recording) {
	r.events[1].Data = &history.WaitOpened{WaitID: "w1", Signal: "b"}
	r.events[2].Data = &history.WaitOpened{WaitID: "w0", Signal: "a"}
	r.events[5].Data = received("s1", "b", "1")
	r.events[7] = history.Event{Generation: 1, Seq: 8, At: second(8), Taken: []int64{6, 7}, Data: &history.WaitCompleted{
		WaitID: "w0", SignalID: "s2", SignalSeq: 7,
	}}
}

func timerAt(n int) history.Data { return &history.TimerStarted{TimerID: "t0", Due: second(n)} }

// late has a wait take a message that was accepted when its deadline was past.
func late(r *recording) {
	r.events[8].Data = &history.FactsTaken{}
	r.happens(&history.WaitCompleted{WaitID: "w1", SignalID: "s4", SignalSeq: 11})
}
