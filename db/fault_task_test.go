package db

import (
	"context"
	"errors"
	"slices"

	"github.com/flowgate-go/flowgate/internal/history"
)

// What workers do at the door is one statement, so it is done or not; what they do not know to be done they do again, or
// another one does when the lease has ended. Their names hold the prefix of the use case, so that each has tasks of its own.

// errNotOwn says that a task was not this worker's.
var errNotOwn = errors.New("not its own")

// nameOf is the name of the steps of a use case.
func nameOf(prefix string) string { return "charge " + prefix }

// stepDue has a run whose step is open, under a name of its own.
func stepDue(f *faultRig, prefix string) {
	f.ok(f.startOf(at(prefix, "it")))
	f.turns(f.fresh(), stepping)
	f.sql(`update tasks set name = $1 where run = (select id from runs where run_id = $2)`, nameOf(prefix), at(prefix, "it"))
}

// mended makes the rows of a use case what verifying wants.
func mended(f *faultRig, prefix string) {
	f.sql(`update tasks set name = 'charge' where name = $1`, nameOf(prefix))
}

func claimOf(s *Store, prefix string) ([]ClaimedTask, error) {
	claimed, err := s.ClaimTasks(context.Background(), TaskClaim{
		Worker: "w", Lease: aMinute, Wants: []TaskWant{{Kind: history.TaskStep, Name: nameOf(prefix), Most: 5}},
	})
	return claimed.Tasks, err
}

// begunSteps are the steps that were begun before a deed, by prefix.
type begunSteps map[string]ClaimedTask

// before has a step begun.
func (b begunSteps) before(f *faultRig, prefix string) {
	stepDue(f, prefix)
	claimed, err := claimOf(f.Store, prefix)
	if err != nil || len(claimed) != 1 {
		f.t.Fatalf("%d claimed, %v", len(claimed), err)
	}
	b[prefix] = claimed[0]
}

var taskWays = slices.Concat(lostWays[:1], lateWays[:2], refusedWays("40001", "42601"))

func claimDeed() deed {
	return deed{
		name: "claim tasks", before: stepDue, after: mended, ways: taskWays,
		do: func(s *Store, prefix string) error {
			_, err := claimOf(s, prefix)
			return err
		},
	}
}

func renewDeed() deed {
	begun := begunSteps{}
	return deed{
		name: "renew tasks", before: begun.before, after: mended, ways: taskWays,
		do: func(s *Store, prefix string) error {
			own, err := s.RenewTasks(context.Background(), "w", aMinute, []TaskLease{{Task: begun[prefix], Details: []byte("half")}})
			if err == nil && !own[0] {
				return errNotOwn
			}
			return err
		},
		probe: `select coalesce(max(convert_from(details, 'UTF8')), '-') from tasks where name = 'charge ' || $1`,
	}
}

func returnDeed() deed {
	begun := begunSteps{}
	return deed{
		name: "return a task", before: begun.before, after: mended, ways: taskWays,
		do: func(s *Store, prefix string) error { // again it is not its own any more
			_, err := s.ReturnTask(context.Background(), "w", begun[prefix], Attempt{Failed: true, Error: "no", Pause: aMinute})
			return err
		},
	}
}
