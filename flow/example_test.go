package flow_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// The functions of this file are shown in docs/flow.md; TestDocs compares.

type (
	Order   struct{ ID string }
	Capture struct{ ID string }
	Booking struct{ ID string }
	Vote    struct{ Approved bool }
	Ballot  struct {
		Needed    int
		Approvers []string
	}
)

var retries = spec.ExponentialRetry(5, time.Second, time.Minute)

// Checkout waits an hour for the payment of an order.
func Checkout(w *flow.Workflow, in Order) (string, error) {
	payment, ok, err := flow.WaitForSignalTimeout[Capture](w, "payment", "payment.captured", time.Hour)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", fmt.Errorf("order %s was not paid in time", in.ID)
	}
	return payment.ID, nil
}

// Quorum asks everybody, stops when it is decided, and withdraws the rest.
func Quorum(w *flow.Workflow, in Ballot) (approved bool, err error) {
	var asked []*flow.Hook
	for _, name := range in.Approvers {
		asked = append(asked, flow.CreateHook(w, "approver-"+name, engine.As("vote")))
	}
	yes := 0
	for yes < in.Needed && yes+len(asked) >= in.Needed {
		hook, err := flow.Next(w, &asked)
		if err != nil {
			return false, err
		}
		if vote, err := flow.AwaitHook[Vote](hook); err == nil && vote.Approved {
			yes++
		}
	}
	flow.Dispose(asked...)
	return yes >= in.Needed, nil
}

// Remind asks for an approval again and again, until a deadline that runs through all rounds.
func Remind(w *flow.Workflow, in Order) (string, error) {
	approval := flow.CreateHook(w, "approval")
	deadline := flow.StartTimer(w, "deadline", 72*time.Hour)
	for day := 1; ; day++ {
		tick := flow.NewTimer(w, engine.ID("tick", day), 24*time.Hour)
		first, err := flow.Race(w, approval, deadline, tick)
		switch {
		case err != nil:
			return "", err
		case first == approval:
			vote, err := flow.AwaitHook[Vote](approval)
			return fmt.Sprintf("approved %t on day %d", vote.Approved, day), err
		case first == deadline:
			approval.Dispose()
			return "nobody answered", nil
		}
	}
}

// Cart gathers items, in whatever order they come, until somebody checks out or it has been left alone.
func Cart(w *flow.Workflow, _ Order) ([]string, error) {
	items, closed := []string{}, false
	flow.OnSignal(w, "item.added", func(item string) { items = append(items, item) })
	flow.OnSignal(w, "checked.out", func(any) { closed = true })
	met, err := flow.AwaitConditionTimeout(w, "abandoned", 24*time.Hour, func() bool { return closed })
	if err == nil && !met {
		err = errors.New("the cart was abandoned")
	}
	return items, err
}

// Trip books two things by steps, and gives back what it has when one fails or somebody asks to cancel.
func Trip(w *flow.Workflow, in Order) (string, error) {
	var booked []string
	for _, what := range []string{"flight", "hotel"} {
		booking := flow.StartStep[Booking](w, "book-"+what, "book."+what, in, retries)
		flow.Compensate(w, func() error {
			// Its outcome first: a wish to cancel may have come before it.
			if b, err := booking.Await(); err == nil {
				_, err := flow.Step[Booking](w, "cancel-"+what, "cancel."+what, b, retries)
				return err
			}
			return nil
		})
		b, err := booking.Await()
		if err != nil {
			return "", err
		}
		booked = append(booked, b.ID)
	}
	return strings.Join(booked, " and "), nil
}

// Counter lives for ever: each generation takes a thousand signals.
func Counter(w *flow.Workflow, sum int) (int, error) {
	for i := range 1000 {
		n, err := flow.WaitForSignal[int](w, engine.ID("add", i), "add")
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return 0, flow.ContinueAsNew(w, sum)
}

// A quorum: two of three approve.
func ExampleNext() {
	run, err := rehearse(flow.Func(Quorum), spec.WorkflowSpec{Name: "quorum", Version: "1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	steps := []func() error{
		func() error { return second(run.Start([]byte(`{"Needed":2,"Approvers":["ada","bob","eve"]}`), nil)) },
		func() error { return second(run.ResumeHook("approver-bob", []byte(`{"Approved":false}`))) },
		func() error { return second(run.ResumeHook("approver-eve", []byte(`{"Approved":true}`))) },
		func() error { return second(run.ResumeHook("approver-ada", []byte(`{"Approved":true}`))) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			fmt.Println(err)
		}
	}
	snapshot, err := run.Snapshot()
	fmt.Println(snapshot.Status, string(snapshot.Output), err)
	// Output: completed true <nil>
}

func second(_ engine.Receipt, err error) error { return err }

// rehearse prepares a run in memory.
func rehearse(fn engine.Workflow, s spec.WorkflowSpec) (*engine.Rehearsal, error) {
	key := []tokens.Key{{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}}
	keys, err := tokens.NewKeyring(key, key)
	if err != nil {
		return nil, err
	}
	return engine.Rehearse(s, fn, engine.RehearsalConfig{
		Namespace: spec.DefaultNamespace, RunID: "run", Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Keys: keys, Random: rand.Reader,
	})
}
