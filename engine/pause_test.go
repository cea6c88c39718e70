package engine

import (
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/db"
)

// noChance is a source of randomness that always says zero: the shortest poll interval.
type noChance struct{}

func (noChance) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A dispatcher sleeps until the first of what is due, what may have been overlooked and the next poll, and never spins.
func TestPauseOfTheDispatcher(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := &dispatcher{poll: 1500 * time.Millisecond, random: noChance{}, clock: func() time.Time { return now }, ahead: time.Hour}
	poll := d.poll * 4 / 5
	in := func(ms int) *time.Time { return new(now.Add(d.ahead + time.Duration(ms)*time.Millisecond)) }
	for name, tc := range map[string]struct {
		done  db.Advanced
		spent time.Duration
		want  time.Duration
	}{
		"nothing is due":                     {db.Advanced{}, 0, poll},
		"the claim waited for a lock":        {db.Advanced{}, 500 * time.Millisecond, poll - 500*time.Millisecond},
		"the claim took longer than a poll":  {db.Advanced{}, 3 * time.Second, shortestWait},
		"a timer comes before the poll":      {db.Advanced{NextDue: in(700)}, 100 * time.Millisecond, 700 * time.Millisecond},
		"a timer comes behind the poll":      {db.Advanced{NextDue: in(7000)}, 0, poll},
		"a run is due and locked":            {db.Advanced{NextDue: in(-50)}, 0, shortestWait},
		"a look at everything is due before": {db.Advanced{NextDue: in(700), LookIn: 300 * time.Millisecond}, 0, 300 * time.Millisecond},
		"a look that the claim brought near": {db.Advanced{LookIn: 300 * time.Millisecond}, 100 * time.Millisecond, 200 * time.Millisecond},
		"a look that is overdue":             {db.Advanced{LookIn: 300 * time.Millisecond}, time.Second, shortestWait},
		"a timer comes before the look":      {db.Advanced{NextDue: in(200), LookIn: 300 * time.Millisecond}, 0, 200 * time.Millisecond},
	} {
		d.nextDue = time.Time{}
		d.nextClaim = now.Add(d.pause(tc.done, tc.spent))
		if got := d.until().Sub(now); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
