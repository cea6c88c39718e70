package history

import (
	"github.com/flowgate-go/flowgate/spec"
)

// readPlain reads an event of one of the commonest kinds from the spelling in which it is nearly always stored. It says ok
// only where readAny would read the same.
func readPlain(kind Type, stored []byte) (env envelope, data Data, ok bool) {
	r := reader{rest: stored}
	r.open()
	env = r.envelope()
	switch kind {
	case TypeRunStarted:
		data = r.runStarted()
	case TypeRunCompleted:
		d := &RunCompleted{}
		r.digest("digest", (*[32]byte)(&d.Digest))
		data = d
	case TypeSignalReceived:
		data = r.signalReceived()
	case TypeWaitOpened:
		data = r.waitOpened()
	case TypeWaitCompleted:
		data = r.waitCompleted()
	case TypeHookCreated:
		data = r.hookCreated()
	case TypeHookResumed:
		data = r.hookResumed()
	case TypeFactsTaken:
		data = &FactsTaken{}
	default:
		return envelope{}, nil, false
	}
	r.close()
	if r.bad || len(r.rest) > 0 {
		return envelope{}, nil, false
	}
	return env, data, true
}

func (r *reader) runStarted() *RunStarted {
	d := &RunStarted{Workflow: r.text("workflow"), Version: r.text("version")}
	r.digest("spec_digest", (*[32]byte)(&d.SpecDigest))
	d.Labels = r.labelsIf()
	d.Actor = r.textIf("actor")
	r.digest("digest", (*[32]byte)(&d.Digest))
	return d
}

func (r *reader) signalReceived() *SignalReceived {
	d := &SignalReceived{SignalID: spec.SignalID(r.text("signal_id")), Name: r.text("name")}
	d.Source, d.Actor = r.textIf("source"), r.textIf("actor")
	r.digest("digest", (*[32]byte)(&d.Digest))
	return d
}

func (r *reader) waitOpened() *WaitOpened {
	d := &WaitOpened{WaitID: spec.WaitID(r.text("wait_id")), Signal: r.text("signal")}
	d.Deadline, d.OpenedAt, d.Again = r.timeIf("deadline"), r.timeIf("opened_at"), r.trueIf("again")
	return d
}

func (r *reader) waitCompleted() *WaitCompleted {
	d := &WaitCompleted{WaitID: spec.WaitID(r.text("wait_id")), SignalID: spec.SignalID(r.text("signal_id"))}
	r.must("signal_seq")
	d.SignalSeq = r.number()
	return d
}

func (r *reader) hookCreated() *HookCreated {
	d := &HookCreated{HookID: spec.HookID(r.text("hook_id")), Name: r.text("name")}
	d.Metadata, d.Grant = r.metadata(), r.grant()
	d.ExpiresAt, d.OpenedAt = r.timeIf("expires_at"), r.timeIf("opened_at")
	return d
}

func (r *reader) hookResumed() *HookResumed {
	d := &HookResumed{HookID: spec.HookID(r.text("hook_id")), Source: r.textIf("source"), Actor: r.textIf("actor")}
	r.digest("digest", (*[32]byte)(&d.Digest))
	return d
}

// metadata reads a hook's metadata, but for data of the author's own shape and a rule.
func (r *reader) metadata() (m spec.HookMetadata) {
	r.must("metadata")
	r.open()
	m.Kind, m.Subject = r.textIf("kind"), r.textIf("subject")
	if r.has("route") {
		r.open()
		m.Route = &spec.CallbackRoute{Method: r.text("method"), Path: r.text("path")}
		r.close()
	}
	m.Labels = r.labelsIf()
	m.Requester = r.textIf("requester")
	r.close()
	return m
}

func (r *reader) labelsIf() spec.Labels {
	if !r.has("labels") {
		return nil
	}
	labels := spec.Labels{}
	r.open()
	for !r.bad {
		key := string(r.quoted())
		r.token(":")
		labels[key] = string(r.quoted())
		if r.bad || len(r.rest) == 0 || r.rest[0] != ',' {
			break
		}
		r.rest = r.rest[1:]
	}
	r.close()
	return labels
}

func (r *reader) grant() (g TokenGrant) {
	r.must("grant")
	r.open()
	r.digest("token_digest", (*[32]byte)(&g.Digest))
	g.DigestKey, g.MintKey, g.Nonce = r.text("digest_key"), r.textIf("mint_key"), r.bytesIf("nonce")
	r.close()
	return g
}
