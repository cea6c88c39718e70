package gateway

import (
	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/engine"
)

// explainView is why a run stands where it stands.
type explainView struct {
	engine.Explanation
	Blocked     *blockedView  `json:"blocked,omitempty"`
	NextWakeAt  *stamp        `json:"next_wake_at,omitempty"`
	Waiting     []waitedView  `json:"waiting"`
	Unread      []unreadView  `json:"unread"`
	DeadLetters []pendingView `json:"dead_letters"`
	Refusals    []refusedView `json:"refusals,omitempty"`
	ReadAt      stamp         `json:"read_at"`
}

type blockedView struct {
	engine.Blockage
	RetryAt *stamp `json:"retry_at,omitempty"`
}

type waitedView struct {
	engine.Waited
	ExpiresAt *stamp `json:"expires_at,omitempty"`
	NextTryAt *stamp `json:"next_try_at,omitempty"`
}

type unreadView struct {
	engine.UnreadSignals
	OldestAt stamp `json:"oldest_at"`
}

// pendingView is a dead letter that nobody has decided about.
type pendingView struct {
	engine.HeldLetter
	Since stamp `json:"since"`
}

// refusedView is a message that was refused.
type refusedView struct {
	engine.Refusal
	At stamp `json:"at"`
}

func viewExplanation(x engine.Explanation) explainView {
	v := explainView{
		Explanation: x, NextWakeAt: stampOf(x.NextWakeAt), ReadAt: stamp(x.ReadAt),
		Waiting: make([]waitedView, len(x.Waiting)), Unread: make([]unreadView, len(x.Unread)),
		DeadLetters: make([]pendingView, len(x.DeadLetters)),
	}
	if b := x.Blocked; b != nil {
		v.Blocked = &blockedView{*b, stampOf(b.RetryAt)}
	}
	for i, w := range x.Waiting {
		v.Waiting[i] = waitedView{w, stampOf(w.ExpiresAt), stampOf(w.NextTryAt)}
	}
	for i, u := range x.Unread {
		v.Unread[i] = unreadView{u, stamp(u.OldestAt)}
	}
	for i, l := range x.DeadLetters {
		v.DeadLetters[i] = pendingView{l, stamp(l.Since)}
	}
	for _, r := range x.Refusals {
		v.Refusals = append(v.Refusals, refusedView{r, stamp(r.At)})
	}
	return v
}

// explainRun tells why a run waits, or does not go on. Who was refused is for those who may read the audit trail.
func (g *Gateway) explainRun(c *fiber.Ctx, k *call) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	x, err := k.handle.Explain(c.UserContext(), engine.ExplainRequest{RunID: k.run, Refusals: k.who.Has(access.AuditRead)})
	if err != nil {
		return err
	}
	return k.show(c, viewExplanation(x))
}
