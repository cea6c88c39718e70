package db

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Each thing that is done in the inbox is one transaction over one row, or over rows that nobody else has locked.

// messageFor is a message to the run of a use case.
func messageFor(prefix, reason string) NewMessage {
	payload, err := canon.Parse([]byte(`{"n":1}`), canon.Limits{})
	if err != nil {
		panic(err)
	}
	return NewMessage{
		Key: MessageKey{spec.DefaultNamespace, "src:" + prefix}, Source: "src", Kind: "signal", RunID: theRun(prefix).RunID, Name: "paid",
		Payload: payload, Reason: reason, Hold: time.Hour, Room: 1000,
	}
}

const messageProbe = `select coalesce(max(state || ' ' || reason || ' ' || attempt || ' ' || taken::text || ' '
	|| (try_at > clock_timestamp())::text || ' ' || actor), '-') from inbox where message_id = 'src:' || $1`

// messages are those of deeds, by prefix, as they were before them. They are safe for concurrent use.
type messages struct{ byPrefix sync.Map }

func (ms *messages) of(prefix string) StoredMessage {
	m, _ := ms.byPrefix.Load(prefix)
	kept, _ := m.(StoredMessage)
	return kept
}

// kept keeps a message, which is dead if there is a reason.
func (ms *messages) kept(reason string) func(*faultRig, string) {
	return func(f *faultRig, prefix string) {
		m, err := f.HoldMessage(context.Background(), messageFor(prefix, reason))
		if err != nil {
			f.t.Fatal(err)
		}
		ms.byPrefix.Store(prefix, m)
	}
}

// taken keeps a message whose run is there, and takes it.
func (ms *messages) taken(f *faultRig, prefix string) {
	ms.kept("")(f, prefix)
	f.ok(f.startOf(at(prefix, "it")))
	all, err := f.TakeMessages(context.Background(), MessageWindow{}, 10, time.Hour)
	if err != nil || len(all) != 1 {
		f.t.Fatalf("%d taken, %v", len(all), err)
	}
	ms.byPrefix.Store(prefix, all[0])
}

func inboxDeeds() []deed {
	dead, held, settled, postponed := &messages{}, &messages{}, &messages{}, &messages{}
	ripe := func(f *faultRig, prefix string) {
		held.kept("")(f, prefix)
		f.ok(f.startOf(at(prefix, "it")))
	}
	all := []deed{
		{name: "hold a message", do: func(s *Store, prefix string) error {
			_, err := s.HoldMessage(context.Background(), messageFor(prefix, ""))
			return err
		}},
		{name: "bury a message", do: func(s *Store, prefix string) error {
			_, err := s.HoldMessage(context.Background(), messageFor(prefix, "schema"))
			return err
		}},
		{name: "take messages", before: ripe, do: func(s *Store, _ string) error {
			_, err := s.TakeMessages(context.Background(), MessageWindow{}, 10, time.Hour)
			return err
		}},
		{name: "settle a message", before: settled.taken, do: func(s *Store, prefix string) error {
			_, err := s.SettleMessage(context.Background(), settled.of(prefix), MessageDelivered, "")
			return err
		}},
		{name: "postpone a message", before: postponed.taken, do: func(s *Store, prefix string) error {
			_, err := s.PostponeMessage(context.Background(), postponed.of(prefix), time.Hour)
			return err
		}},
		{name: "replay a message", before: dead.kept("schema"), do: func(s *Store, prefix string) error {
			_, err := s.ReplayMessage(context.Background(), spec.DefaultNamespace, dead.of(prefix).Row, time.Hour, "ada")
			return err
		}},
		{name: "discard a message", before: dead.kept("schema"), do: func(s *Store, prefix string) error {
			_, err := s.DiscardMessage(context.Background(), spec.DefaultNamespace, dead.of(prefix).Row, "ada")
			return err
		}},
		{
			name: "sweep messages",
			before: func(f *faultRig, prefix string) {
				dead.kept("schema")(f, prefix)
				f.sql(`update inbox set state = 'discarded', resolved_at = now() - interval '1 day' where message_id = 'src:' || $1`, prefix)
			},
			do: func(s *Store, _ string) error {
				_, err := s.SweepMessages(context.Background(), 10, time.Hour)
				return err
			},
		},
	}
	for i := range all {
		all[i].probe, all[i].ways = messageProbe, slices.Concat(lostWays[:1], lateWays[:2], refusedWays("40001", "42601"))
	}
	return all
}
