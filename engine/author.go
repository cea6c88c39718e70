package engine

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/tokens"
)

// author is the goroutine that runs workflow code for one turn. Calls are handed to it one at a time; between them the
// state belongs to the turn, during one to the code. A call that does not return in time is abandoned: then the state
// is the goroutine's alone and nobody else touches it again.
type author struct {
	x       *executor
	req     turnRequest
	calls   chan *Context
	answers chan answer   // holds one, so that the goroutine never waits for a turn that has gone
	ended   chan struct{} // closed when the goroutine ends
	timer   *time.Timer
	fault   atomic.Pointer[string] // see Turn.Fault

	current *Context // of the call under way; the goroutine's own
	parked  bool     // the function waits in Turn.Next; the goroutine's during a call

	mu        sync.Mutex
	over      bool // the goroutine has ended
	abandoned bool
}

// answer is what one call returned: a decision, or why the run is to be blocked.
type answer struct {
	decision Decision
	block    *block
}

func startAuthor(x *executor, req turnRequest) *author {
	a := &author{
		x: x, req: req, calls: make(chan *Context), answers: make(chan answer, 1), ended: make(chan struct{}),
		timer: time.NewTimer(x.callBudget),
	}
	go a.run()
	return a
}

// leave tells the goroutine that no call follows. A function that waits in Turn.Next is unwound, and waited for: what its
// deferred functions do is over when the turn is. One that is in a call ends after it.
func (a *author) leave() {
	close(a.calls)
	defer a.timer.Stop()
	if a.isAbandoned() || !a.parked {
		return
	}
	a.timer.Reset(a.x.callBudget)
	select {
	case <-a.ended:
	case <-a.timer.C:
		a.abandon()
	}
}

// call runs the function once. It reports false when the call was abandoned: the state must not be used again.
func (a *author) call(st *history.State, now time.Time) (answer, bool) {
	ctx := &Context{reads: reads{state: st}, spec: a.req.code.spec, auth: a.req.code.auth, now: now, keys: a.x.keys, author: a}
	a.timer.Reset(a.x.callBudget)
	a.calls <- ctx
	select {
	case ans := <-a.answers:
		if b := a.faulted(); b != nil {
			return answer{block: b}, true
		}
		return ans, true
	case <-a.timer.C:
		ctx.end()
		a.abandon()
		b := a.faulted()
		if b == nil {
			b = &block{history.BlockBudget, fmt.Sprintf("a call of the workflow function ran longer than %s", a.x.callBudget)}
		}
		return answer{block: b}, false
	}
}

// faulted is why the run is to be blocked whatever the code decided; nil in any good turn.
func (a *author) faulted() *block {
	if words := a.fault.Load(); words != nil {
		return &block{history.BlockNonDeterminism, diagnosis(*words)}
	}
	return nil
}

// abandon counts the goroutine as stuck until it ends.
func (a *author) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.abandoned = true
		a.x.stuck.enter(a.req.run.Key, a.req.code.spec.Name)
	}
}

func (a *author) isAbandoned() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.abandoned
}

func (a *author) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.abandoned {
		a.x.stuck.leave(a.req.run.Key, a.req.code.spec.Name)
	}
	close(a.ended)
}

// run is the goroutine. It survives a panic of the function or of an error it returned, and notices when the function
// ends the goroutine.
func (a *author) run() {
	defer a.end()
	defer func() {
		r := recover()
		switch {
		case a.current != nil && r != nil:
			a.answer(answer{block: &block{history.BlockPanic, panicWords(r)}})
		case a.current != nil:
			a.answer(answer{block: &block{history.BlockPanic, "the workflow function ended its goroutine (runtime.Goexit)"}})
		case r != nil: // no call is under way that it could answer
			a.x.log.Warn().Str("workflow", a.req.code.spec.Name).Msg("after its turn, " + panicWords(r))
		}
	}()
	for ctx := range a.calls {
		a.current = ctx
		a.answer(judge(a.req.code.fn(ctx)))
	}
}

// answer ends the call under way.
func (a *author) answer(ans answer) {
	a.current.end()
	a.current = nil
	a.answers <- ans
}

// next answers the call under way and waits for the next one, on the goroutine.
func (a *author) next(ctx *Context, d Decision) *Context {
	ctx.use()
	ans := judge(d, nil)
	a.parked = true
	a.answer(ans)
	following, more := <-a.calls
	if !more {
		runtime.Goexit()
	}
	a.parked, a.current = false, following
	return following
}

// judge separates what the function returned into a decision and reasons to block. The text of an error is the author's
// code too, which may panic.
func judge(d Decision, err error) answer {
	switch {
	case err != nil && factual(err):
		return answer{decision: Decision{commands: []history.Command{&history.Fail{Message: diagnosis(err.Error())}}}}
	case err != nil:
		return answer{block: &block{history.BlockError, diagnosis(err.Error())}}
	case d.err != nil:
		return answer{block: &block{causeOf(d.err), diagnosis(d.err.Error())}}
	default:
		return answer{decision: d}
	}
}

// causeOf is the cause that a decision's error names, or that of a bad argument.
func causeOf(err error) history.BlockCause {
	var r *refusedTurn
	if errors.As(err, &r) {
		return r.cause
	}
	return history.BlockDecision
}

func panicWords(r any) string {
	return fmt.Sprintf("the workflow function panicked with a value of type %T at %s", r, panicPlace())
}

// panicPlace names the function, file and line that panicked: the first frame below the runtime's own. The value of a
// panic may hold a payload, so it is not told.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	below := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if below && !inRuntime {
			return fmt.Sprintf("%s (%s:%d)", f.Function, path.Base(f.File), f.Line)
		}
		below = below || inRuntime
		if !more {
			return "an unknown place"
		}
	}
}

// maxText bounds the texts of authors that end in an event, in bytes.
const maxText = 1024

// diagnosis makes an author's text fit to be stored and shown in one line. What looks like a token is kept from it,
// before the cut, which could leave most of one.
func diagnosis(text string) string { return clip(string(tokens.Scrub([]byte(oneLine(text)))), maxText) }

// oneLine makes a text valid UTF-8 without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clip cuts a text to at most n bytes, between characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
