package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// MaxPageComment bounds the comment of a decision, in bytes of UTF-8.
const MaxPageComment = 4000

// sourcePage says in history that a message came from a page.
const sourcePage = "page"

// PageAnswer is a decision that the recipient of a page makes.
type PageAnswer struct {
	Token    string // of the page
	Approved bool
	Comment  string // optional, at most MaxPageComment bytes
	// Shown is ApprovalPage.Shown of the page that the decision was made on.
	Shown [sha256.Size]byte
	Found func(spec.Namespace) error // as TokenRequest.Found
}

// AnswerPage answers the hook of a page with {"approved":…,"reviewer":…,"comment":…}, as its recipient. It is idempotent as
// Handle.ResumeHook is: the same decision with the same comment by the same person is a duplicate.
//
// Errors: ErrTokenNotFound as for ApprovalPage; *InvalidError for the comment; ErrPageChanged where the open hook shows something else
// by now; ErrSelfApproval where the recipient is who asks; *HookConflictError, *HookClosedError, *SchemaError and
// ErrUnavailable as for ResumeHook.
func (e *Engine) AnswerPage(ctx context.Context, req PageAnswer) (r Receipt, err error) {
	defer func() { e.figures.received(MessageHook, r.Verdict, err) }()
	if err := checkComment(req.Comment); err != nil {
		return Receipt{}, err
	}
	view, err := e.resolvePage(ctx, req.Token)
	if err != nil {
		return Receipt{}, err
	}
	if req.Found != nil {
		if err := req.Found(view.Run.Namespace); err != nil {
			return Receipt{}, err
		}
	}
	page, err := e.showPage(ctx, view)
	if err != nil {
		return Receipt{}, err
	}
	text, err := json.Marshal(pagePayload{Approved: req.Approved, Reviewer: view.Recipient, Comment: req.Comment})
	if err != nil {
		return Receipt{}, fmt.Errorf("answer of a page: %w", err)
	}
	payload, err := canon.Parse(text, e.cfg.Limits.payload())
	if err != nil {
		return Receipt{}, err
	}
	ctx = asRecipient(ctx, page)
	answer := &history.ResumeHook{Run: view.Run, HookID: view.ID, Payload: payload, Source: sourcePage, Actor: view.Recipient}
	if view.State == history.StateActive && page.Shown != req.Shown { // what is known already is told whatever it looks like now
		e.noteRefusal(ctx, answer, ErrPageChanged)
		return Receipt{}, ErrPageChanged
	}
	receipt, err := e.accept(ctx, answer)
	if errors.Is(err, ErrRunNotFound) || errors.Is(err, ErrHookNotFound) {
		return Receipt{}, ErrTokenNotFound
	}
	return receipt, err
}

// asRecipient is a context for what a person decides on a page, with what was shown.
func asRecipient(ctx context.Context, page ApprovalPage) context.Context {
	t := TrailOf(ctx)
	t.Method, t.Actor, t.SubjectDigest = TrailPage, page.Recipient, page.Shown[:]
	return WithTrail(ctx, t)
}

// checkComment refuses what cannot be kept. A link in a comment would rest in the history.
func checkComment(text string) error {
	switch {
	case len(text) > MaxPageComment:
		return &InvalidError{Field: "comment", Rule: fmt.Sprintf("must be at most %d bytes, has %d", MaxPageComment, len(text))}
	case !utf8.ValidString(text):
		return &InvalidError{Field: "comment", Rule: "must be valid UTF-8"}
	case strings.ContainsRune(text, 0):
		return &InvalidError{Field: "comment", Rule: "must not hold NUL"}
	}
	return spec.CheckNoToken("comment", text)
}
