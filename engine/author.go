package engine

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
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
	answers chan answer // holds one, so that the goroutine never waits for a turn that has gone
	timer   *time.Timer

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
		x: x, req: req, calls: make(chan *Context), answers: make(chan answer, 1), timer: time.NewTimer(x.callBudget),
	}
	go a.run()
	return a
}

// leave tells the goroutine that no call follows. One that is in a call ends after it.
func (a *author) leave() {
	a.timer.Stop()
	close(a.calls)
}

// call runs the function once. It reports false when the call was abandoned: the state must not be used again.
func (a *author) call(st *history.State, now time.Time) (answer, bool) {
	ctx := &Context{reads: reads{state: st}, spec: a.req.code.spec, now: now, keys: a.x.keys}
	a.timer.Reset(a.x.callBudget)
	a.calls <- ctx
	select {
	case ans := <-a.answers:
		return ans, true
	case <-a.timer.C:
		ctx.end()
		a.abandon()
		return answer{}, false
	}
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

func (a *author) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.abandoned {
		a.x.stuck.leave(a.req.run.Key, a.req.code.spec.Name)
	}
}

// run is the goroutine. It survives a panic of the function or of an error it returned, and notices when the function
// ends the goroutine.
func (a *author) run() {
	var current *Context
	defer a.end()
	defer func() {
		if current == nil {
			return
		}
		current.end()
		b := &block{history.BlockPanic, "the workflow function ended its goroutine (runtime.Goexit)"}
		if r := recover(); r != nil {
			b.diagnosis = fmt.Sprintf("the workflow function panicked with a value of type %T at %s", r, panicPlace())
		}
		a.answers <- answer{block: b}
	}()
	for ctx := range a.calls {
		current = ctx
		ans := judge(a.req.code.fn(ctx))
		ctx.end()
		current = nil
		a.answers <- ans
	}
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
		return answer{block: &block{history.BlockDecision, diagnosis(d.err.Error())}}
	default:
		return answer{decision: d}
	}
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
