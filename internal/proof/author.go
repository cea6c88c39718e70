package proof

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Sight is what workflow code sees of its run, in both drivers.
type Sight interface {
	Namespace() spec.Namespace
	Generation() int
	StartedAt() time.Time
	CancelRequested() bool
	// Peek counts the unread signals of a name.
	Peek(name string) int
	// Wait gives the payload that a wait took, or says that it timed out; neither while it is open, withdrawn or unknown.
	Wait(id string) (payload string, done, late bool)
	Fired(timer string) bool
	// Asked lists the updates of a name that are to be answered, Answered those that were given a result.
	Asked(name string) []Ask
	Answered(name string) []Ask
	// Step is "none", of one that is open, too, "done", "failed" or "cancelled"; told is the output, or why it failed.
	Step(id string) (state, told string)
	// Hook is "none", "open", "answered", "disposed", "expired" or "rejected"; told is the answer, or why it was rejected.
	Hook(id string) (state, told string)
	First(ids ...string) string
}

// Ask is an update, with its result where it has one.
type Ask struct{ ID, Payload, Result string }

// Wish is one command of a decision, in words that both drivers translate.
type Wish struct {
	// Do is wait, timer, wait-hook, create-hook, dispose-hook, wait-update, answer, reject, step, cancel-step,
	// complete, fail, cancelled or continue.
	Do      string
	ID      string
	Name    string         // the signal, the update, the step, or the declared name of the hook
	Token   string         // that the host supplies
	In      *time.Duration // from the turn that opens it
	Retry   spec.RetryPolicy
	At      *time.Time
	Value   any    // output, input or result
	Message string // of a failure or a rejection
}

// Code is workflow code that decides by a hash of what it sees, so that it asks for anything in any order and yet always
// decides alike. Its JSON is the input of a run.
type Code struct {
	Seed     int  `json:"seed"`
	Absolute bool `json:"absolute,omitempty"` // deadlines are points in time, not durations
	Parks    bool `json:"parks,omitempty"`    // every decision waits for something, so that there is always progress
	Holds    bool `json:"holds,omitempty"`    // some steps are held when their attempts are used up
	Host     bool `json:"host,omitempty"`     // the host supplies tokens, of which there are two for all runs of a trace
}

// ReadCode reads a run's input. Input that is none gives the zero Code.
func ReadCode(input []byte) Code {
	var c Code
	if json.Unmarshal(input, &c) != nil {
		return Code{}
	}
	return c
}

// Breaks are the ways in which code may be broken. None of them leaves a trace that mended code cannot live with.
var Breaks = []string{"error", "panic", "empty", "stranger", "early end"}

// ErrBroken is what code returns that is broken by an error.
var ErrBroken = errors.New("the code is broken")

// Decide decides. broken is how the code is broken, or "".
func (c Code) Decide(s Sight, broken string) ([]Wish, error) {
	switch broken {
	case "":
		return c.decide(s), nil
	case "error":
		return nil, ErrBroken
	case "panic":
		panic("the code is broken")
	case "stranger":
		return []Wish{{Do: "wait-hook", ID: "nobody"}}, nil
	case "early end":
		return []Wish{{Do: "complete"}, {Do: "wait", ID: "park", Name: "never"}}, nil
	}
	return nil, nil // no decision
}

func hookName(i, generation int) string {
	return fmt.Sprintf("h%d%d", i, generation/2) // generations 2n and 2n+1 share an ID
}

func (c Code) decide(s Sight) []Wish {
	h := fnv.New64a()
	see := func(what ...any) { _, _ = fmt.Fprintln(h, what...) }
	see(c.Seed, s.Generation(), s.CancelRequested(), s.Peek("a"))
	for _, id := range []string{"w0", "w1", "w2", "w3", "park"} {
		payload, done, late := s.Wait(id)
		see(payload, done, late)
	}
	see(s.Fired("t0"), s.Fired("t1"), s.First("w0", "w1", "t0"))
	for _, name := range []string{"u", "typed"} {
		see(s.Asked(name), s.Answered(name))
	}
	for _, id := range stepIDs {
		see(s.Step(id))
	}
	see(s.First(stepIDs...))
	asks := h.Sum64()%3 > 0
	if asks {
		see(s.First("w0", "w1", hookName(0, s.Generation()), hookName(1, s.Generation())))
		for i := range 3 {
			see(s.Hook(hookName(i, s.Generation())))
		}
	}
	b := supply(mixed(h.Sum64()))
	return c.wishes(s, asks, &b)
}

// supply is a supply of choices.
type supply uint64

func (b *supply) take(n supply) supply {
	v := *b % n
	*b /= n
	return v
}

func (c Code) wishes(s Sight, asks bool, b *supply) []Wish {
	if s.CancelRequested() && b.take(2) == 0 {
		return []Wish{{Do: "cancelled"}}
	}
	var all []Wish
	for i, id := range []string{"w0", "w1", "w2", "w3"} {
		if b.take(2) == 0 {
			continue
		}
		w := Wish{Do: "wait", ID: id, Name: []string{"a", "b", "a", "typed"}[i]}
		if i > 1 || i == 1 && s.Generation() == 1 {
			w.In, w.At = c.deadline(s, []int{0, 1, 4, 6}[i])
		}
		all = append(all, w)
	}
	for i, id := range []string{"t0", "t1"} {
		if b.take(2) == 1 {
			w := Wish{Do: "timer", ID: id}
			w.In, w.At = c.deadline(s, 2*(i+1))
			all = append(all, w)
		}
	}
	all = append(all, c.hooks(s, asks, b)...)
	all = append(all, c.answers(s, b)...)
	ending := c.ending(b)
	all = append(all, c.steps(ending.Do, b)...)
	if ending.Do != "" {
		return append(all, ending)
	}
	if c.Parks || len(all) == 0 || b.take(4) > 0 {
		all = append(all, Wish{Do: "wait", ID: "park", Name: "never"})
	}
	return all
}

func (c Code) ending(b *supply) Wish {
	switch b.take(60) {
	case 0:
		return Wish{Do: "complete", Value: map[string]any{"done": c.Seed}}
	case 1, 2, 3, 4, 5:
		next := c
		next.Seed++
		return Wish{Do: "continue", Value: next}
	case 6:
		return Wish{Do: "fail", Message: "no"}
	}
	return Wish{}
}

func (c Code) hooks(s Sight, asks bool, b *supply) []Wish {
	var all []Wish
	for i := range 3 {
		w := Wish{Do: "create-hook", ID: hookName(i, s.Generation()), Name: []string{"h0", "h1", "typed"}[i]}
		switch b.take(4) {
		case 0:
			continue
		case 1:
			w = Wish{Do: "dispose-hook", ID: w.ID}
		case 2:
			if state := "none"; asks {
				if state, _ = s.Hook(w.ID); state != "none" {
					w = Wish{Do: "wait-hook", ID: w.ID}
				}
			}
		}
		if w.Do == "create-hook" {
			if i < 2 {
				w.In, w.At = c.deadline(s, 3+2*i)
			}
			if c.Host {
				w.Token = HostToken(s.Namespace(), i%2)
			}
		}
		all = append(all, w)
	}
	return all
}

// answers settles some of the updates there are.
func (c Code) answers(s Sight, b *supply) []Wish {
	var all []Wish
	for _, name := range []string{"typed", "u"} {
		for i, ask := range s.Asked(name) {
			switch b.take(4) {
			case 0: // in another turn
			case 1:
				all = append(all, Wish{Do: "reject", ID: ask.ID, Message: fmt.Sprintf("not %s", ask.ID)})
			default:
				all = append(all, Wish{Do: "answer", ID: ask.ID, Value: map[string]any{"of": ask.ID, "place": i, "seed": c.Seed}})
			}
		}
	}
	if done := s.Answered("u"); len(done) > 0 && b.take(3) == 0 { // changes nothing
		all = append(all, Wish{Do: "answer", ID: done[0].ID, Value: "another answer"})
	}
	if b.take(4) == 0 {
		all = append(all, Wish{Do: "wait-update", Name: "u"})
	}
	return all
}

// deadline is so many seconds after the start of the run, or after the turn.
func (c Code) deadline(s Sight, seconds int) (*time.Duration, *time.Time) {
	d := time.Duration(seconds) * time.Second
	if !c.Absolute {
		return &d, nil
	}
	at := s.StartedAt().Add(d)
	return nil, &at
}

// HostToken is one of the two tokens that the host supplies in a trace, the same in both of its namespaces.
func HostToken(ns spec.Namespace, i int) string {
	trace, _, _ := strings.Cut(string(ns), "-")
	return fmt.Sprintf("host_token_%d_of_trace_%s", i, trace)
}
