package history

import (
	"errors"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Projection is what the events of a run, of all its generations, say that the rows beside them hold. It reads the events
// twice, in two ways: by the fold, which knows what may follow what, and plainly, into the records that the rows must
// equal. So a fault of the fold, from which a turn makes its rows, is found as well.
//
// Use it as
//
//	p := NewProjection(key)
//	for each event, in order of seq { p.Apply(event) }
//	p.CompareRun(…); for each row { p.CompareSignal(…), p.CompareHook(…), p.CompareTask(…) or p.CompareUpdate(…) }
//	differences, count := p.Finish()
//
// It keeps records, not payloads, so its size is that of the run's rows. It belongs to one goroutine and is used once.
type Projection struct {
	key     RunKey
	state   *State
	run     Run
	signals map[spec.SignalID]Signal
	hooks   map[spec.HookID]Hook
	tasks   map[TaskKey]Task // the open ones
	updates map[spec.UpdateID]Update
	loose   map[TaskKey]Task // rows that may be there or not: what is done about them is in no event

	broken bool // an event may not be where it is: what the events say of the rows is not known
	found  []Difference
	count  int
}

// NewProjection begins with a run that has no event yet.
func NewProjection(key RunKey) *Projection {
	p := &Projection{
		key: key, state: newState(key), run: Run{Key: key, Status: Running},
		signals: map[spec.SignalID]Signal{}, hooks: map[spec.HookID]Hook{},
		tasks: map[TaskKey]Task{}, updates: map[spec.UpdateID]Update{}, loose: map[TaskKey]Task{},
	}
	p.state.generation, p.state.nextSeq = 1, 1
	return p
}

// Apply adds the next event. One that may not follow those before it is a difference, and the last one: neither what is
// behind it nor any row is looked at then.
func (p *Projection) Apply(e Event) {
	if p.broken {
		return
	}
	digest := p.checkPayload(e)
	rule := p.breach(e)
	if broken, ok := errors.AsType[*FoldError](p.state.Apply(withoutPayload(e))); ok {
		rule = broken.Rule
	}
	if rule != "" {
		p.breakOff(e.Seq, string(e.Data.Type())+": "+rule)
		return
	}
	p.readRun(e, digest)
	p.readSignal(e, digest)
	p.readHook(e, digest)
	p.readTask(e)
	p.readUpdate(e, digest)
}

// Undecodable notes that the event of this seq cannot be read, which ends the history as an event does that may not
// follow. The text must not repeat its content.
func (p *Projection) Undecodable(seq int64, text string) {
	if !p.broken {
		p.breakOff(seq, text)
	}
}

func (p *Projection) breakOff(seq int64, text string) {
	p.broken = true
	p.note(Difference{Row: RowEvent, ID: seqText(seq), Text: text})
}

// checkPayload compares the payload of an event with the digest beside it. It returns the digest that the payload has,
// which is what rows must hold.
func (p *Projection) checkPayload(e Event) canon.Digest {
	c, ok := e.Data.(carrier)
	if !ok {
		return canon.Digest{}
	}
	stored := c.payload()
	digest, ok := digestOf(stored.Bytes())
	if !ok || digest != stored.Digest() {
		p.note(Difference{Row: RowEvent, ID: seqText(e.Seq), Field: "digest", Text: "is not that of the payload"})
	}
	if !ok {
		return stored.Digest()
	}
	return digest
}

// maxVerifiedDepth is deeper than any payload a host would let in.
const maxVerifiedDepth = 10_000

func digestOf(payload []byte) (canon.Digest, bool) {
	p, err := canon.Parse(payload, canon.Limits{MaxBytes: len(payload), MaxDepth: maxVerifiedDepth})
	return p.Digest(), err == nil
}

// withoutPayload leaves out what only workflow code reads, so that unread signals do not fill the memory.
func withoutPayload(e Event) Event {
	switch d := e.Data.(type) {
	case *SignalReceived:
		bare := *d
		bare.Payload = canon.Payload{}
		e.Data = &bare
	case *HookResumed:
		bare := *d
		bare.Payload = canon.Payload{}
		e.Data = &bare
	case *StepCompleted:
		bare := *d
		bare.Output = canon.Payload{}
		e.Data = &bare
	case *ChildCompleted:
		bare := *d
		bare.Output = canon.Payload{}
		e.Data = &bare
	case *UpdateReceived:
		bare := *d
		bare.Payload = canon.Payload{}
		e.Data = &bare
	case *UpdateCompleted:
		bare := *d
		bare.Output = canon.Payload{}
		e.Data = &bare
	}
	return e
}
