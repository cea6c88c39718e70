package proof

import (
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func updates(id, name, payload string) Operation {
	return Operation{Verb: Update, Run: "r1", ID: id, Name: name, Payload: payload}
}

func asked(id, name, payload string) history.Data {
	return &history.UpdateReceived{UpdateID: spec.UpdateID(id), Name: name, Payload: value(payload)}
}

// answered has seqs 1 to 8 and 7 calls.
func answered() *recording {
	r := &recording{}
	r.happens(&history.RunStarted{Workflow: Plain, Version: "1", Input: value(startsR1.Payload)}) // 1
	r.told(startsR1, history.Accepted, 1, "")
	r.happens(asked("s1", "u", "1")) // 2
	r.told(updates("s1", "u", "1"), history.Accepted, 2, "")
	r.happens(asked("s2", "typed", "2")) // 3
	r.told(updates("s2", "typed", "2"), history.Accepted, 3, "")
	r.told(updates("s1", "u", "1.0"), history.Duplicate, 2, "")
	r.told(updates("s1", "typed", "1"), history.Conflict, 0, "")
	r.happens(&history.UpdateCompleted{UpdateID: "s1", Output: value("1")}, 2) // 4
	r.happens(asked("s3", "u", "2"))                                           // 5
	r.told(updates("s3", "u", "2"), history.Accepted, 5, "")
	r.happens(&history.UpdateRejected{UpdateID: "s2"}, 3, 5)                         // 6
	r.happens(&history.UpdateOrphaned{UpdateID: "s3", Cause: history.StateRunEnded}) // 7
	r.happens(&history.RunCompleted{})                                               // 8
	r.told(updates("s4", "u", "2"), history.Gone, 0, "run ended")
	return r
}

func TestCheck_sees_each_lie_about_an_update(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *recording)
		want  string
	}{
		"nothing": {func(*testing.T, *recording) {}, ""},
		"acknowledged and lost": {func(_ *testing.T, r *recording) {
			r.add(updates("s9", "u", "1"), history.Accepted, 9, "")
		}, "acknowledged, and lost"},
		"two callers were the first": {func(t *testing.T, r *recording) {
			r.call(t, "update 0/r1 s1 u 1.0").Answer.Verdict = history.Accepted
		}, "update s1 was accepted from 2 callers"},
		"another payload": {func(t *testing.T, r *recording) {
			r.call(t, "update 0/r1 s3").Payload = "1"
		}, "another payload in the history"},
		"another name": {func(t *testing.T, r *recording) {
			r.call(t, "update 0/r1 s3").Name = "typed"
		}, "is named u in the history"},
		"nobody sent it": {func(_ *testing.T, r *recording) {
			r.events[4].Data = asked("s8", "u", "2")
		}, "update s8 was accepted from 0 callers"},
		"a conflict with an equal one": {func(t *testing.T, r *recording) {
			r.call(t, "s1 typed").Name = "u"
		}, "a conflict with nothing in the history"},
		"invalid although nothing is wrong": {func(t *testing.T, r *recording) {
			r.call(t, "s4").Answer.Verdict = history.Invalid
		}, "nothing is wrong with it"},
		"a known one is gone": {func(_ *testing.T, r *recording) {
			r.add(updates("s1", "u", "1"), history.Gone, 0, "run ended")
		}, "is to be a duplicate after"},
		"a signal of its ID makes it known": {func(_ *testing.T, r *recording) {
			r.add(signals("s1", "u", "1"), history.Duplicate, 2, "")
		}, "acknowledged, and lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answered()
			tc.spoil(t, r)
			found := strings.Join(Check(r.calls, r.events, Trouble{}), "\n")
			if !strings.Contains(found, tc.want) || (tc.want == "") != (found == "") {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

func TestLaws_see_each_broken_update(t *testing.T) {
	t.Parallel()
	set := func(i int, d history.Data) func(*recording) { return func(r *recording) { r.events[i-1].Data = d } }
	for name, tc := range map[string]struct {
		spoil func(*recording)
		want  string
	}{
		"nothing":           {func(*recording) {}, ""},
		"stored twice":      {set(5, asked("s1", "u", "1")), "update s1 was received before"},
		"answered twice":    {set(6, &history.UpdateCompleted{UpdateID: "s1"}), "update s1 is not open"},
		"rejected after":    {set(6, &history.UpdateRejected{UpdateID: "s1"}), "update s1 is not open"},
		"orphaned after":    {set(7, &history.UpdateOrphaned{UpdateID: "s1", Cause: history.StateRunEnded}), "update s1 is not open"},
		"answered unseen":   {func(r *recording) { r.events[3].Taken = nil; r.events[5].Taken = []int64{2, 3, 5} }, "s1 is answered, and was not shown"},
		"answers a nobody":  {set(4, &history.UpdateCompleted{UpdateID: "s9"}), "update s9 is not open"},
		"left open":         {set(7, &history.FactsTaken{}), "update s3 outlives its run"},
		"another cause":     {set(7, &history.UpdateOrphaned{UpdateID: "s3", Cause: history.StateCancelled}), "closed as [cancelled]"},
		"out of order":      {func(r *recording) { r.events[5].Taken = []int64{5, 3} }, "shown in the order"},
		"never shown":       {func(r *recording) { r.events[5].Taken = nil }, "s2 is answered, and was not shown"},
		"shown once more":   {func(r *recording) { r.events[7].Taken = []int64{5} }, "shown in the order"},
		"asleep and unseen": {func(r *recording) { r.events = r.events[:5] }, "shown in the order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answered()
			tc.spoil(r)
			found := strings.Join(Laws(r.events, name == "asleep and unseen"), "\n")
			if !strings.Contains(found, tc.want) || (tc.want == "") != (found == "") {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}
