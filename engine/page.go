package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// ApprovalPage is what an approval page shows to its recipient.
type ApprovalPage struct {
	Namespace    spec.Namespace
	Recipient    string
	Hook         HookView
	Description  string // of the hook, by its workflow's spec
	Confirm      bool   // a decision is asked for twice
	HidesDecider bool   // who decided is not shown
	// Decision is what was decided; nil while nothing was, or where the hook closed otherwise.
	Decision *PageDecision
	// Shown is the digest of what there is to approve. A decision names it: what was seen is what is approved.
	Shown [sha256.Size]byte
	// SelfAsked says that the recipient is who asks and cannot decide.
	SelfAsked bool
	ReadAt    time.Time // by the database's clock
}

// PageDecision is the answer to a hook as a page shows it.
type PageDecision struct {
	Approved *bool // nil where the answer does not say
	Comment  string
	By       string // who is known to have given it; empty where nobody is
	At       time.Time
	Own      bool // by the recipient of the page
}

// pagePayload is the answer that a page gives.
type pagePayload struct {
	Approved bool   `json:"approved"`
	Reviewer string `json:"reviewer"`
	Comment  string `json:"comment,omitempty"`
}

// ApprovalPage reads what the page of a token shows, whatever became of its hook. It changes nothing. found, if set, is as
// TokenRequest.Found.
//
// Errors: ErrTokenNotFound for whatever is no token of a page, such as that of a hook; ErrUnavailable.
func (e *Engine) ApprovalPage(ctx context.Context, token string, found func(spec.Namespace) error) (ApprovalPage, error) {
	view, err := e.resolvePage(ctx, token)
	if err != nil {
		return ApprovalPage{}, err
	}
	if found != nil {
		if err := found(view.Run.Namespace); err != nil {
			return ApprovalPage{}, err
		}
	}
	return e.showPage(ctx, view)
}

func (e *Engine) resolvePage(ctx context.Context, text string) (db.PageView, error) {
	token, err := tokens.ParsePage(text)
	if err != nil {
		return db.PageView{}, ErrTokenNotFound
	}
	digests := e.cfg.Keys.Digests(token)
	stored := make([]history.TokenDigest, len(digests))
	for i, d := range digests {
		stored[i] = history.TokenDigest(d)
	}
	return e.store.ResolvePage(ctx, stored)
}

func (e *Engine) showPage(ctx context.Context, view db.PageView) (ApprovalPage, error) {
	auth, err := e.authorityOf(ctx, view.SpecDigest)
	if err != nil {
		return ApprovalPage{}, err
	}
	declared, asks := auth.Hook(view.Name), view.Metadata.Requester
	p := ApprovalPage{
		Namespace: view.Run.Namespace, Recipient: view.Recipient, Hook: showHookView(view.HookView),
		Description: declared.Description, Confirm: declared.Confirm, HidesDecider: declared.HidesDecider,
		SelfAsked: asks != "" && spec.SamePerson(asks, view.Recipient), ReadAt: view.ReadAt,
	}
	if p.Shown, err = shownOf(p); err != nil {
		return ApprovalPage{}, err
	}
	if view.State == history.StateResumed {
		p.Decision, err = e.pageDecision(ctx, view)
	}
	return p, err
}

// shownOf is the digest of what there is to approve: everything that the page says of it before it is decided.
func shownOf(p ApprovalPage) ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{
		p.Hook.RunID, p.Hook.HookID, p.Hook.Kind, p.Hook.Subject, p.Hook.Labels, p.Hook.Data, p.Hook.Requester, p.Hook.Rule,
		p.Hook.ExpiresAt, p.Description,
	})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("digest of a page: %w", err)
	}
	return sha256.Sum256(text), nil
}

func (e *Engine) pageDecision(ctx context.Context, view db.PageView) (*PageDecision, error) {
	d := &PageDecision{
		By: view.Actor, At: *view.ResolvedAt, Own: view.Actor != "" && spec.SamePerson(view.Actor, view.Recipient),
	}
	payload, err := e.store.HookAnswer(ctx, view.Run, view.ID)
	if err != nil {
		if errors.Is(err, history.ErrHookNotFound) {
			return d, nil
		}
		return nil, err
	}
	var answer struct {
		Approved json.RawMessage `json:"approved"`
		Comment  json.RawMessage `json:"comment"`
	}
	if json.Unmarshal(payload, &answer) != nil {
		return d, nil //nolint:nilerr // an answer need not be an object
	}
	if json.Unmarshal(answer.Approved, &d.Approved) != nil {
		d.Approved = nil
	}
	if json.Unmarshal(answer.Comment, &d.Comment) != nil {
		d.Comment = ""
	}
	return d, nil
}
