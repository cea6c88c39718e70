package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// eldersKept is how many messages of a round are sent again at the very end.
const eldersKept = 40

// elder is a message of an earlier round, and what the last answer to it was.
type elder struct {
	message message
	answer  entry
}

// chooseElders keeps some of the messages of a round. Those to runs that the sweep has cancelled since are no good: a
// refusal of theirs may have changed.
func chooseElders(c *callers, rng *rand.Rand) []elder {
	last := map[identity]entry{}
	for _, e := range c.ledger.read() {
		if e.acknowledged() {
			last[e.identity()] = e
		}
	}
	var kept []elder
	for id, m := range c.sent {
		answer, acknowledged := last[id]
		if acknowledged && rng.IntN(len(last)) < 2*eldersKept {
			kept = append(kept, elder{m, answer})
		}
		if len(kept) == eldersKept {
			break
		}
	}
	return kept
}

// askElders sends them again: they must be duplicates with the receipts of then.
func (s *soak) askElders(ctx context.Context) ([]violation, error) {
	l, err := openLedger(filepath.Join(s.dir, "ledger-end.jsonl"), s.tally)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.close() }()
	c := newCallers(s.cluster, l)
	c.phase = phaseAgain
	rng := rand.New(rand.NewPCG(s.seed, 7))
	var found []violation
	for _, old := range s.elders {
		e, err := c.settle(ctx, old.message, rng)
		if err != nil {
			return found, err
		}
		if !e.acknowledged() || old.answer.Receipt != e.Receipt {
			found = append(found, violation{old.message.run, fmt.Sprintf("%s: %s %s with receipt %v, before %v",
				old.message.identity, e.Verdict, e.Code, e.Receipt, old.answer.Receipt)})
		}
	}
	return found, nil
}

// verify has Flowgate fold every run and compare its rows with that.
func (s *soak) verify(ctx context.Context) error {
	log := filepath.Join(s.dir, "verify.log")
	p, err := launch(ctx, log, append(s.cluster.env, "FLOWGATE_DATABASE_URL="+s.db.server.URL()), "verify")
	if err != nil {
		return err
	}
	<-p.ended
	if p.err != nil {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %.2000s", p.err, text)
	}
	return nil
}
