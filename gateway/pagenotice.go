package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/page"
)

// pageNotice is what a page says of a form that it does not take.
type pageNotice struct {
	status  int
	verdict engine.Verdict
	title   string
	text    string
}

// The notices. None of them means that something was decided.
var (
	pageUndecided = pageNotice{
		400, engine.VerdictInvalid, "Nothing is decided yet", "Choose to approve or to reject, then send your decision.",
	}
	pageMalformed = pageNotice{
		400, engine.VerdictInvalid, "That was not the form of this page", "Nothing is decided. Use the form below.",
	}
	pageNoForm = pageNotice{
		415, engine.VerdictInvalid, "That was not a form", "Nothing is decided. Use the form below.",
	}
	pageTooLong = pageNotice{
		413, engine.VerdictInvalid, "That was too long", "Nothing is decided. A comment has at most 4,000 bytes.",
	}
	pageForeign = pageNotice{
		403, engine.VerdictDenied, "That came from another site", "Nothing is decided. Only this page takes your decision.",
	}
	pageStale = pageNotice{
		403, engine.VerdictDenied, "Please decide again", "Nothing is decided. The form was too old, or was not one of this page.",
	}
	pageOwn = pageNotice{
		403, engine.VerdictDenied, "You asked for this", "Who asks does not decide. Nothing is decided, and others still can.",
	}
	pageChanged = pageNotice{
		409, engine.VerdictConflict, "This changed while you were reading", "Nothing is decided. Read it again, then decide.",
	}
	pageDecided = pageNotice{
		409, engine.VerdictConflict, "This was decided before", "Your decision was not taken: the first one stands.",
	}
	pageClosed = pageNotice{
		410, engine.VerdictGone, "This is closed", "Your decision was not taken: nothing is asked for any more.",
	}
)

func pageClosedBy(e *engine.HookClosedError) *pageNotice { return pageOver(string(e.Cause)) }

// pageOver is the notice for a hook that is not open.
func pageOver(state string) *pageNotice {
	said := pageClosed
	switch state {
	case hookAnswered:
		return &pageDecided
	case "expired":
		said.title, said.text = "The deadline has passed", "Your decision was not taken."
	}
	return &said
}

func pageBreaks(e *engine.SchemaError) *pageNotice {
	var said strings.Builder
	for i, v := range e.Violations {
		if i == 3 {
			said.WriteString(" And more.")
			break
		}
		at := v.Pointer
		if at == "" {
			at = "the answer"
		}
		fmt.Fprintf(&said, " %s: %s.", at, v.Message)
	}
	return &pageNotice{
		422, engine.VerdictInvalid, "The workflow does not take this answer", "Nothing is decided." + said.String(),
	}
}

func pageInvalid(e *engine.InvalidError) *pageNotice {
	return &pageNotice{400, engine.VerdictInvalid, "The comment cannot be kept", "Nothing is decided. The " + e.Field + " " + e.Rule + "."}
}

// refusalNotice words a refusal for people.
func refusalNotice(p *problem) *page.Notice {
	switch {
	case p.status == http.StatusNotFound:
		return &page.Notice{Title: "There is nothing here", Text: "The link is not known. It may have been cut off on its way to you.", Bad: true}
	case p.status == http.StatusTooManyRequests:
		return &page.Notice{Title: "Too many requests", Text: "Nothing is decided. Wait a moment, then try again.", Bad: true}
	case p.retryable:
		return &page.Notice{Title: "Not now", Text: "It is not known whether a decision you sent was taken. Try again: it counts once.", Bad: true}
	}
	return &page.Notice{Title: p.title, Text: p.detail, Bad: true}
}

// writePage makes the refusal the response of a route for people.
func (r *refusal) writePage(res *fasthttp.Response) {
	body, err := page.Draw(page.Page{Notice: refusalNotice(r.problem)})
	if err != nil {
		body = nil // the status tells
	}
	res.SetStatusCode(r.problem.status)
	res.Header.SetContentType("text/html; charset=utf-8")
	res.SetBody(body)
	if r.problem.status == http.StatusServiceUnavailable || r.problem.status == http.StatusTooManyRequests {
		res.Header.Set("Retry-After", strconv.Itoa(positive(r.retry, retryAfter)))
	}
}

// stampPage sets what every response on a route for people carries: nothing but our own style sheet is loaded, nothing runs,
// no other site frames the page, gets its form, or is told its address.
func stampPage(res *fasthttp.Response) {
	res.Header.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	res.Header.Set("Referrer-Policy", "no-referrer")
	res.Header.Set("X-Robots-Tag", "noindex")
	res.Header.Set("X-Frame-Options", "DENY")
	res.Header.Set("Cross-Origin-Opener-Policy", "same-origin")
}
