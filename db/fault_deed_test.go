package db

import (
	"context"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgfault"
)

// deed is what a process does at the door for itself: a transaction that is not tried again there, and that says done.
type deed struct {
	name   string
	before func(f *faultRig, prefix string)
	do     func(s *Store, prefix string) error
	after  func(f *faultRig, prefix string)
	probe  string // reads what it changes in one line of text, for a prefix
	ways   []faultWay
	steps  bool // it is several transactions
	least  int  // statements that may fail; 4 when zero
}

// deedWant says what the process may read.
func deedWant(m met, _ faultCall) []string {
	switch m.kind {
	case pgfault.Hold:
		return []string{doneWord}
	case pgfault.Refuse:
		return []string{refusedWith(m.state)}
	}
	return []string{unavailableWord}
}

// theRun is the run of a deed.
func theRun(prefix string) history.RunKey { return keyOf(at(prefix, "it")) }

func faultDeeds() []deed {
	begun := func(f *faultRig, prefix string) { f.ok(f.startOf(at(prefix, "it"))) }
	goOn := func(f *faultRig, prefix string) {
		f.sql(`update runs set wake_at = clock_timestamp() where starts_with(run_id, $1)`, prefix)
		f.turns(f.fresh(), approval)
	}
	return []deed{
		{
			name: "block", before: begun, after: goOn,
			do: func(s *Store, prefix string) error {
				return s.Block(context.Background(), theRun(prefix), 2, history.BlockBudget, "over 1 s")
			},
		},
		{
			name: "wake what is blocked", after: goOn, steps: true,
			before: func(f *faultRig, prefix string) { begun(f, prefix); f.blockFor(at(prefix, "it")) },
			do:     func(s *Store, _ string) error { return s.WakeBlocked(context.Background(), invoiceCode) },
		},
		{
			name: "advance one", before: begun, after: goOn,
			do: func(s *Store, prefix string) error {
				done, err := s.AdvanceOne(context.Background(), by(approval), theRun(prefix))
				if err == nil && len(done.Failed) > 0 {
					err = done.Failed[0].Err
				}
				return err
			},
			ways: slices.Concat(lostWays[:1], lateWays[:2], refusedWays("53100", "42601")),
		},
		claimDeed(), renewDeed(), returnDeed(), pageDeed(),
		{
			name: "heartbeat", probe: `select coalesce(string_agg(workflow || version, ' '), '') from workers where process = $1`,
			do:    func(s *Store, prefix string) error { return s.Heartbeat(context.Background(), prefix, invoiceCode) },
			least: 2,
			ways:  slices.Concat(lostWays[:1], lateWays[:2], refusedWays("40001", "42601")), // it is never idle in a transaction
		},
		{
			name: "leave", probe: `select coalesce(string_agg(workflow || version, ' '), '') from workers where process = $1`,
			before: func(f *faultRig, prefix string) {
				if err := f.Heartbeat(context.Background(), prefix, invoiceCode); err != nil {
					f.t.Fatal(err)
				}
			},
			do: func(s *Store, prefix string) error { return s.Leave(context.Background(), prefix) },
		},
		{
			name: "register a spec",
			probe: `select coalesce(string_agg(version || encode(v.digest, 'hex') || document, ' '), '')
				from spec_versions v join specs s on s.digest = v.digest where name = $1`,
			do: func(s *Store, prefix string) error {
				_, err := s.RegisterSpec(context.Background(), SpecRef{Name: prefix, Version: "1", Digest: sha256.Sum256([]byte("it"))},
					[]byte(`{}`), false)
				return err
			},
		},
		{
			name: "check keys", probe: `select coalesce(string_agg(kind || check_value::text, ' '), '') from keys where key_id = $1`,
			do: func(s *Store, prefix string) error {
				return s.CheckKeys(context.Background(), []KeyCheck{{Kind: MintKey, ID: prefix, Check: []byte("v")}})
			},
		},
	}
}

// What a process does for itself.
func TestFaultAtEveryStatementOfADeed(t *testing.T) {
	t.Parallel()
	nothing := func(*faultRig, string) {}
	for _, d := range slices.Concat(faultDeeds(), inboxDeeds()) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c := faultCase{
				calls: []faultCall{{run: "it", first: doneWord, again: doneWord}}, before: d.before, after: d.after,
				act: func(_ *faultRig, s *Store, prefix string) []string {
					return []string{readingOf(doneWord, d.do(s, prefix))}
				},
				want: deedWant, atLeast: positive(d.least, 4), ways: d.ways, steps: d.steps,
			}
			if c.ways == nil {
				c.ways = slices.Concat(lostWays[:1], lateWays, refusedWays("40001", "42601"))
			}
			if d.probe != "" {
				c.rows = func(f *faultRig, prefix string) map[string]string {
					return map[string]string{"it": value[string](f.acceptRig, d.probe, prefix)}
				}
			}
			if c.before == nil {
				c.before = nothing
			}
			if c.after == nil {
				c.after = nothing
			}
			testEveryStatement(t, c)
		})
	}
}
