package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// SendUpdate asks a run for a change that has a result, under a caller-owned identity.
type SendUpdate struct {
	Run     RunKey
	ID      spec.UpdateID
	Name    string
	Payload canon.Payload
	Source  string
	Actor   string
}

// Target implements Message.
func (m *SendUpdate) Target() RunKey { return m.Run }

func (r *Records) update(m *SendUpdate, auth Authority, lim Limits, now time.Time) (Receipt, error) {
	if known, ok := r.Updates[m.ID]; ok {
		return known.redelivered(m)
	}
	if r.Run.Status.Ended() {
		return Receipt{}, ErrRunEnded
	}
	if err := auth.CheckUpdate(m.Name, m.Payload); err != nil {
		return Receipt{}, err
	}
	if r.OpenUpdates >= lim.OpenUpdates || r.Run.HistoryLength() >= lim.MaxEvents {
		return Receipt{}, ErrBacklogFull
	}
	return r.takeUpdate(m, now), nil
}

// takeUpdate accepts an update that was judged.
func (r *Records) takeUpdate(m *SendUpdate, now time.Time) Receipt {
	seq := r.append(now, &UpdateReceived{
		UpdateID: m.ID, Name: m.Name, Source: m.Source, Actor: m.Actor, Digest: m.Payload.Digest(), Payload: m.Payload,
	})
	u := Update{
		ID: m.ID, Name: m.Name, Digest: m.Payload.Digest(), Seq: seq, ReceivedAt: now, Source: m.Source, Actor: m.Actor,
		State: UpdateIsOpen,
	}
	r.keepUpdate(u)
	r.NewUpdates = append(r.NewUpdates, m.ID)
	r.OpenUpdates++
	r.wakeUnlessBlocked(now)
	return u.receipt(m.Run, Accepted)
}

func (r *Records) keepUpdate(u Update) {
	if r.Updates == nil {
		r.Updates = map[spec.UpdateID]Update{}
	}
	r.Updates[u.ID] = u
}

func (u Update) receipt(run RunKey, v Verdict) Receipt {
	return Receipt{Verdict: v, Run: run, UpdateID: u.ID, Sequence: u.Seq, ReceivedAt: u.ReceivedAt}
}

func (u Update) redelivered(m *SendUpdate) (Receipt, error) {
	var differs []string
	if u.Name != m.Name {
		differs = append(differs, "name")
	}
	if u.Digest != m.Payload.Digest() {
		differs = append(differs, "payload")
	}
	if len(differs) > 0 {
		return Receipt{}, &UpdateConflictError{Differs: differs}
	}
	return u.receipt(m.Run, Duplicate), nil
}

// orphanUpdates ends the open updates when the run is cancelled, in order of acceptance.
func (r *Records) orphanUpdates(now time.Time) {
	var open []Update
	for _, u := range r.Updates {
		if u.State == UpdateIsOpen {
			open = append(open, u)
		}
	}
	slices.SortFunc(open, func(a, b Update) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, u := range open {
		u.State, u.ResolvedAt = UpdateIsOrphaned, &now
		u.ResolvedSeq = r.append(now, &UpdateOrphaned{UpdateID: u.ID, Cause: StateCancelled})
		r.keepUpdate(u)
		if !slices.Contains(r.NewUpdates, u.ID) {
			r.EndedUpdates = append(r.EndedUpdates, u.ID)
		}
	}
	r.OpenUpdates = 0
}
