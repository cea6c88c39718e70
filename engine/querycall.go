package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
)

// QueryFunc answers one query. The answer is encoded as JSON of at most 4 MiB. A returned error refuses this argument in
// this state, with the error's text for the caller; a *SchemaError names places of the argument.
//
// It must be a pure function of what the QueryContext shows, and is bounded like a call of the workflow function, by
// Config.CallBudget. Whatever it does, the run goes on undisturbed.
type QueryFunc func(q *QueryContext) (any, error)

// question is one query of one run, on a state that nobody else uses.
type question struct {
	name string
	q    *QueryContext
}

func newQuestion(name string, st *history.State, arg canon.Payload) question {
	settled := st.ShowAccepted()
	return question{name: name, q: &QueryContext{reads: reads{state: st}, arg: arg, settled: settled}}
}

// queryAnswer is what a handler came to.
type queryAnswer struct {
	result canon.Payload
	err    error
}

// query has the handler answer, in a goroutine of its own that is abandoned when the budget is used up.
func (x *executor) query(ctx context.Context, code registration, auth *authority, ask question) (json.RawMessage, error) {
	timer := time.NewTimer(x.callBudget)
	defer timer.Stop()
	select {
	case code.slots <- struct{}{}:
	case <-timer.C:
		return nil, fmt.Errorf("%w: too many queries of %s are under way", ErrUnavailable, codeOf(code.spec))
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the caller's time is over", ErrUnavailable)
	}
	timer.Reset(x.callBudget)
	c := &queryCall{x: x, code: code, ask: ask, answers: make(chan queryAnswer, 1)}
	go c.run()
	select {
	case ans := <-c.answers:
		return x.settle(code, auth, ask, ans)
	case <-timer.C:
		c.abandon()
		return nil, x.failed(code, &QueryFailedError{
			Query: ask.name, Fault: QueryOverBudget, Diagnosis: fmt.Sprintf("the handler ran longer than %s", x.callBudget),
		})
	case <-ctx.Done():
		c.abandon()
		return nil, fmt.Errorf("%w: the caller's time is over", ErrUnavailable)
	}
}

// settle checks the answer against the schema that callers were promised.
func (x *executor) settle(code registration, auth *authority, ask question, ans queryAnswer) (json.RawMessage, error) {
	var fault *QueryFailedError
	if errors.As(ans.err, &fault) {
		return nil, x.failed(code, fault)
	}
	if ans.err != nil {
		return nil, ans.err
	}
	if err := auth.queries[ask.name].response.Validate(ans.result.Bytes()); err != nil {
		return nil, x.failed(code, &QueryFailedError{Query: ask.name, Fault: QueryMisanswers, Diagnosis: diagnosis(err.Error())})
	}
	return ans.result.Bytes(), nil
}

// failed tells the operator what no caller may mend.
func (x *executor) failed(code registration, e *QueryFailedError) error {
	x.log.Warn().Str("workflow", code.spec.Name).Str("version", code.spec.Version).Str("query", e.Query).
		Str("fault", string(e.Fault)).Msg("the handler of a query failed")
	return e
}

// The states of a queryCall.
const (
	queryUnderWay int32 = iota
	queryOver
	queryAbandoned
)

// queryCall is the goroutine of one call of a handler.
type queryCall struct {
	x       *executor
	code    registration
	ask     question
	answers chan queryAnswer // holds one, so that the goroutine never waits for a caller that has gone
	state   atomic.Int32
}

// abandon counts the call until its goroutine ends; its place among those under way stays taken as long.
func (c *queryCall) abandon() {
	c.ask.q.end()
	if c.state.CompareAndSwap(queryUnderWay, queryAbandoned) {
		c.x.strayQueries.Add(1)
	}
}

func (c *queryCall) end() {
	if !c.state.CompareAndSwap(queryUnderWay, queryOver) {
		c.x.strayQueries.Add(-1)
	}
	<-c.code.slots
}

// run survives a panic of the handler, of its answer's encoding and of its error's text, and notices when one of them
// ends the goroutine.
func (c *queryCall) run() {
	defer c.end()
	answered := false
	defer func() {
		c.ask.q.end()
		if answered {
			return
		}
		fault := &QueryFailedError{Query: c.ask.name, Fault: QueryPanicked, Diagnosis: "the handler ended its goroutine (runtime.Goexit)"}
		if r := recover(); r != nil {
			fault.Diagnosis = fmt.Sprintf("the handler panicked with a value of type %T at %s", r, panicPlace())
		}
		c.answers <- queryAnswer{err: fault}
	}()
	ans := c.answer()
	answered = true
	c.answers <- ans
}

func (c *queryCall) answer() queryAnswer {
	result, err := c.code.queries[c.ask.name](c.ask.q)
	if err != nil {
		return queryAnswer{err: refusal(c.ask.name, err)}
	}
	if _, decided := result.(Decision); decided {
		return c.misanswers("a query answers, it does not decide")
	}
	p, err := canon.Marshal(result)
	if err != nil {
		return c.misanswers(encodeError(err).Error())
	}
	return queryAnswer{result: p}
}

func (c *queryCall) misanswers(why string) queryAnswer {
	return queryAnswer{err: &QueryFailedError{Query: c.ask.name, Fault: QueryMisanswers, Diagnosis: diagnosis(why)}}
}
