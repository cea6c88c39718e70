package engine_test

import (
	"crypto/sha256"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// ofPages makes the errors of what people do on pages, with secrets as comments and in place of tokens.
func (p *provocation) ofPages() map[string]provoked {
	p.t.Helper()
	p.start(askedBy(1), "page", nil)
	p.waiting("page", "h")
	link, err := p.PageLink(p.ctx(), "page", "h", "ada")
	if err != nil {
		p.t.Fatal(err)
	}
	token := link.Token.Reveal()
	shown, err := p.ApprovalPage(p.ctx(), token, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	form := p.NewPageForm(token, shown.Shown, inText)
	return map[string]provoked{
		"db.ErrPageNotFound": {is: same(db.ErrPageNotFound), errs: []error{
			refusedBy(db.Open(p.pool, db.Config{}).ReadPage(p.ctx(), history.RunKey{Namespace: "default", RunID: "page"}, "h", inText)),
		}},
		"engine.ErrPageChanged": {is: same(engine.ErrPageChanged), errs: []error{
			refusedBy(p.AnswerPage(p.ctx(), engine.PageAnswer{Token: token, Comment: inText, Shown: sha256.Sum256([]byte(inText))})),
		}},
		"engine.ErrPageForm": {is: same(engine.ErrPageForm), errs: []error{
			refusedBy(p.OpenPageForm(token, inText, "")), refusedBy(p.OpenPageForm(token, form, "")), refusedBy(p.OpenPageForm(p.minted, form, inText)),
			refusedBy(p.OpenPageForm(token, token, inText)),
		}},
		"history.ErrSelfApproval": {is: same(history.ErrSelfApproval), errs: []error{
			refusedBy(p.AnswerPage(p.ctx(), engine.PageAnswer{Token: token, Comment: inText, Shown: shown.Shown})),
			refusedBy(p.ResumeHook(p.ctx(), engine.HookRequest{RunID: "page", HookID: "h", Payload: []byte(`"` + inText + `"`)})),
		}},
		"page: comment": {is: kind[*spec.InvalidError], errs: []error{
			refusedBy(p.AnswerPage(p.ctx(), engine.PageAnswer{Token: token, Comment: inText + " " + p.minted, Shown: shown.Shown})),
			refusedBy(p.PageLink(p.ctx(), "page", "h", p.minted)), refusedBy(p.PageLink(p.ctx(), "page", "h", inText+"\x00")),
		}},
		"page: token": {is: same(engine.ErrTokenNotFound), errs: []error{
			refusedBy(p.ApprovalPage(p.ctx(), p.minted, nil)), refusedBy(p.AnswerPage(p.ctx(), engine.PageAnswer{Token: p.minted, Comment: inText})),
		}},
	}
}
