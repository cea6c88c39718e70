package db

import "testing"

// C04: the turn that opens a wait and the acceptance of its message, each held before every one of its statements while
// the other one runs as far as it can, and both held. Whatever the order, the two find each other.
func TestC04_AWaitAndItsMessageAlwaysMeet(t *testing.T) {
	t.Parallel()
	fightAll(t, []*duel{meeting})
}

// Two transactions that meet at a run, each held before every one of its statements while the other one goes as far as it
// can, and some in which both are held, each before every one. What comes of it is what one after the other would have
// come to, nothing hangs and nobody waits in a circle.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	for name, duels := range map[string][]*duel{
		"signals": signalDuels, "hooks": hookDuels, "starts": startDuels, "turns": turnDuels, "tokens": tokenDuels,
		"crossing": crossingDuels, "tasks": taskDuels, "updates": updateDuels,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fightAll(t, duels)
		})
	}
}
