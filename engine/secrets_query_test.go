package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// oracleSpec is a workflow whose query gives away what it gets.
var oracleSpec = spec.WorkflowSpec{
	Name: "oracle", Version: "1",
	Queries: []spec.Query{{Name: "leak", Response: []byte(`{"type":"null"}`)}, {Name: "strict", Args: []byte(strict)}},
}

func asleep(c *engine.Context) (engine.Decision, error) { return c.Sleep("t", time.Hour), nil }

type leak struct {
	How  string `json:"how"`
	What string `json:"what"`
}

// oracle has the code of oracleSpec. What of the query's argument goes where is said by the argument.
var oracle = []engine.CodeOption{
	engine.Query("strict", func(*engine.QueryContext, any) (any, error) { return nil, nil }),
	engine.Query("leak", func(q *engine.QueryContext, l leak) (any, error) {
		switch l.How {
		case "panic":
			panic(l.What)
		case "panicking error":
			return nil, panicsAsError(l.What)
		case "panicking JSON":
			return panicsAsJSON(l.What), nil
		case "failing JSON":
			return failsAsJSON(l.What), nil
		case "unreadable":
			return engine.Input[map[string]int8](q)
		case "error":
			return nil, fmt.Errorf("no answer to %s", l.What)
		case "violation":
			return nil, &engine.SchemaError{Violations: []engine.Violation{{Pointer: "/" + l.What, Message: l.What}}}
		}
		return l.What, nil
	}),
}

func (p *provocation) leak(how, what string) error {
	return refusedBy(p.Query(p.ctx(), "asked", "leak", encode(p.t, leak{how, what})))
}

func (p *provocation) ofQueries() map[string]provoked {
	all := strings.Join([]string{inText, inKey, inNumber, hostSecret, p.minted}, " ")
	bad := brokenBy(p.minted)
	var failed []error
	for _, how := range []string{"panic", "panicking error", "panicking JSON", "failing JSON", "unreadable", "answer"} {
		failed = append(failed, p.leak(how, all))
	}
	bare := idle(p.t, testConfig(p.t, p.pool))
	return map[string]provoked{
		"engine.ErrQueryUndeclared": {is: same(engine.ErrQueryUndeclared), errs: []error{
			refusedBy(p.Query(p.ctx(), "asked", inText, bad)), refusedBy(p.Query(p.ctx(), "run", inText, bad)),
		}},
		"engine.ErrCodeMissing": {is: same(engine.ErrCodeMissing), errs: []error{
			refusedBy(bare.Query(p.ctx(), "asked", "leak", bad)),
		}},
		"engine.QueryFailedError":  {is: kind[*engine.QueryFailedError], errs: failed},
		"engine.QueryRefusedError": {is: kind[*engine.QueryRefusedError], errs: []error{p.leak("error", p.minted)}},
		"an argument": {is: kind[*engine.SchemaError], keys: true, errs: []error{
			refusedBy(p.Query(p.ctx(), "asked", "strict", bad)), refusedBy(p.Query(p.ctx(), "asked", "leak", []byte(`"`+inText+`"`))),
			refusedBy(p.Query(p.ctx(), "asked", "leak", fmt.Appendf(nil, `{"how":{%q:%q}}`, inText, p.minted))), p.leak("violation", p.minted),
		}},
		"a form": {is: kind[*engine.InvalidError], errs: []error{
			refusedBy(p.Query(p.ctx(), "asked", p.minted, bad)), refusedBy(p.Query(p.ctx(), spec.RunID(p.minted), "leak", bad)),
			bare.Register(oracleSpec, asleep, engine.OnQuery(p.minted, misbehave)),
		}},
	}
}

// The operator's log tells that a handler is at fault, and not what it held.
func TestSecretsOfQueriesAreNotLogged(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	cfg := testConfig(t, pgtest.New(t))
	cfg.Logger, cfg.Dev = zerolog.New(&log), true
	r := idle(t, cfg)
	if err := r.Register(oracleSpec, asleep, oracle...); err != nil {
		t.Fatal(err)
	}
	r.run()
	r.start(workflow{oracleSpec, asleep}, "asked", nil)
	p := &provocation{rig: r, minted: mintedToken(t)}
	for _, how := range []string{"panic", "panicking error", "failing JSON", "error", "violation", "answer"} {
		if err := p.leak(how, inText+" "+p.minted); err == nil {
			t.Errorf("%s: answered", how)
		}
	}
	said := log.String()
	if n := strings.Count(said, "the handler of a query failed"); n != 4 || hold(said, inText, strings.TrimPrefix(p.minted, "fhk_")) != nil {
		t.Errorf("logged %d faults: %s", n, said)
	}
}
