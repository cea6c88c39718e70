package history

import (
	"github.com/flowgate-go/flowgate/spec"
)

// writePlain gives the data of an event of one of the commonest kinds as writeAny does. It says ok unless the kind is
// another, or something in it needs an escape or cannot be written.
func writePlain(e Event) (data []byte, ok bool) {
	w := writer{out: make([]byte, 0, usualSize(e.Data))}
	w.open()
	w.envelope(e.Taken, e.Read)
	switch d := e.Data.(type) {
	case *RunStarted:
		if d.Parent != nil {
			return nil, false
		}
		w.runStarted(d)
	case *RunCompleted:
		w.digest("digest", d.Digest)
	case *SignalReceived:
		w.text("signal_id", string(d.SignalID))
		w.text("name", d.Name)
		w.textIf("source", d.Source)
		w.textIf("actor", d.Actor)
		w.digest("digest", d.Digest)
	case *WaitOpened:
		w.text("wait_id", string(d.WaitID))
		w.text("signal", d.Signal)
		w.timeIf("deadline", d.Deadline)
		w.timeIf("opened_at", d.OpenedAt)
		w.trueIf("again", d.Again)
	case *WaitCompleted:
		w.text("wait_id", string(d.WaitID))
		w.text("signal_id", string(d.SignalID))
		w.number("signal_seq", d.SignalSeq)
	case *HookCreated:
		w.hookCreated(d)
	case *HookResumed:
		w.text("hook_id", string(d.HookID))
		w.textIf("source", d.Source)
		w.textIf("actor", d.Actor)
		w.digest("digest", d.Digest)
	case *FactsTaken:
	default:
		return nil, false
	}
	w.close()
	if w.bad {
		return nil, false
	}
	return w.out, true
}

// usualSize is a little more than most events of the kind need.
func usualSize(d Data) int {
	switch d.(type) {
	case *WaitOpened, *WaitCompleted, *RunCompleted, *FactsTaken:
		return 128
	case *RunStarted, *HookCreated:
		return 384
	}
	return 256
}

func (w *writer) runStarted(d *RunStarted) {
	w.text("workflow", d.Workflow)
	w.text("version", d.Version)
	w.digest("spec_digest", d.SpecDigest)
	w.labelsIf(d.Labels)
	w.textIf("actor", d.Actor)
	w.digest("digest", d.Digest)
}

func (w *writer) hookCreated(d *HookCreated) {
	w.text("hook_id", string(d.HookID))
	w.text("name", d.Name)
	w.metadata(d.Metadata)
	w.grant(d.Grant)
	w.timeIf("expires_at", d.ExpiresAt)
	w.timeIf("opened_at", d.OpenedAt)
}

// metadata gives up on data of the author's own shape, and on a rule.
func (w *writer) metadata(m spec.HookMetadata) {
	w.bad = w.bad || len(m.Data) > 0 || m.Rule != nil
	w.key("metadata")
	w.open()
	w.textIf("kind", m.Kind)
	w.textIf("subject", m.Subject)
	if m.Route != nil {
		w.key("route")
		w.open()
		w.text("method", m.Route.Method)
		w.text("path", m.Route.Path)
		w.close()
	}
	w.labelsIf(m.Labels)
	w.textIf("requester", m.Requester)
	w.close()
}

func (w *writer) grant(g TokenGrant) {
	w.key("grant")
	w.open()
	w.digest("token_digest", g.Digest)
	w.text("digest_key", g.DigestKey)
	w.textIf("mint_key", g.MintKey)
	w.bytesIf("nonce", g.Nonce)
	w.close()
}
