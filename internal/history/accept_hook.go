package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

func (r *Records) resume(m *ResumeHook, auth Authority, now time.Time) (Receipt, error) {
	h, ok := r.Hooks[m.HookID]
	if !ok {
		return Receipt{}, ErrHookNotFound
	}
	if m.ByToken {
		declared := auth.Hook(h.Name)
		if declared.Audience == spec.Internal {
			return Receipt{}, ErrTokenNotFound
		}
		if err := proved(declared, m.Proof, m.Run, m.HookID); err != nil {
			return Receipt{}, err
		}
	}
	if h.State == StateResumed {
		return h.redelivered(m.Run, m.Payload.Digest())
	}
	if h.Expired(now) {
		return Receipt{}, &HookClosedError{Cause: StateExpired}
	}
	if h.State != StateActive {
		return Receipt{}, &HookClosedError{Cause: h.State}
	}
	if asks := h.Metadata.Requester; asks != "" && (!spec.IsPerson(m.Actor) || spec.SamePerson(m.Actor, asks)) {
		return Receipt{}, ErrSelfApproval
	}
	if err := auth.CheckHook(h.Name, m.Payload); err != nil {
		return Receipt{}, err
	}
	h.State, h.PayloadDigest = StateResumed, m.Payload.Digest()
	h.Source, h.Actor = m.Source, m.Actor
	receipt := r.resolve(h, now, &HookResumed{
		HookID: h.ID, Source: m.Source, Actor: m.Actor, Digest: m.Payload.Digest(), Payload: m.Payload,
	})
	r.wakeUnlessBlocked(now)
	return receipt, nil
}

// proved checks the second factor. It comes before known identity: a token alone does not tell what was answered.
func proved(declared spec.Hook, proof spec.Proof, run RunKey, id spec.HookID) error {
	if declared.Requires == "" || proof == declared.Proof() {
		return nil
	}
	return &FactorError{Requires: declared.Proof(), Run: run, HookID: id}
}

func (h Hook) redelivered(run RunKey, digest canon.Digest) (Receipt, error) {
	if h.PayloadDigest != digest {
		return Receipt{}, &HookConflictError{Differs: []string{"payload"}}
	}
	return h.receipt(run, Duplicate), nil
}

func (h Hook) receipt(run RunKey, v Verdict) Receipt {
	return Receipt{Verdict: v, Run: run, HookID: h.ID, Sequence: h.ResolvedSeq, ReceivedAt: *h.ResolvedAt}
}

func (r *Records) dispose(m *DisposeHook, auth Authority, now time.Time) (Receipt, error) {
	h, ok := r.Hooks[m.HookID]
	if !ok {
		return Receipt{}, ErrHookNotFound
	}
	if m.ByToken {
		declared := auth.Hook(h.Name)
		if declared.Audience == spec.Internal {
			return Receipt{}, ErrTokenNotFound
		}
		if !declared.DisposableByToken {
			return Receipt{}, ErrDisposeForbidden
		}
		if err := proved(declared, m.Proof, m.Run, m.HookID); err != nil {
			return Receipt{}, err
		}
	}
	switch {
	case h.State == StateResumed:
		return Receipt{}, &HookConflictError{Differs: []string{"state"}}
	case h.State == StateDisposed:
		return h.receipt(m.Run, Duplicate), nil
	case h.Expired(now):
		return Receipt{}, &HookClosedError{Cause: StateExpired}
	case h.State != StateActive:
		return Receipt{}, &HookClosedError{Cause: h.State}
	}
	h.State, h.Source, h.Actor = StateDisposed, m.Source, m.Actor
	receipt := r.resolve(h, now, &HookDisposed{HookID: h.ID, Source: m.Source, Actor: m.Actor})
	r.wakeUnlessBlocked(now)
	return receipt, nil
}

// resolve appends the event that closes a hook and keeps its record.
func (r *Records) resolve(h Hook, now time.Time, data Data) Receipt {
	h.ResolvedSeq = r.append(now, data)
	h.ResolvedAt = &now
	r.Hooks[h.ID] = h
	if r.ChangedHooks == nil {
		r.ChangedHooks = map[spec.HookID]bool{}
	}
	r.ChangedHooks[h.ID] = true
	return h.receipt(r.Run.Key, Accepted)
}

func (r *Records) cancel(m *CancelRun, auth Authority, now time.Time) (Receipt, error) {
	switch {
	case m.ChildOf != nil && !r.Run.Parent.same(m.ChildOf):
		return Receipt{}, ErrRunNotFound
	case r.Run.Status == Cancelled:
		return r.wish(Duplicate), nil
	case r.Run.Status.Ended():
		return Receipt{}, ErrRunEnded
	case m.Terminate || !auth.CooperativeCancel():
		return r.cancelNow(m, now), nil
	case r.Run.CancelRequestedAt != nil:
		return r.wish(Duplicate), nil
	}
	r.wished(r.append(now, &RunCancelRequested{Reason: m.Reason, Actor: m.Actor}), now)
	r.wakeUnlessBlocked(now)
	return r.wish(Accepted), nil
}

// wished notes a wish to cancel in the run's record, which keeps the first one.
func (r *Records) wished(seq int64, now time.Time) {
	if r.Run.CancelRequestedAt == nil {
		r.Run.CancelRequestedAt, r.Run.CancelSeq = &now, seq
	}
}

// wish is the receipt of the run's first wish to cancel. A cancelled run has one: code cannot end a run as cancelled
// unless somebody asked for it.
func (r *Records) wish(v Verdict) Receipt {
	return Receipt{Verdict: v, Run: r.Run.Key, Sequence: r.Run.CancelSeq, ReceivedAt: *r.Run.CancelRequestedAt}
}

// cancelNow ends the run without workflow code: the wish, the end, and the closing of every open hook are one commit.
func (r *Records) cancelNow(m *CancelRun, now time.Time) Receipt {
	seq := r.append(now, &RunCancelRequested{Reason: m.Reason, Actor: m.Actor, Terminate: m.Terminate})
	r.wished(seq, now)
	for _, id := range r.activeHooks() {
		h := r.Hooks[id]
		if h.Expired(now) {
			h.State = StateExpired
			r.resolve(h, now, &HookExpired{HookID: id})
			continue
		}
		h.State = StateCancelled
		r.resolve(h, now, &HookClosed{HookID: id, Cause: StateCancelled})
	}
	r.closeTasks(now)
	r.orphanUpdates(now)
	r.append(now, &RunCancelled{Reason: m.Reason})
	r.Run.end(Cancelled, now)
	return Receipt{Verdict: Accepted, Run: m.Run, Sequence: seq, ReceivedAt: now}
}

// end marks the record as ended: nothing is due any more.
func (r *Run) end(status Status, now time.Time) {
	r.Status, r.ClosedAt, r.WakeAt = status, &now, nil
	r.unblock()
}

func (r *Run) unblock() {
	r.BlockCause, r.BlockDiagnosis, r.BlockAttempts = "", "", 0
}
