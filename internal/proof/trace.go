package proof

import (
	"encoding/json"
	"fmt"
	"time"
)

// Choose picks one of n, by chance or by the wish of who shrinks a failing trace; 0 is the simplest.
type Choose func(what string, n int) int

// Shape bounds what traces talk about.
type Shape struct {
	Holds   bool // some steps wait for somebody when their attempts are used up
	Engines int  // the last of which has no code
	Signals int  // IDs of signals, and as many of updates
}

func pick[T any](c Choose, what string, from ...T) T { return from[c(what, len(from))] }

// DrawStart draws the start of a run. Few of them are wrong.
func (s Shape) DrawStart(c Choose) Operation {
	o := s.about(c, Start)
	code := Code{Seed: c("seed", 1<<20)}
	code.Absolute, code.Parks, code.Host = c("absolute", 2) == 1, c("parks", 3) > 0, c("host", 4) == 1
	code.Holds = s.Holds && c("holds", 4) == 1
	text, _ := json.Marshal(code)
	o.Payload = string(text)
	o.Name = pick(c, "workflow", Plain, Plain, Plain, Cooperative, Cooperative, Cooperative, Cooperative, Missing)
	o.Version = pick(c, "version", "", "1")
	if o.Name == Plain {
		o.Version = pick(c, "version of two", "", "1", "2")
	}
	return o
}

// DrawFirst draws the start of the run that most operations are about. It is not wrong.
func (s Shape) DrawFirst(c Choose) Operation {
	o := s.DrawStart(c)
	o.Space, o.Run = 0, "r0"
	if o.Name == Missing {
		o.Name = Plain
	}
	return o
}

func (s Shape) about(c Choose, verb Verb) Operation {
	o := Operation{Verb: verb, Run: "r0"}
	switch c("run", 8) {
	case 6:
		o.Run = "r1"
	case 7:
		o.Space = 1 // a run of the same name in another namespace
	}
	o.Via = s.via(c)
	return o
}

// via is mostly the engine without code: the others look for due runs after each message, which takes time and, while
// turns are held, shows nothing.
func (s Shape) via(c Choose) int { return min(c("engine", s.Engines+5), s.Engines-1) }

// kinds are the operations but for starts, by how often they are drawn.
var kinds = []struct {
	weight int
	draw   func(Shape, Choose) Operation
}{
	{24, Shape.drawSignal},
	{14, func(_ Shape, _ Choose) Operation { return Operation{Verb: Turns} }},
	{10, func(_ Shape, _ Choose) Operation { return Operation{Verb: Work} }},
	{12, func(_ Shape, c Choose) Operation { return Operation{Verb: Pass, For: drawPause(c)} }},
	{12, Shape.drawUpdate},
	{12, func(s Shape, c Choose) Operation { return s.drawHook(c, Resume) }},
	{6, func(s Shape, c Choose) Operation { return s.drawHook(c, Dispose) }},
	{12, func(s Shape, c Choose) Operation { return Operation{Verb: Again, Via: s.via(c), Back: c("back", 12)} }},
	{4, func(s Shape, c Choose) Operation { return s.about(c, Retry) }},
	{2, func(s Shape, c Choose) Operation { return s.about(c, Cancel) }},
	{1, func(s Shape, c Choose) Operation { return s.about(c, End) }},
	{3, Shape.drawBreak},
	{5, func(s Shape, c Choose) Operation { return s.about(c, Mend) }},
	{6, Shape.drawRead},
	{2, Shape.DrawStart},
	{1, Shape.drawRestart},
}

// Draw draws an operation.
func (s Shape) Draw(c Choose) Operation {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := c("operation", total)
	for _, k := range kinds {
		if n < k.weight {
			return k.draw(s, c)
		}
		n -= k.weight
	}
	panic("proof: a choice out of range")
}

func (s Shape) drawSignal(c Choose) Operation {
	o := s.about(c, Signal)
	o.ID = fmt.Sprint("s", c("signal", s.Signals))
	o.Name = pick(c, "name", "a", "b", "typed", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "never", "undeclared")
	o.Payload = drawPayload(c)
	return o
}

// drawUpdate draws an update. Its ID may be that of a signal: that means nothing.
func (s Shape) drawUpdate(c Choose) Operation {
	o := s.about(c, Update)
	o.ID = fmt.Sprint("s", c("update", s.Signals))
	o.Name = pick(c, "name", "u", "typed", "u", "typed", "u", "u", "typed", "u", "undeclared")
	o.Payload = drawPayload(c)
	return o
}

func (s Shape) drawHook(c Choose, verb Verb) Operation {
	o := s.about(c, verb)
	o.ID = drawHookID(c)
	o.Holder = pick(c, "holder", ByIDs, ByIDs, ByIDs, Stranger, Stranger, Stranger, Owner, Other)
	if verb == Resume {
		o.Payload = drawPayload(c)
	}
	return o
}

func drawHookID(c Choose) string { return hookName(c("hook", 3), pick(c, "generation", 1, 1, 1, 2)) }

func (s Shape) drawBreak(c Choose) Operation {
	o := s.about(c, Break)
	o.Name = pick(c, "break", Breaks...)
	return o
}

func (s Shape) drawRead(c Choose) Operation {
	o := s.about(c, pick(c, "read", Snapshot, Receipt, Fate, Hook, Events))
	if o.Verb == Receipt || o.Verb == Fate {
		o.ID = fmt.Sprint("s", c("signal", s.Signals))
	}
	if o.Verb == Hook {
		o.ID = drawHookID(c)
	}
	return o
}

func (s Shape) drawRestart(c Choose) Operation {
	o := Operation{Verb: Restart, Via: c("engine", s.Engines)}
	if o.Via == s.Engines-1 {
		o.Name = Bare
	}
	return o
}

func drawPayload(c Choose) string {
	line := Payloads[pick(c, "payload", 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 2, 2, 3, 4, 5)]
	return line[c("spelling", len(line))]
}

// drawPause is mostly some half seconds, so that deadlines are met to the microsecond. Now and then it is longer than any
// of them, or the clock of the database is set back.
func drawPause(c Choose) time.Duration {
	switch c("long pause", 12) {
	case 10:
		return -time.Duration(1+c("back", 4)) * 700 * time.Millisecond
	case 11:
		return 10 * time.Minute
	}
	return time.Duration(1+c("halves", 8))*500*time.Millisecond + time.Duration(max(0, c("off by", 6)-4))*time.Microsecond
}

// Resolve replaces what is sent again by what it was, asked of another engine and now and then spelled otherwise.
func Resolve(drawn []Operation) Trace {
	var trace, sent Trace
	for _, o := range drawn {
		if o.Verb == Again {
			if len(sent) == 0 {
				continue
			}
			again := sent[max(0, len(sent)-1-o.Back)]
			again.Via = o.Via
			if c := class(again.Payload); c >= 0 {
				again.Payload = Payloads[c][o.Back%len(Payloads[c])]
			}
			o = again
		} else if o.Message() {
			sent = append(sent, o)
		}
		trace = append(trace, o)
	}
	return trace
}
