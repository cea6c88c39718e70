package db

import (
	"sync"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// hookKey names one hook.
type hookKey struct {
	run history.RunKey
	id  spec.HookID
}

// foundHooks keeps hooks as they were when their tokens were resolved lately, so that the answer that follows need not read
// them again. It forgets the oldest half at a time. It is safe for concurrent use.
type foundHooks struct {
	half int

	mu         sync.Mutex
	young, old map[hookKey]history.Hook
}

func newFoundHooks(limit int) *foundHooks {
	return &foundHooks{half: max(limit/2, 1), young: map[hookKey]history.Hook{}}
}

func (f *foundHooks) add(run history.RunKey, h history.Hook) {
	h.Metadata = spec.HookMetadata{Requester: h.Metadata.Requester} // an answer is not judged by the rest, which may be large
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.young) >= f.half {
		f.old, f.young = f.young, make(map[hookKey]history.Hook, f.half)
	}
	f.young[hookKey{run, h.ID}] = h
}

func (f *foundHooks) get(run history.RunKey, id spec.HookID) (history.Hook, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, ok := f.young[hookKey{run, id}]
	if !ok {
		h, ok = f.old[hookKey{run, id}]
	}
	return h, ok
}
