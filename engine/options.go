package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// WaitOption bounds a wait for a signal.
type WaitOption interface {
	wait(*history.OpenWait) error
}

// HookOption describes a hook that CreateHook opens. Options of a hook that is known are ignored, but for Token: another
// token under a known hook ID is non-determinism and blocks the run.
type HookOption interface {
	hook(*hookDraft) error
}

type waitOption func(*history.OpenWait) error

func (o waitOption) wait(w *history.OpenWait) error { return o(w) }

type hookOption func(*hookDraft) error

func (o hookOption) hook(h *hookDraft) error { return o(h) }

// hookDraft is a CreateHook under construction.
type hookDraft struct {
	command history.CreateHook
	keys    *tokens.Keyring
	known   bool // the state knows the hook: what it was created with stays
}

var errTwoDeadlines = errors.New("only one deadline may be given")

// Timeout ends the wait d after the turn that first names it. Zero means: take what is there, or time out at once.
func Timeout(d time.Duration) WaitOption {
	return waitOption(func(w *history.OpenWait) error {
		if w.Timeout != nil || w.Until != nil {
			return errTwoDeadlines
		}
		w.Timeout = &d
		return checkDuration(d)
	})
}

// Until ends the wait at a time.
func Until(t time.Time) WaitOption {
	return waitOption(func(w *history.OpenWait) error {
		if w.Timeout != nil || w.Until != nil {
			return errTwoDeadlines
		}
		w.Until = &t
		return checkTime(t)
	})
}

// As names the declaration in the workflow's spec that the hook obeys: its schema, audience and whether its token may
// withdraw it. Without As the name is the hook's ID; an undeclared name has no schema and the defaults.
func As(name string) HookOption {
	return hookOption(func(h *hookDraft) error {
		h.command.Name = name
		return spec.CheckName("name", name)
	})
}

// Token supplies the hook's token instead of having one minted: 22 to 128 characters of [0-9A-Za-z_-] that do not look
// like a minted one. It must be the same on every call, so it comes from the input or an answer. It must be hard to
// guess, and where the host put it, there it rests: in an input it is readable by everyone who may read the run.
func Token(token string) HookOption {
	return hookOption(func(h *hookDraft) error {
		secret, err := tokens.ParseHost(token)
		if err != nil {
			return err
		}
		key, digest := h.keys.Digest(secret)
		h.command.Grant = history.TokenGrant{Digest: history.TokenDigest(digest), DigestKey: key}
		for _, d := range h.keys.Digests(secret) {
			h.command.HostDigests = append(h.command.HostDigests, history.TokenDigest(d))
		}
		return nil
	})
}

// Metadata gives the hook routing and audit context. It is shown in lists, so it holds no secret.
func Metadata(m spec.HookMetadata) HookOption {
	return hookOption(func(h *hookDraft) error {
		if h.known {
			return nil
		}
		if err := m.Validate(); err != nil {
			return err
		}
		// A copy by way of JSON: the maps stay the author's, who may change them once the call is over.
		text, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("metadata: %w", encodeError(err))
		}
		return json.Unmarshal(text, &h.command.Metadata)
	})
}

// ExpiresIn closes the hook d after the turn that creates it. An answer at or after that time is refused as gone.
func ExpiresIn(d time.Duration) HookOption {
	return hookOption(func(h *hookDraft) error {
		if h.command.In != nil || h.command.At != nil {
			return errTwoDeadlines
		}
		h.command.In = &d
		return checkDuration(d)
	})
}

// ExpiresAt closes the hook at a time.
func ExpiresAt(t time.Time) HookOption {
	return hookOption(func(h *hookDraft) error {
		if h.command.In != nil || h.command.At != nil {
			return errTwoDeadlines
		}
		h.command.At = &t
		return checkTime(t)
	})
}

func checkDuration(d time.Duration) error {
	if d < 0 {
		return errors.New("the duration must not be negative")
	}
	return nil
}

// checkTime refuses the zero time, which is a forgotten field more often than a wish, and what RFC 3339 cannot write.
func checkTime(t time.Time) error {
	if t.IsZero() || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return errors.New("the time must be set and lie in the years 1 to 9999")
	}
	return nil
}
