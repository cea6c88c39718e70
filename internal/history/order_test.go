package history

import (
	"slices"
	"testing"
	"time"
)

// The order of settling has a place for everything that workflow code is shown, the wish to cancel too, each with its time,
// and tells apart what settled in a decision and what came over.
func TestOrderOfSettling(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	var events []Event
	event := func(second int, taken []int64, data Data) {
		events = append(events, Event{Generation: 1, Seq: int64(len(events) + 1), At: at(second), Taken: taken, Data: data})
	}
	due := at(4)
	event(0, nil, &RunStarted{Workflow: "w", Version: "1"})
	event(0, nil, &TimerStarted{TimerID: "timer", Due: due})
	event(0, nil, &WaitOpened{WaitID: "wait", Signal: "go"})
	event(0, nil, &HookCreated{HookID: "mine", Name: "mine"})
	event(0, nil, &HookCreated{HookID: "theirs", Name: "theirs"})
	event(1, nil, &SignalReceived{SignalID: "s", Name: "go"})
	event(2, nil, &RunCancelRequested{})
	event(3, nil, &HookResumed{HookID: "theirs"})
	event(9, []int64{6}, &WaitCompleted{WaitID: "wait", SignalID: "s", SignalSeq: 6})
	event(9, []int64{7}, &HookDisposed{HookID: "mine", ByCode: true})
	event(9, []int64{8}, &TimerFired{TimerID: "timer"})
	event(9, nil, &HookRejected{HookID: "taken", Reason: RejectTaken})
	s, err := Fold(RunKey{Namespace: "n", RunID: "r"}, nil, events)
	if err != nil {
		t.Fatal(err)
	}
	want := []Thing{
		{Kind: KindHook, ID: "mine", Place: 3, ByCode: true},
		{Kind: KindHook, ID: "taken", Place: 6, ByCode: true},
		{Kind: KindHook, ID: "theirs", Place: 4},
		{Kind: KindTimer, ID: "timer", Place: 5},
		{Kind: KindWait, ID: "wait", Name: "go", Place: 1},
	}
	got := s.Things()
	slices.SortFunc(got, func(a, b Thing) int { return slices.Compare([]string{a.ID}, []string{b.ID}) })
	if !slices.Equal(got, want) {
		t.Errorf("things %+v", got)
	}
	for _, w := range want {
		if one, ok := s.Thing(w.ID); !ok || one != w {
			t.Errorf("thing %s is %+v", w.ID, one)
		}
	}
	if _, ok := s.Thing("nobody"); ok || s.Settled() != 6 || s.CancelPlace() != 2 || s.Opening() != 0 {
		t.Errorf("%d settled, cancel at %d, opening %d", s.Settled(), s.CancelPlace(), s.Opening())
	}
	for place, second := range []int{0, 1, 2, 2, 3, 4, 4, 0} {
		if m := s.Moment(place); !m.Equal(at(second)) {
			t.Errorf("place %d was taken at %s", place, m)
		}
	}
}
