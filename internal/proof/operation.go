package proof

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Verb says what an operation does.
type Verb string

// The verbs. The first group are messages, the second reads, the third happens to the deployment and not to one run.
const (
	Start   Verb = "start"
	Signal  Verb = "signal"
	Update  Verb = "update"
	Resume  Verb = "resume"
	Dispose Verb = "dispose"
	Cancel  Verb = "cancel"
	End     Verb = "terminate"
	Retry   Verb = "retry"

	Snapshot Verb = "snapshot"
	Receipt  Verb = "receipt"
	Hook     Verb = "hook"
	Fate     Verb = "fate" // of an update
	Events   Verb = "events"

	Break   Verb = "break"   // the code of one run, in a way that Name names
	Mend    Verb = "mend"    // the code of one run
	Pass    Verb = "pass"    // time goes by
	Turns   Verb = "turns"   // what is due runs until nothing is; at no other time
	Work    Verb = "work"    // steps are done until none is due; at no other time
	Restart Verb = "restart" // one engine ends and another begins

	// Again is a message that was sent before. Resolve replaces it.
	Again Verb = "again"
)

// Holder says how an answer to a hook names it.
type Holder string

// The holders. A token is resolved in all namespaces for a stranger, in one for an authorised caller.
const (
	ByIDs    Holder = ""
	Stranger Holder = "by token"
	Owner    Holder = "by token, in its namespace"
	Other    Holder = "by token, in another namespace"
)

// Bare names an engine that has no code.
const Bare = "bare"

// Operation is one step of a trace. Which fields count depends on the verb.
type Operation struct {
	Verb    Verb
	Via     int        // which engine is asked, or restarted
	Space   int        // which namespace of the trace: 0 or 1
	Run     spec.RunID // in it
	ID      string     // of the signal, the update or the hook
	Name    string     // of the workflow, the signal, the update or the break; of an engine that restarts, Bare or empty
	Version string     // of the workflow; empty names none
	Payload string     // JSON as sent
	Holder  Holder
	For     time.Duration // that passes
	Back    int           // of Again: how many messages ago it was sent
}

// Key names the run of the operation in a trace of this name.
func (o Operation) Key(trace string) history.RunKey {
	return history.RunKey{Namespace: Namespace(trace, o.Space), RunID: o.Run}
}

// Namespace is the name of a trace's first or second namespace.
func Namespace(trace string, space int) spec.Namespace {
	return spec.Namespace(fmt.Sprintf("%s-%d", trace, space))
}

// Global says that the operation is not about one run, so that it may not be done beside others.
func (o Operation) Global() bool {
	switch o.Verb {
	case Pass, Turns, Work, Restart:
		return true
	default:
		return false
	}
}

// Message says that the operation asks a run to take something, so that its answer is a verdict.
func (o Operation) Message() bool {
	switch o.Verb {
	case Start, Signal, Update, Resume, Dispose, Cancel, End, Retry:
		return true
	default:
		return false
	}
}

// carries says that the operation is a message with one of the Payloads.
func (o Operation) carries() bool { return o.Verb == Signal || o.Verb == Update || o.Verb == Resume }

// String is the operation in one line.
func (o Operation) String() string {
	words := []string{string(o.Verb)}
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch o.Verb {
	case Turns, Work:
	case Pass:
		say("%s", o.For)
	case Restart:
		say("engine %d %s", o.Via, o.Name)
	case Break, Mend:
		say("%d/%s %s", o.Space, o.Run, o.Name)
	case Start:
		say("%d/%s %s@%s %s via %d", o.Space, o.Run, o.Name, o.Version, o.Payload, o.Via)
	default:
		say("%d/%s %s %s %s %s via %d", o.Space, o.Run, o.ID, o.Name, o.Payload, o.Holder, o.Via)
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// Trace is a list of operations, done one after the other.
type Trace []Operation

// String is the trace with one operation per line.
func (t Trace) String() string {
	var b strings.Builder
	for i, o := range t {
		fmt.Fprintf(&b, "\n%3d  %s", i, o)
	}
	return b.String()
}

// GoString is String, which is what a failing property test prints.
func (t Trace) GoString() string { return t.String() }

// Waves cuts the trace into parts whose operations may be done in any order or at the same time, because no two are of one
// run and none is global: drivers that are slow alone may do them together.
func (t Trace) Waves() []Trace {
	var waves []Trace
	var wave Trace
	busy := map[history.RunKey]bool{}
	for _, o := range t {
		key := o.Key("")
		if len(wave) > 0 && (o.Global() || wave[0].Global() || busy[key]) {
			waves, wave = append(waves, wave), nil
			clear(busy)
		}
		wave = append(wave, o)
		busy[key] = true
	}
	if len(wave) > 0 {
		waves = append(waves, wave)
	}
	return waves
}
