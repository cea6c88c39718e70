package engine

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// Handle has the use cases of one namespace. Nothing it is given resolves in another one: neither a run ID nor a token.
// It is safe for concurrent use.
type Handle struct {
	e  *Engine
	ns spec.Namespace
}

// RunKey names a run over all namespaces.
type RunKey = history.RunKey

// Receipt is the durable record of one accepted message. The same identity yields the same receipt again, with the
// verdict VerdictDuplicate.
type Receipt = history.Receipt

// Namespace returns the use cases of a namespace. Namespaces are not created: any valid name will do. The error is an
// *InvalidError.
func (e *Engine) Namespace(ns spec.Namespace) (*Handle, error) {
	if err := ns.Validate(); err != nil {
		return nil, err
	}
	return &Handle{e: e, ns: ns}, nil
}

// key checks the form of a run ID.
func (h *Handle) key(id spec.RunID) (history.RunKey, error) {
	if err := id.Validate(); err != nil {
		return history.RunKey{}, err
	}
	return history.RunKey{Namespace: h.ns, RunID: id}, nil
}

// parse checks the form of a payload; nil stands for null where the caller may leave it out.
func (h *Handle) parse(raw []byte) (canon.Payload, error) {
	return canon.Parse(raw, h.e.cfg.Limits.payload())
}

// checkSource checks the optional texts that say where a message came from and who sent it.
func checkSource(source, actor string) error {
	for _, f := range []struct{ field, value string }{{"source", source}, {"actor", actor}} {
		if f.value == "" {
			continue
		}
		if err := spec.CheckName(f.field, f.value); err != nil {
			return err
		}
	}
	return nil
}
