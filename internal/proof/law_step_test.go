package proof

import (
	"strings"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

func scheduled(id, input string, retry spec.RetryPolicy) *history.StepScheduled {
	return &history.StepScheduled{StepID: spec.StepID(id), Name: Steps[0], Retry: retry, Input: value(input)}
}

func done(id, of string, attempt int) *history.StepCompleted {
	output, _ := Do([]byte(`{"of":"`+of+`"}`), attempt)
	text := `{"attempt":` + string(rune('0'+output.(map[string]any)["attempt"].(int))) + `,"of":"` + of + `"}`
	return &history.StepCompleted{StepID: spec.StepID(id), Attempt: attempt, Output: value(text)}
}

func gaveUp(id, of string, attempt int, reason history.FailureReason, code string) *history.StepFailed {
	_, fault := Do([]byte(`{"of":"`+of+`","fails":9}`), attempt)
	return &history.StepFailed{StepID: spec.StepID(id), Attempt: attempt, Reason: reason, Code: code, Message: fault.Message}
}

// worked has seqs 1 to 13: in the first generation p0 is done, p1 is used up and p2 withdrawn, in the second p0 is not tried
// again, p1 runs out of time and p2 is open at the end.
func worked() *recording {
	r := &recording{}
	late := scheduled("p1", `{"of":"d"}`, spec.NoRetry())
	late.CloseAt = new(second(11))
	r.happens(&history.RunStarted{Workflow: Plain, Version: "1", Input: value(startsR1.Payload)})                        // 1
	r.happens(scheduled("p0", `{"of":"a","fails":1}`, spec.FixedRetry(2, 0)))                                            // 2
	r.happens(scheduled("p1", `{"of":"b","fails":9}`, spec.FixedRetry(2, 0)))                                            // 3
	r.happens(scheduled("p2", `{"of":"c"}`, spec.NoRetry()))                                                             // 4
	r.happens(done("p0", "a", 2))                                                                                        // 5
	r.happens(gaveUp("p1", "b", 2, history.FailedExhausted, "again"), 5)                                                 // 6
	r.happens(&history.StepCancelled{StepID: "p2", Cause: history.StateDisposed}, 6)                                     // 7
	r.happens(&history.RunContinued{})                                                                                   // 8
	r.happens(scheduled("p0", `{"of":"a","fails":9,"how":"fatal"}`, spec.FixedRetry(9, 0).WithNonRetryable(failsFatal))) // 9
	r.happens(late)                                                                                                      // 10
	r.happens(scheduled("p2", `{"of":"e"}`, spec.NoRetry()))                                                             // 11
	r.happens(&history.StepTimedOut{StepID: "p1"})                                                                       // 12
	r.happens(gaveUp("p0", "a", 1, history.FailedNonRetryable, failsFatal))                                              // 13
	r.happens(&history.StepCancelled{StepID: "p2", Cause: history.StateRunEnded}, 13)                                    // 14
	r.happens(&history.RunCompleted{})                                                                                   // 15
	for i := range r.events {
		r.events[i].Generation = 1 + min(i/7, 1)
	}
	return r
}

func TestLaws_see_each_broken_step(t *testing.T) {
	t.Parallel()
	set := func(i int, d history.Data) func(*recording) { return func(r *recording) { r.events[i-1].Data = d } }
	for name, tc := range map[string]struct {
		spoil func(*recording)
		want  string
	}{
		"nothing":               {func(*recording) {}, ""},
		"scheduled twice":       {set(4, scheduled("p0", `{}`, spec.NoRetry())), "step p0 was scheduled before"},
		"done twice":            {set(6, done("p0", "a", 2)), "step p0 is not open"},
		"fails after":           {set(6, gaveUp("p0", "a", 1, history.FailedExhausted, "again")), "step p0 is not open"},
		"withdrawn after":       {set(7, &history.StepCancelled{StepID: "p0", Cause: history.StateDisposed}), "step p0 is not open"},
		"nobody's":              {set(5, done("p9", "a", 2)), "step p9 is not open"},
		"of a failed attempt":   {set(5, done("p0", "a", 1)), "an output that attempt 1 did not come to"},
		"another's output":      {set(5, done("p0", "b", 2)), "an output that attempt 2 did not come to"},
		"given up too early":    {set(6, gaveUp("p1", "b", 1, history.FailedExhausted, "again")), "has 2 attempts, and failed for good in attempt 1"},
		"may be tried again":    {set(6, gaveUp("p1", "b", 2, history.FailedNonRetryable, "again")), "failed although it may be tried again"},
		"another's words":       {set(6, gaveUp("p1", "x", 2, history.FailedExhausted, "again")), "failed in a way that attempt 2 did not"},
		"another reason":        {set(6, gaveUp("p1", "b", 2, history.FailedDepth, "again")), `failed for the reason "depth"`},
		"never lost":            {set(6, gaveUp("p1", "b", 2, history.FailedQuarantined, lostCode)), "was not lost three times"},
		"too early":             {func(r *recording) { r.events[9].Data.(*history.StepScheduled).CloseAt = new(second(13)) }, "is not past its deadline"},
		"too late":              {func(r *recording) { r.events[1].Data.(*history.StepScheduled).CloseAt = new(second(5)) }, "an outcome past its deadline"},
		"left behind":           {set(7, &history.FactsTaken{}), "step p2 is left behind by the generation"},
		"outlives its run":      {set(14, &history.FactsTaken{}), "step p2 outlives its run"},
		"another cause":         {set(14, &history.StepCancelled{StepID: "p2", Cause: history.StateCancelled}), "closed as [cancelled]"},
		"out of order":          {func(r *recording) { r.events[5].Taken = []int64{6}; r.events[6].Taken = []int64{5} }, "shown in the order"},
		"not shown, generation": {func(r *recording) { r.events[6].Taken = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := worked()
			tc.spoil(r)
			found := strings.Join(Laws(r.events, false), "\n")
			if !strings.Contains(found, tc.want) || (tc.want == "") != (found == "") {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

// letterOf is the dead letter of a step of the first generation.
func letterOf(id string, f *history.StepFailed, state history.LetterState) LetterRow {
	l := LetterRow{State: state}
	l.Task.Generation, l.Task.Kind, l.Task.ID = 1, history.TaskStep, id
	l.Letter.Failure = history.Failure{Reason: f.Reason, Code: f.Code, Message: f.Message, Attempt: f.Attempt}
	return l
}

func TestLetterLaws_see_each_wrong_letter(t *testing.T) {
	t.Parallel()
	usedUp := gaveUp("p1", "b", 2, history.FailedExhausted, "again")
	for name, tc := range map[string]struct {
		letters []LetterRow
		want    string
	}{
		"the one":         {[]LetterRow{letterOf("p1", usedUp, history.LetterFailed)}, ""},
		"none":            {nil, "left no dead letter"},
		"another's":       {[]LetterRow{letterOf("p0", usedUp, history.LetterFailed)}, "the step did not fail like that"},
		"nobody's":        {[]LetterRow{letterOf("p9", usedUp, history.LetterFailed)}, "no step made this letter"},
		"two":             {[]LetterRow{letterOf("p1", usedUp, history.LetterFailed), letterOf("p1", usedUp, history.LetterFailed)}, "no step made"},
		"held":            {[]LetterRow{letterOf("p1", usedUp, history.LetterHeld)}, "no step made this letter"},
		"another attempt": {[]LetterRow{letterOf("p1", gaveUp("p1", "b", 1, history.FailedExhausted, "again"), history.LetterFailed)}, "did not fail like that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := strings.Join(Record{Events: worked().events, Letters: tc.letters}.LetterLaws(), "\n")
			if !strings.Contains(found, tc.want) || (tc.want == "") != (found == "") {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

func TestAttempts_sees_each_wrong_beginning(t *testing.T) {
	t.Parallel()
	key := history.RunKey{Namespace: "t1-0", RunID: "r1"}
	for name, tc := range map[string]struct {
		begun     map[string][]int // of the first generation, beside the one of the second
		leasesEnd bool
		late      []int // of p0
		want      string
	}{
		"right":             {map[string][]int{"p0": {1, 2}, "p1": {1, 2}, "p2": {1}}, false, nil, ""},
		"not made":          {map[string][]int{"p0": {1, 2}, "p1": {1}}, false, nil, "attempt 2 has an outcome and was not made"},
		"never made":        {map[string][]int{"p0": {1, 2}}, false, nil, "attempt 2 has an outcome and was not made"},
		"twice":             {map[string][]int{"p0": {1, 2, 2}, "p1": {1, 2}}, true, nil, "one was made twice"},
		"after the outcome": {map[string][]int{"p0": {1, 2, 3}, "p1": {1, 2}}, false, nil, "the outcome is that of attempt 2"},
		"at the outcome":    {map[string][]int{"p0": {1, 2, 3}, "p1": {1, 2}}, true, nil, ""},
		"of the newest":     {map[string][]int{"p0": {1, 2}, "p1": {1, 2}}, true, []int{1, 2}, ""},
		"of a late one":     {map[string][]int{"p0": {1, 2, 3}, "p1": {1, 2}}, true, []int{2}, "attempt 2, which was late"},
		"long after it":     {map[string][]int{"p0": {1, 2, 3, 4}, "p1": {1, 2}}, true, nil, "the outcome is that of attempt 2"},
		"more than allowed": {map[string][]int{"p0": {1, 2}, "p1": {1, 2}, "p2": {1, 2}}, false, nil, "only 1 may be made"},
		"given back":        {map[string][]int{"p0": {1, 2}, "p1": {1, 2}, "p2": {1, 2}}, true, nil, ""},
		"nobody's":          {map[string][]int{"p0": {1, 2}, "p1": {1, 2}, "p9": {1}}, false, nil, "nobody asked for it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Attempts{}
			a.Begin(key, 2, "p0", 1)
			for id, attempts := range tc.begun {
				for _, n := range attempts {
					a.Begin(key, 1, id, n)
				}
			}
			for _, n := range tc.late {
				a.End(key, 1, "p0", n)
			}
			found := strings.Join(a.Broken(key, worked().events, tc.leasesEnd), "\n")
			if !strings.Contains(found, tc.want) || (tc.want == "") != (found == "") {
				t.Errorf("want %q, found:\n%s", tc.want, found)
			}
		})
	}
}

// What an attempt comes to is the same whoever asks, and each way of failing is one that the traces have.
func TestDo_is_what_the_plan_says(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]Fault{
		`{"fails":1}`:               {Code: "again"},
		`{"fails":1,"how":"final"}`: {Code: "again", Final: true},
		`{"fails":1,"how":"fatal"}`: {Code: failsFatal},
		`{"fails":1,"how":"later"}`: {Code: "again", After: new(1500 * time.Millisecond)},
		`"no plan"`:                 {Code: "input", Final: true},
	} {
		_, fault := Do([]byte(plan), 1)
		if fault == nil || fault.Code != want.Code || fault.Final != want.Final || (fault.After == nil) != (want.After == nil) {
			t.Errorf("%s: %+v, want %+v", plan, fault, want)
		}
		if _, fault := Do([]byte(plan), 2); (fault == nil) != (plan != `"no plan"`) {
			t.Errorf("%s: the second attempt: %+v", plan, fault)
		}
	}
}
