package engine_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// provocation makes errors of everything that a caller can do wrong.
type provocation struct {
	*rig
	minted, gone string // tokens of an open hook, and of one whose run ended
}

func refusedBy[T any](_ T, err error) error { return err }

func (p *provocation) signal(run spec.RunID, id spec.SignalID, name string, payload []byte) error {
	return refusedBy(p.SendSignal(p.ctx(), engine.SignalRequest{RunID: run, SignalID: id, Name: name, Payload: payload}))
}

func (p *provocation) resumeBy(token string, payload []byte) error {
	return refusedBy(p.ResumeHookByToken(p.ctx(), engine.TokenRequest{Token: token, Payload: payload}))
}

func (p *provocation) startOf(workflow string, run spec.RunID, input []byte) error {
	return refusedBy(p.Start(p.ctx(), engine.StartRequest{Workflow: workflow, RunID: run, Input: input}))
}

func (p *provocation) signalWithStart(workflow string, run spec.RunID, input, payload []byte) error {
	return refusedBy(p.SignalWithStart(p.ctx(), engine.StartRequest{Workflow: workflow, RunID: run, Input: input},
		engine.SignalRequest{SignalID: "s", Name: "note", Payload: payload}))
}

func (p *provocation) ofRuns() map[string]provoked {
	bad, good := brokenBy(p.minted), fmt.Appendf(nil, `{"n":%s}`, inNumber)
	p.mustSend("ended", "e", "end", nil)
	p.ended("ended")
	p.mustSend("run", "n1", "note", inText)
	p.mustSend("run", "n2", "note", inText)
	changed := vault
	changed.spec.Description = inText
	tx, err := p.pool.Begin(p.ctx())
	if err != nil {
		p.t.Fatal(err)
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // nothing was done in it
	return map[string]provoked{
		"history.ErrRunNotFound": {is: same(history.ErrRunNotFound), errs: []error{
			p.signal("nobody", "s", "note", bad), refusedBy(p.Snapshot(p.ctx(), "nobody")),
			refusedBy(p.Cancel(p.ctx(), engine.CancelRequest{RunID: "nobody", Reason: inText})), p.Retry(p.ctx(), "nobody"),
		}},
		"history.ErrRunEnded": {is: same(history.ErrRunEnded), errs: []error{
			p.signal("ended", "late", "note", bad), refusedBy(p.Cancel(p.ctx(), engine.CancelRequest{RunID: "ended", Reason: inText})),
		}},
		"history.ErrSignalUndeclared": {is: same(history.ErrSignalUndeclared), errs: []error{p.signal("run", "u", inText, bad)}},
		"history.ErrBacklogFull":      {is: same(history.ErrBacklogFull), errs: []error{p.signal("run", "n3", "note", bad)}},
		"db.ErrSignalNotFound": {is: same(db.ErrSignalNotFound), errs: []error{
			refusedBy(p.Receipt(p.ctx(), "run", inText)),
		}},
		"db.ErrWorkflowNotFound": {is: same(db.ErrWorkflowNotFound), errs: []error{
			p.startOf(inText, "w", bad),
			refusedBy(p.Interface(p.ctx(), inText)),
		}},
		"history.RunConflictError": {is: kind[*history.RunConflictError], errs: []error{
			p.startOf("vault", "run", bad),
			p.startOf("vault", "run", good),
		}},
		"engine.StartError": {is: kind[*engine.StartError], keys: true, errs: []error{
			p.signalWithStart(inText, "w", bad, good), p.signalWithStart("vault", spec.RunID(p.minted), nil, good),
			p.signalWithStart("vault", "w", bad, good), p.signalWithStart("vault", "w", []byte(inText), good),
		}},
		"history.SignalConflictError": {is: kind[*history.SignalConflictError], errs: []error{
			p.signal("run", "n1", "note", bad),
			p.signal("run", "n1", "strict", good),
		}},
		"engine.SpecChangedError": {is: kind[*engine.SpecChangedError], errs: []error{
			idle(p.t, testConfig(p.t, p.pool)).Register(changed.spec, changed.fn),
		}},
		"engine.TxError": {is: kind[*engine.TxError], errs: []error{
			refusedBy(p.SendSignalTx(p.ctx(), tx, engine.SignalRequest{RunID: "run", SignalID: "n1", Name: "note", Payload: bad})),
			refusedBy(p.StartTx(p.ctx(), tx, engine.StartRequest{Workflow: "vault", RunID: "run", Input: good})),
		}},
		"db.ErrAPIKeyNotFound": {is: same(db.ErrAPIKeyNotFound), errs: []error{
			refusedBy(db.Open(p.pool, db.Config{}).APIKeyByID(p.ctx(), inText)),
			refusedBy(db.Open(p.pool, db.Config{}).APIKeyByDigest(p.ctx(), [][]byte{[]byte(inText)})),
		}},
		"db.ErrMessageNotFound": {is: same(db.ErrMessageNotFound), errs: []error{
			refusedBy(db.Open(p.pool, db.Config{}).KnownMessage(p.ctx(), db.MessageKey{Namespace: "default", ID: inText})),
			refusedBy(db.Open(p.pool, db.Config{}).ReadMessage(p.ctx(), spec.Namespace(inText), 1)),
		}},
		"db.ErrSpecDiffers": {is: same(db.ErrSpecDiffers), errs: []error{
			refusedBy(db.Open(p.pool, db.Config{}).RegisterSpec(p.ctx(), db.SpecRef{Name: "vault", Version: "1"}, []byte(`"`+inText+`"`), false)),
		}},
	}
}

func (p *provocation) ofHooks() map[string]provoked {
	bad, good := brokenBy(p.minted), fmt.Appendf(nil, `{"n":%s}`, inNumber)
	p.mustResume("cancelled", "answer", good)
	taken := p.link("boom", "never").Token.Reveal()
	if _, err := p.DisposeHook(p.ctx(), engine.HookRequest{RunID: "boom", HookID: "never"}); err != nil {
		p.t.Fatal(err)
	}
	hook := func(run spec.RunID, id spec.HookID) engine.HookRequest {
		return engine.HookRequest{RunID: run, HookID: id, Payload: bad}
	}
	other, err := p.Namespace("other")
	if err != nil {
		p.t.Fatal(err)
	}
	withoutURL := testConfig(p.t, p.pool)
	withoutURL.PublicURL = ""
	return map[string]provoked{
		"history.ErrHookNotFound": {is: same(history.ErrHookNotFound), errs: []error{
			refusedBy(p.ResumeHook(p.ctx(), hook("run", inText))), refusedBy(p.HookLink(p.ctx(), "run", inText)),
		}},
		"history.ErrTokenNotFound": {is: same(history.ErrTokenNotFound), errs: []error{
			p.resumeBy(p.minted[:40], bad), p.resumeBy(p.minted+"0", bad), p.resumeBy(strings.ToUpper(p.minted), bad), p.resumeBy("", bad),
			p.resumeBy(p.minted[:52]+"?", bad), p.resumeBy(hostSecret+"run0", bad), p.resumeBy(strings.Repeat(p.minted, 9), bad),
			refusedBy(other.ResumeHookByToken(p.ctx(), engine.TokenRequest{Token: p.minted, Payload: bad})),
			refusedBy(other.DisposeHookByToken(p.ctx(), engine.TokenRequest{Token: hostSecret + "run"})),
		}},
		"history.FactorError": {is: kind[*history.FactorError], errs: []error{
			p.resumeBy(p.link("run", "proved").Token.Reveal(), fmt.Appendf(nil, `{%q:%s}`, inText, inNumber)),
		}},
		"history.ErrDisposeForbidden": {is: same(history.ErrDisposeForbidden), errs: []error{
			refusedBy(p.Engine.DisposeHookByToken(p.ctx(), engine.TokenRequest{Token: p.minted})),
			refusedBy(p.Engine.DisposeHookByToken(p.ctx(), engine.TokenRequest{Token: hostSecret + "run"})),
		}},
		"history.HookConflictError": {is: kind[*history.HookConflictError], errs: []error{
			refusedBy(p.ResumeHook(p.ctx(), hook("cancelled", "answer"))), refusedBy(p.DisposeHook(p.ctx(), hook("cancelled", "answer"))),
			refusedBy(p.HookLink(p.ctx(), "cancelled", "answer")),
		}},
		"history.HookClosedError": {is: kind[*history.HookClosedError], errs: []error{
			p.resumeBy(p.gone, bad), p.resumeBy(hostSecret+"ended", bad), p.resumeBy(taken, bad),
			refusedBy(p.ResumeHook(p.ctx(), hook("run", "brief"))), refusedBy(p.HookLink(p.ctx(), "run", "brief")),
		}},
		"engine.ErrTokenNotMinted": {is: same(engine.ErrTokenNotMinted), errs: []error{
			refusedBy(p.HookLink(p.ctx(), "run", "host")),
		}},
		"engine.ErrNoPublicURL": {is: same(engine.ErrNoPublicURL), errs: []error{
			refusedBy(idle(p.t, withoutURL).HookLink(p.ctx(), "run", "never")),
		}},
	}
}

func (p *provocation) mustResume(run spec.RunID, id spec.HookID, payload []byte) {
	p.t.Helper()
	if _, err := p.ResumeHook(p.ctx(), engine.HookRequest{RunID: run, HookID: id, Payload: payload}); err != nil {
		p.t.Fatal(err)
	}
}
