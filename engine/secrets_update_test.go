package engine_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// scribe refuses every update of the name "echo" with its own words, and answers none of the others.
var scribe = workflow{
	spec.WorkflowSpec{
		Name: "scribe", Version: "1",
		Updates: []spec.Update{{Name: "echo"}, {Name: "strict", Args: []byte(strict)}, {Name: "keep"}},
	},
	func(c *engine.Context) (engine.Decision, error) {
		all := []engine.Decision{c.Sleep("t", time.Hour)}
		for _, u := range c.Updates("echo") {
			all = append(all, c.RejectUpdate(u.ID, errors.New(string(u.Arg))))
		}
		return c.Await(all...), nil
	},
}

func (p *provocation) update(run spec.RunID, id spec.UpdateID, name string, payload []byte) error {
	return refusedBy(p.SendUpdate(p.ctx(), engine.UpdateRequest{RunID: run, UpdateID: id, Name: name, Payload: payload}))
}

func (p *provocation) ofUpdates() map[string]provoked {
	bad, good := brokenBy(p.minted), fmt.Appendf(nil, `{"n":%s}`, inNumber)
	for _, run := range []spec.RunID{"scribe", "orphan"} {
		p.start(scribe, run, nil)
	}
	for _, m := range []struct {
		run  spec.RunID
		id   spec.UpdateID
		name string
	}{{"scribe", "e", "echo"}, {"scribe", "k", "keep"}, {"orphan", "k", "keep"}} {
		payload := bad
		if m.name == "echo" {
			payload = encode(p.t, p.minted)
		}
		if err := p.update(m.run, m.id, m.name, payload); err != nil {
			p.t.Fatal(err)
		}
	}
	if _, err := p.Cancel(p.ctx(), engine.CancelRequest{RunID: "orphan", Reason: inText}); err != nil {
		p.t.Fatal(err)
	}
	_, rejected := p.WaitUpdate(p.ctx(), "scribe", "e")
	return map[string]provoked{
		"history.ErrUpdateUndeclared": {is: same(engine.ErrUpdateUndeclared), errs: []error{p.update("scribe", "x", inText, bad)}},
		"history.UpdateConflictError": {is: kind[*engine.UpdateConflictError], errs: []error{
			p.update("scribe", "k", "keep", good), p.update("scribe", "k", inText, bad),
		}},
		"db.ErrUpdateNotFound":       {is: same(engine.ErrUpdateNotFound), errs: []error{refusedBy(p.UpdateResult(p.ctx(), "scribe", inText))}},
		"engine.UpdateRejectedError": {is: kind[*engine.UpdateRejectedError], errs: []error{rejected}},
		"engine.UpdateOrphanedError": {is: kind[*engine.UpdateOrphanedError], errs: []error{refusedBy(p.WaitUpdate(p.ctx(), "orphan", "k"))}},
		"an argument of an update": {is: kind[*engine.SchemaError], keys: true, errs: []error{
			p.update("scribe", "x", "strict", bad), p.update("scribe", "x", "strict", encode(p.t, inText)),
		}},
		"the form of an update": {is: kind[*engine.InvalidError], errs: []error{
			p.update("scribe", spec.UpdateID(p.minted), "keep", bad), p.update("scribe", "x", p.minted, bad),
		}},
	}
}
