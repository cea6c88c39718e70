package history

import (
	"time"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Decision is what workflow code returned from one call: the whole of what it waits for now, and what it wants done.
type Decision struct {
	Commands []Command
}

// Command is one part of a decision.
type Command interface {
	// id is the identity in the run's one space of IDs; empty for endings.
	id() string
	kind() Kind
}

// Kind is what an ID stands for; one ID has one kind per generation.
type Kind string

// The kinds of things an ID names, and the kind of commands that end a generation.
const (
	KindWait   Kind = "wait"
	KindTimer  Kind = "timer"
	KindHook   Kind = "hook"
	KindStep   Kind = "step"
	KindChild  Kind = "child"
	KindCall   Kind = "call"
	KindUpdate Kind = "update" // of commands about updates, whose IDs are their callers'
	KindEnding Kind = "ending"
)

// OpenWait claims the next signal of a name. At most one of Timeout and Until is set; neither waits for ever.
type OpenWait struct {
	ID      spec.WaitID
	Signal  string
	Timeout *time.Duration // from the time of the turn that opens it
	Until   *time.Time
}

// StartTimer opens a deadline, by exactly one of In and At.
type StartTimer struct {
	ID spec.TimerID
	In *time.Duration // from the time of the turn that opens it
	At *time.Time
}

// WaitHook names a hook that is known, without opening it.
type WaitHook struct {
	ID spec.HookID
}

// CreateHook opens a hook. Naming a known one changes nothing.
type CreateHook struct {
	ID       spec.HookID
	Name     string // empty means the ID
	Metadata spec.HookMetadata
	In       *time.Duration // expiry from the time of the turn that opens it
	At       *time.Time
	// Grant is the token of a hook that is not known yet; the caller of the turn fills it in.
	Grant TokenGrant
	// HostDigests are the digests of a host-supplied token under every loaded key, empty for a minted one.
	HostDigests []TokenDigest
}

// name is the declaration that the hook obeys.
func (c *CreateHook) name() string {
	if c.Name == "" {
		return string(c.ID)
	}
	return c.Name
}

// WithdrawHook disposes of a hook. On a hook that is settled or was never created it changes nothing, but that the settled
// one counts as asked about.
type WithdrawHook struct {
	ID spec.HookID
}

// Complete ends the run with an output.
type Complete struct{ Output canon.Payload }

// Fail ends the run with an error text.
type Fail struct{ Message string }

// AcceptCancel ends a run whose cancellation was requested.
type AcceptCancel struct{}

// ContinueAsNew closes the generation and opens the next one with a new input.
type ContinueAsNew struct{ Input canon.Payload }

func (c *OpenWait) id() string      { return string(c.ID) }
func (c *StartTimer) id() string    { return string(c.ID) }
func (c *WaitHook) id() string      { return string(c.ID) }
func (c *CreateHook) id() string    { return string(c.ID) }
func (c *WithdrawHook) id() string  { return string(c.ID) }
func (c *Complete) id() string      { return "" }
func (c *Fail) id() string          { return "" }
func (c *AcceptCancel) id() string  { return "" }
func (c *ContinueAsNew) id() string { return "" }

func (c *OpenWait) kind() Kind      { return KindWait }
func (c *StartTimer) kind() Kind    { return KindTimer }
func (c *WaitHook) kind() Kind      { return KindHook }
func (c *CreateHook) kind() Kind    { return KindHook }
func (c *WithdrawHook) kind() Kind  { return KindHook }
func (c *Complete) kind() Kind      { return KindEnding }
func (c *Fail) kind() Kind          { return KindEnding }
func (c *AcceptCancel) kind() Kind  { return KindEnding }
func (c *ContinueAsNew) kind() Kind { return KindEnding }
