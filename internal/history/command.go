package history

import (
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Message is what a caller asks of a run: one of StartRun, SendSignal, SendUpdate, ResumeHook, DisposeHook,
// CancelRun, RetryRun, StartWith, and of tasks SettleTask, HoldTask, ReplayTask, DiscardTask.
type Message interface {
	Target() RunKey
}

// StartRun opens a run. Its input and spec were checked before; the door decides between new, same and other.
type StartRun struct {
	Run          RunKey
	Workflow     string
	Version      string // the version to start
	NamedVersion bool   // whether the caller named it: only then does another version conflict
	SpecDigest   canon.Digest
	Input        canon.Payload
	Labels       spec.Labels
	Parent       *Parent // the run that asks for it; nil for a caller
	Actor        string
}

// SendSignal delivers a named message under a caller-owned identity.
type SendSignal struct {
	Run     RunKey
	ID      spec.SignalID
	Name    string
	Payload canon.Payload
	Source  string
	Actor   string
}

// ResumeHook answers a hook.
type ResumeHook struct {
	Run     RunKey
	HookID  spec.HookID
	Payload canon.Payload
	ByToken bool       // the caller holds the token only: internal hooks are unknown to it
	Proof   spec.Proof // what it proved beside that
	Source  string
	Actor   string
}

// DisposeHook withdraws a hook.
type DisposeHook struct {
	Run     RunKey
	HookID  spec.HookID
	ByToken bool       // the caller holds the token only: the hook's spec must allow it
	Proof   spec.Proof // what it proved beside that
	Source  string
	Actor   string
}

// CancelRun ends a run, or asks its code to end it where the spec is cooperative and Terminate is not set.
//
// It has no ID of its own: a run is cancelled once. What changes nothing any more is a duplicate, with the receipt of the
// first wish to cancel, however the run ends as cancelled and whoever asks. Terminate after a wish that the code has not
// followed yet does change something: it is accepted with a receipt of its own, and repeating it is a duplicate like any
// other, of the first wish.
type CancelRun struct {
	Run       RunKey
	Terminate bool
	Reason    string
	Actor     string
	// ChildOf, where it is set, leaves every run alone that is not the child of this parent.
	ChildOf *Parent
}

// RetryRun makes a blocked run due now.
type RetryRun struct {
	Run RunKey
}

// Target implements Message.
func (m *StartRun) Target() RunKey { return m.Run }

// Target implements Message.
func (m *SendSignal) Target() RunKey { return m.Run }

// Target implements Message.
func (m *ResumeHook) Target() RunKey { return m.Run }

// Target implements Message.
func (m *DisposeHook) Target() RunKey { return m.Run }

// Target implements Message.
func (m *CancelRun) Target() RunKey { return m.Run }

// Target implements Message.
func (m *RetryRun) Target() RunKey { return m.Run }

// Authority is the part of a run's stored spec that judges messages to it. Its methods are pure.
type Authority interface {
	// CheckSignal returns nil, ErrSignalUndeclared, or the schema's refusal.
	CheckSignal(name string, payload canon.Payload) error
	// CheckUpdate returns nil, ErrUpdateUndeclared, or the schema's refusal.
	CheckUpdate(name string, payload canon.Payload) error
	// CheckHook returns nil or the schema's refusal of an answer to hooks of this name.
	CheckHook(name string, payload canon.Payload) error
	// Hook returns the declaration of a hook name, or the defaults.
	Hook(name string) spec.Hook
	// CooperativeCancel says that cancelling is a request to workflow code.
	CooperativeCancel() bool
}
