package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/proof"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// do does one operation of a trace on the engines.
func (w *world) do(trace string, o proof.Operation) proof.Answer {
	switch o.Verb {
	case proof.Pass:
		w.pass(o.For)
	case proof.Turns:
		w.turns()
	case proof.Work:
		w.work(trace)
	case proof.Restart:
		w.restart(o.Via)
	case proof.Break, proof.Mend:
		w.breakCode(o.Key(trace), o.Name)
	default:
		return w.callUntil(trace, o)
	}
	return proof.Answer{}
}

// callUntil makes a call. One that a slow machine leaves without an answer is made again, as callers do.
func (w *world) callUntil(trace string, o proof.Operation) (a proof.Answer) {
	ctx, cancel := w.ctx()
	defer cancel()
	for range 3 {
		if a = w.call(ctx, trace, o); a.Words != engine.ErrUnavailable.Error() {
			break
		}
	}
	return a
}

// doWave does operations of different runs at the same time.
func (w *world) doWave(trace string, wave proof.Trace) []proof.Answer {
	answers := make([]proof.Answer, len(wave))
	if len(wave) == 1 {
		answers[0] = w.do(trace, wave[0])
		return answers
	}
	var group sync.WaitGroup
	for i, o := range wave {
		group.Go(func() { answers[i] = w.do(trace, o) })
	}
	group.Wait()
	return answers
}

// call makes one call.
func (w *world) call(ctx context.Context, trace string, o proof.Operation) proof.Answer {
	e := w.engine(o.Via)
	h, err := e.Namespace(o.Key(trace).Namespace)
	if err != nil {
		return proof.Answer{Words: err.Error()}
	}
	if !o.Message() {
		view, err := readAs(ctx, h, o)
		if err != nil {
			return proof.AnswerOf(engine.Receipt{}, err, engine.VerdictOf, refusalWords)
		}
		text, _ := json.Marshal(view)
		return proof.Answer{Verdict: engine.VerdictAccepted, Words: proof.Shown(text)}
	}
	receipt, err := w.send(ctx, trace, o, e.Engine, h)
	return proof.AnswerOf(receipt, err, engine.VerdictOf, refusalWords)
}

func readAs(ctx context.Context, h *engine.Handle, o proof.Operation) (any, error) {
	switch o.Verb {
	case proof.Snapshot:
		return h.Snapshot(ctx, o.Run)
	case proof.Receipt:
		return h.Receipt(ctx, o.Run, spec.SignalID(o.ID))
	case proof.Fate:
		return readFate(ctx, h, o)
	case proof.Hook:
		return h.Hook(ctx, o.Run, spec.HookID(o.ID))
	default:
		return readEvents(ctx, h, o.Run)
	}
}

// fate is an update, with how its caller is told that there is no result.
type fate struct {
	engine.UpdateResult
	Refused string `json:"refused"`
}

func readFate(ctx context.Context, h *engine.Handle, o proof.Operation) (fate, error) {
	var (
		rejected *engine.UpdateRejectedError
		orphaned *engine.UpdateOrphanedError
	)
	result, err := h.UpdateResult(ctx, o.Run, spec.UpdateID(o.ID))
	if errors.As(err, &rejected) || errors.As(err, &orphaned) {
		return fate{result, err.Error()}, nil
	}
	return fate{UpdateResult: result}, err
}

// readEvents reads the newest generation in small pages.
func readEvents(ctx context.Context, h *engine.Handle, run spec.RunID) (all []engine.HistoryEvent, err error) {
	for q := (engine.HistoryQuery{Limit: 7}); ; {
		page, err := h.History(ctx, run, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return all, nil
		}
	}
}

// send delivers a message.
func (w *world) send(
	ctx context.Context, trace string, o proof.Operation, e *engine.Engine, h *engine.Handle,
) (engine.Receipt, error) {
	switch o.Verb {
	case proof.Start:
		s, err := h.Start(ctx, engine.StartRequest{
			Workflow: o.Name, Version: o.Version, RunID: o.Run, Input: []byte(o.Payload), Actor: proof.Actor,
		})
		return s.Receipt, err
	case proof.Signal:
		return h.SendSignal(ctx, engine.SignalRequest{
			RunID: o.Run, SignalID: spec.SignalID(o.ID), Name: o.Name, Payload: []byte(o.Payload),
			Source: proof.Source, Actor: proof.Actor,
		})
	case proof.Update:
		return h.SendUpdate(ctx, engine.UpdateRequest{
			RunID: o.Run, UpdateID: spec.UpdateID(o.ID), Name: o.Name, Payload: []byte(o.Payload),
			Source: proof.Source, Actor: proof.Actor,
		})
	case proof.Cancel:
		return h.Cancel(ctx, engine.CancelRequest{RunID: o.Run, Reason: proof.Reason, Actor: proof.Actor})
	case proof.End:
		return h.Terminate(ctx, engine.CancelRequest{RunID: o.Run, Reason: proof.Reason, Actor: proof.Actor})
	case proof.Retry:
		err := h.Retry(ctx, o.Run)
		return engine.Receipt{Verdict: engine.VerdictAccepted}, err
	}
	if o.Holder == proof.ByIDs {
		req := engine.HookRequest{
			RunID: o.Run, HookID: spec.HookID(o.ID), Payload: []byte(o.Payload), Source: proof.Source, Actor: proof.Actor,
		}
		if o.Verb == proof.Resume {
			return h.ResumeHook(ctx, req)
		}
		return h.DisposeHook(ctx, req)
	}
	return w.sendByToken(ctx, trace, o, e, h)
}

// tokenUser is who answers hooks by token: an engine for strangers, a handle for callers of a namespace.
type tokenUser interface {
	ResumeHookByToken(context.Context, engine.TokenRequest) (engine.Receipt, error)
	DisposeHookByToken(context.Context, engine.TokenRequest) (engine.Receipt, error)
}

func (w *world) sendByToken(
	ctx context.Context, trace string, o proof.Operation, e *engine.Engine, h *engine.Handle,
) (engine.Receipt, error) {
	token, err := w.token(ctx, o.Key(trace), o.ID)
	if err != nil {
		return engine.Receipt{}, err
	}
	req := engine.TokenRequest{Token: token, Payload: []byte(o.Payload), Source: proof.Source, Actor: proof.Actor}
	var user tokenUser = h
	switch o.Holder {
	case proof.Stranger:
		user = e
	case proof.Other:
		if user, err = e.Namespace(proof.Namespace(trace, 1-o.Space)); err != nil {
			return engine.Receipt{}, err
		}
	}
	if o.Verb == proof.Resume {
		return user.ResumeHookByToken(ctx, req)
	}
	return user.DisposeHookByToken(ctx, req)
}

// token makes the token of a hook again from what is stored of it. A hook that is not there gets one that was never
// given out.
func (w *world) token(ctx context.Context, key history.RunKey, hook string) (string, error) {
	rows, err := w.pool.Query(ctx, `select h.token_digest, coalesce(h.nonce, '') from hooks h join runs r on r.id = h.run
		where r.namespace = $1 and r.run_id = $2 and h.hook_id = $3`, string(key.Namespace), string(key.RunID), hook)
	if err != nil {
		return "", err
	}
	type grant struct{ Digest, Nonce []byte }
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByPos[grant])
	if err != nil {
		return "", err
	}
	var nonce tokens.Nonce
	if len(stored) > 0 {
		copy(nonce[:], stored[0].Nonce)
		for i := range 2 {
			text := proof.HostToken(key.Namespace, i)
			if len(stored[0].Nonce) == 0 && w.hostDigest(text) == history.TokenDigest(stored[0].Digest) {
				return text, nil
			}
		}
	}
	binding := tokens.Binding{Namespace: string(key.Namespace), RunID: string(key.RunID), HookID: hook}
	secret, err := w.keys.Remint(proof.KeyID, binding, nonce)
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", hook, err)
	}
	return secret.Reveal(), nil
}

// holders reads which hooks of the trace have the host's tokens.
func (w *world) holders(trace string) func(history.TokenDigest) (history.RunKey, spec.HookID, bool) {
	return func(d history.TokenDigest) (key history.RunKey, hook spec.HookID, ok bool) {
		err := w.pool.QueryRow(w.t.Context(), `select r.namespace, r.run_id, h.hook_id from hooks h join runs r on r.id = h.run
			where h.token_digest = $1`, d[:]).Scan(&key.Namespace, &key.RunID, &hook)
		return key, hook, err == nil
	}
}
