package history

import (
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// UpdateState is where an update stands.
type UpdateState string

// The states of an update. All but the first are final.
const (
	UpdateIsOpen      UpdateState = "open"
	UpdateIsCompleted UpdateState = "completed" // workflow code gave a result
	UpdateIsRejected  UpdateState = "rejected"  // workflow code refused it
	UpdateIsOrphaned  UpdateState = "orphaned"  // the run ended first
)

// Update is the record of one accepted update.
type Update struct {
	ID          spec.UpdateID
	Name        string
	Digest      canon.Digest
	Seq         int64
	ReceivedAt  time.Time
	Source      string
	Actor       string
	State       UpdateState
	ResolvedAt  *time.Time // nil while it is open
	ResolvedSeq int64      // of the event that ended it
}

// knownUpdate is an update that the generation knows: an open one, or one that was answered in it.
type knownUpdate struct {
	seq    int64
	at     time.Time
	data   *UpdateReceived // has no payload left where nobody asks for it any more: of a rejected or an orphaned one
	state  UpdateState
	output canon.Payload // of a completed one
}

func (u *knownUpdate) label() string { return string(u.data.UpdateID) }

// shown says that workflow code may know of the update.
func (s *State) shown(u *knownUpdate) bool { return u.seq <= s.takenTo }

func (s *State) receiveUpdate(e Event, d *UpdateReceived) string {
	if _, known := s.updates.get(string(d.UpdateID)); known {
		return "the update ID was accepted before"
	}
	u := &knownUpdate{seq: e.Seq, at: e.At, data: d, state: UpdateIsOpen}
	s.updates.add(u)
	s.asking = append(s.asking, u)
	return ""
}

// applyUpdate folds what becomes of an update.
func (s *State) applyUpdate(e Event) string {
	switch d := e.Data.(type) {
	case *UpdateReceived:
		if rule := s.receiveUpdate(e, d); rule != "" {
			return rule
		}
		s.pending = append(s.pending, fact{seq: e.Seq, at: e.At, kind: factUpdate})
	case *UpdateCompleted:
		return s.answerUpdate(d.UpdateID, UpdateIsCompleted, d.Output)
	case *UpdateRejected:
		return s.answerUpdate(d.UpdateID, UpdateIsRejected, canon.Payload{})
	case *UpdateOrphaned:
		if rule := endingCause(d.Cause); rule != "" {
			return rule
		}
		return s.endUpdate(d.UpdateID, UpdateIsOrphaned, canon.Payload{})
	}
	return ""
}

func (s *State) answerUpdate(id spec.UpdateID, state UpdateState, output canon.Payload) string {
	if u, known := s.updates.get(string(id)); known && !s.shown(u) {
		return "the update was not shown"
	}
	s.opened = true
	return s.endUpdate(id, state, output)
}

func (s *State) endUpdate(id spec.UpdateID, state UpdateState, output canon.Payload) string {
	u, known := s.updates.get(string(id))
	if !known || u.state != UpdateIsOpen {
		return "the update is not open"
	}
	u.state, u.output = state, output
	if state == UpdateIsCompleted {
		s.done = append(s.done, u)
	} else {
		bare := *u.data
		bare.Payload = canon.Payload{}
		u.data = &bare
	}
	i := slices.Index(s.asking, u)
	s.asking = slices.Delete(s.asking, i, i+1)
	return ""
}

// carryUpdates keeps the open updates when a generation ends: the next one begins with them.
func (s *State) carryUpdates(open []*knownUpdate) {
	s.asking = open
	for _, u := range open {
		s.updates.add(u)
		if !s.shown(u) {
			s.pending = append(s.pending, fact{seq: u.seq, at: u.at, kind: factUpdate})
		}
	}
}

// openUpdates names the open updates by seq, ascending.
func (s *State) openUpdates() []SeqRange {
	seqs := make([]int64, len(s.asking))
	for i, u := range s.asking {
		seqs[i] = u.seq
	}
	return rangesOf(seqs)
}

// Updates lists the open updates of a name that workflow code may know of, in order of acceptance.
func (s *State) Updates(name string) []*UpdateReceived {
	var shown []*UpdateReceived
	for _, u := range s.asking {
		if u.data.Name == name && s.shown(u) {
			shown = append(shown, u.data)
		}
	}
	return shown
}

// DoneUpdate is an update with its result.
type DoneUpdate struct {
	*UpdateReceived
	Output canon.Payload
}

// DoneUpdates lists the updates of a name that the generation has completed, in the order in which it did.
func (s *State) DoneUpdates(name string) []DoneUpdate {
	var done []DoneUpdate
	for _, u := range s.done {
		if u.data.Name == name {
			done = append(done, DoneUpdate{u.data, u.output})
		}
	}
	return done
}

// UpdateName gives the name of an update that workflow code may know of, and whether it is still to be answered.
func (s *State) UpdateName(id spec.UpdateID) (name string, open bool) {
	u, known := s.updates.get(string(id))
	if !known || !s.shown(u) {
		return "", false
	}
	return u.data.Name, u.state == UpdateIsOpen
}
