package client

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// PageLink is the link of an approval page for one person. Whoever has it may decide as that person: keep it out of logs.
type PageLink struct {
	Answer
	URL       string     `json:"url"`
	TokenID   string     `json:"token_id"`
	Recipient string     `json:"recipient"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// PageLink shows the link of an open hook's approval page for one person, the same one on every call. Errors: ErrGone for a hook
// that closed, ErrConflict for one that was answered, ErrUnknown, ErrInvalid, ErrDenied, ErrBusy.
func (c *Client) PageLink(ctx context.Context, run spec.RunID, hook spec.HookID, recipient string) (PageLink, error) {
	var l PageLink
	at, err := hookPath(run, hook, "/pages")
	if err != nil {
		return l, err
	}
	body, err := encode(map[string]string{"recipient": recipient})
	if err != nil {
		return l, err
	}
	return l, c.do(ctx, request{method: "POST", path: at, body: body}, &l)
}
