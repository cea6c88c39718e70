package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A page shows what there is to decide, and a decision on it answers the hook as the person it is for.
func TestPage_a_person_decides(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	meta := spec.HumanApproval("Pay invoice 17").WithData("amount", 1234567.5).WithData("to", "Örsted & Sons").
		WithData("lines", []string{"a<b", "c"}).WithData("urgent", true).WithLabel("team", "finance").WithRequester("carol").WithRule(1, 3)
	s.asks("r", askInput{Meta: meta, For: 3_700_000})
	path := s.page("r", "ada")
	r, nonce := s.read(path)
	says(t, r, "<h1><bdi>Pay invoice 17</bdi></h1>", "Whether the money leaves the house.", "1234567.5", "Örsted &amp; Sons", "a&lt;b",
		"finance", "carol", "1 of 3 needed", "1 hour 1 minute left", "For <bdi>ada</bdi>", `href="../assets/approval.css"`, "yes")
	if strings.Contains(r.raw, "checked") || strings.Count(r.raw, "<button") != 1 || strings.Count(r.raw, `type="radio"`) != 2 {
		t.Errorf("the form: %s", r.raw)
	}
	checkKept(t, s.send(path, "nonce", nonce, "decision", "approve", "comment", "  fine\r\nby me "), path)
	if out := s.ended("r"); out != `{"answer":{"approved":true,"comment":"fine\nby me","reviewer":"ada"},"by":"ada"}` {
		t.Errorf("output %s", out)
	}
	after, nonce := s.read(path)
	says(t, after, "Approved", "By you", "fine\nby me")
	if nonce != "" || strings.Contains(after.raw, "<form") {
		t.Error("there is a form still")
	}
	if v := s.gw.Stats(); v.PageViews != 2 || !slices.ContainsFunc(v.PageDecisions, func(c engine.Count) bool { return c.Labels[0] == "accepted" && c.Times == 1 }) {
		t.Errorf("%d views, decisions %v", v.PageViews, v.PageDecisions)
	}
}

// Every state has its page, the same status for GET and HEAD, and an answer for whoever decides too late.
func TestPage_every_state(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	ask := askInput{Meta: spec.HumanApproval("x").WithRule(1, 2)}
	brief := ask
	brief.For = 5000
	for _, tc := range []struct {
		run    string
		in     askInput
		end    func(run string)
		late   int
		says   string
		notice string
	}{
		{"approved", ask, func(run string) {
			checkAccepted(t, s.call("POST", "/v1/runs/"+run+"/hooks/h/resume", `{"approved":true,"comment":"c1"}`))
		}, 409, "Approved", "was decided before"},
		{"rejected", ask, func(run string) { bobs := s.page(run, "bob"); checkKept(t, s.decides(bobs, "reject", "c1"), bobs) }, 409, "By <bdi>bob</bdi>", "was decided before"},
		{"odd", ask, func(run string) { checkAccepted(t, s.call("POST", "/v1/runs/"+run+"/hooks/h/resume", `[1]`)) }, 409, "Answered", "was decided before"},
		{"disposed", ask, func(run string) { s.call("POST", "/v1/runs/"+run+"/hooks/h/dispose", "") }, 410, "Withdrawn", "This is closed"},
		{"cancelled", ask, func(run string) { s.call("POST", "/v1/runs/"+run+"/cancel", "") }, 410, "Cancelled", "This is closed"},
		{"ended", ask, func(run string) {
			s.call("POST", "/v1/runs/"+run+"/signals/end", "1", "Idempotency-Key", "e")
			s.awaitStatus(run, engine.StatusCompleted)
		}, 410, "Closed", "This is closed"},
		{"expired", brief, func(run string) { await(t, "it expires", func() bool { return s.hookState(run) == "expired" }) }, 410, "Not decided in time", "The deadline has passed"},
	} {
		s.asks(tc.run, tc.in)
		path := s.page(tc.run, "ada")
		_, nonce := s.read(path)
		if nonce == "" {
			t.Fatalf("%s: no form", tc.run)
		}
		tc.end(tc.run)
		r, none := s.read(path)
		says(t, r, tc.says)
		if none != "" {
			t.Errorf("%s: there is a form", tc.run)
		}
		head := s.call("HEAD", path, "")
		if head.status != 200 || head.raw != "" {
			t.Errorf("%s: HEAD %d %q", tc.run, head.status, head.raw)
		}
		before := s.hookState(tc.run)
		late := s.send(path, "nonce", nonce, "decision", "approve")
		checkPage(t, late, tc.late)
		says(t, late, tc.notice, tc.says)
		if after := s.hookState(tc.run); after != before {
			t.Errorf("%s: %s became %s", tc.run, before, after)
		}
	}
}

// What is no page is one answer, whatever the reason: malformed, unknown, a hook's token, another namespace's key.
func TestPage_unknown(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{})
	path := s.page("r", "ada")
	token := strings.TrimPrefix(path, "/approvals/")
	hook := s.call("POST", "/v1/runs/r/hooks/h/token", "").text("token")
	junk := strings.Replace(junkToken, "fhk_", "fha_", 1)
	var first string
	for _, bad := range []string{token[:52], token + "a", strings.ToUpper(token), hook, junk, "fha_", "x", token + "%2E", strings.Replace(token, "fha_", "fhk_", 1)} {
		for _, method := range []string{"GET", "POST"} {
			r := s.call(method, "/approvals/"+bad, "nonce=1&decision=approve", "Content-Type", "application/x-www-form-urlencoded")
			checkPage(t, r, 404)
			if first == "" {
				first = r.raw
			}
			if r.raw != first {
				t.Errorf("%s differs: %s", bad, r.raw)
			}
		}
	}
	checkProblem(t, s.answer(token, `true`), 404, "not-found")
	checkProblem(t, s.call("GET", path+"/", ""), 404, "not-found")
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"} {
		checkProblem(t, s.call(method, path, ""), 405, "method-not-allowed")
	}
	s.stillOpen("r")
}

// The style sheet is the only thing that a page loads.
func TestPage_style(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	r := s.call("GET", "/assets/approval.css", "")
	checkHeaders(t, r)
	checkPageHeaders(t, r)
	if r.status != 200 || r.header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(r.raw, "prefers-color-scheme: dark") {
		t.Errorf("%d %s", r.status, r.header.Get("Content-Type"))
	}
	if strings.Contains(r.raw, "url(") || strings.Contains(r.raw, "@import") {
		t.Error("it loads something else")
	}
}

// 58: a form without its nonce, with an old, a foreign or a spoilt one, from another site or out of a frame, decides nothing,
// and gets a fresh form that has the comment.
func TestPage_58_forms_that_are_not_the_pages(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{})
	s.asks("other", askInput{})
	path, foreign := s.page("r", "ada"), s.page("other", "ada")
	_, nonce := s.read(path)
	_, ofOther := s.read(foreign)
	form := func(nonce string) string { return formText("nonce", nonce, "decision", "approve", "comment", "k<ept>") }
	const kind = "application/x-www-form-urlencoded"
	for name, r := range map[string]reply{
		"no nonce":        s.call("POST", path, formText("decision", "approve", "comment", "k<ept>"), "Content-Type", kind),
		"an empty nonce":  s.call("POST", path, form(""), "Content-Type", kind),
		"another page's":  s.call("POST", path, form(ofOther), "Content-Type", kind),
		"a spoilt one":    s.call("POST", path, form("B"+nonce[1:]), "Content-Type", kind),
		"a confirmation":  s.call("POST", path, form(nonce)+"&confirm=yes", "Content-Type", kind),
		"cross-site":      s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "cross-site"),
		"same-site":       s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "same-site"),
		"typed":           s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "none"),
		"framed":          s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe"),
		"fetched":         s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty"),
		"two of the site": s.call("POST", path, form(nonce), "Content-Type", kind, "Sec-Fetch-Site", "same-origin, cross-site"),
	} {
		if r.status != 403 {
			t.Errorf("%s: %d", name, r.status)
			continue
		}
		checkPage(t, r, 403)
		says(t, r, "k&lt;ept&gt;", "Nothing is decided")
		if fresh := nonceOf(r); fresh == "" || fresh == nonce {
			t.Errorf("%s: no fresh form", name)
		}
	}
	for name, tc := range map[string]struct {
		body, kind string
		status     int
	}{
		"JSON":           {`{"decision":"approve"}`, "application/json", 415},
		"no type":        {form(nonce), "", 415},
		"another":        {form(nonce), "text/plain", 415},
		"latin":          {form(nonce), kind + "; charset=latin1", 415},
		"twice":          {form(nonce) + "&decision=reject", kind, 400},
		"unknown":        {form(nonce) + "&approved=true", kind, 400},
		"bad escapes":    {form(nonce) + "&comment=%zz", kind, 400},
		"no decision":    {formText("nonce", nonce), kind, 400},
		"empty":          {formText("nonce", nonce, "decision", ""), kind, 400},
		"another word":   {formText("nonce", nonce, "decision", "Approve"), kind, 400},
		"long comment":   {formText("nonce", nonce, "decision", "approve", "comment", strings.Repeat("c", 4001)), kind, 400},
		"a NUL":          {formText("nonce", nonce, "decision", "approve", "comment", "\x00"), kind, 400},
		"not UTF-8":      {"nonce=" + nonce + "&decision=approve&comment=%ff", kind, 400},
		"a link inside":  {formText("nonce", nonce, "decision", "approve", "comment", "see "+path), kind, 400},
		"a huge comment": {formText("nonce", nonce, "decision", "approve", "comment", strings.Repeat("c", 1<<15)), kind, 413},
	} {
		r := s.call("POST", path, tc.body, "Content-Type", tc.kind)
		if r.status != tc.status {
			t.Errorf("%s: %d", name, r.status)
			continue
		}
		if !strings.Contains(r.raw, "fha_") {
			checkPage(t, r, tc.status)
		}
	}
	s.stillOpen("r")
	s.stillOpen("other")
	checkKept(t, s.send(path, "nonce", nonce, "decision", "reject"), path)
}

// 59: a double click, back and resubmit, and approve followed by reject are one decision.
func TestPage_59_one_decision(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Meta: spec.HumanApproval("x").WithRule(1, 2)})
	path, bobs := s.page("r", "ada"), s.page("r", "bob")
	_, nonce := s.read(path)
	_, bob := s.read(bobs)
	replies := make(chan reply, 20)
	together(20, func(int) { replies <- s.send(path, "nonce", nonce, "decision", "approve", "comment", "c") })
	close(replies)
	for r := range replies {
		checkKept(t, r, path)
	}
	checkKept(t, s.send(path, "nonce", nonce, "decision", "approve", "comment", "c"), path)
	for name, r := range map[string]reply{
		"reject":          s.send(path, "nonce", nonce, "decision", "reject", "comment", "c"),
		"another comment": s.send(path, "nonce", nonce, "decision", "approve"),
		"bob agrees":      s.send(bobs, "nonce", bob, "decision", "approve", "comment", "c"),
	} {
		checkPage(t, r, 409)
		says(t, r, "the first one stands", "Approved")
		if name == "bob agrees" {
			says(t, r, "By <bdi>ada</bdi>")
		}
	}
	if history := s.call("GET", "/v1/runs/r/history", "").raw; strings.Count(history, `"hook.resumed"`) != 1 {
		t.Errorf("history %s", history)
	}
}

// Two people at once: one decides, the other is told who did.
func TestPage_59_two_people_at_once(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	for _, run := range []string{"r1", "r2", "r3"} {
		s.asks(run, askInput{Meta: spec.HumanApproval("x").WithRule(1, 2)})
		paths := []string{s.page(run, "ada"), s.page(run, "bob")}
		var replies [2]reply
		together(2, func(i int) { replies[i] = s.decides(paths[i], []string{"approve", "reject"}[i], "") })
		if a, b := replies[0].status, replies[1].status; a+b != 303+409 {
			t.Errorf("%d and %d", a, b)
		}
	}
}

// What was seen is what is approved.
func TestPage_of_something_that_changed(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pagesOn(t, url, nil, nil)
	s.asks("r", askInput{Meta: spec.HumanApproval("Pay 1").WithData("amount", 1)})
	path := s.page("r", "ada")
	_, nonce := s.read(path)
	execute(t, url, `update hooks set metadata = jsonb_set(metadata, '{data,amount}', '1000')`)
	r := s.send(path, "nonce", nonce, "decision", "approve", "comment", "as read")
	checkPage(t, r, 409)
	says(t, r, "changed while you were reading", "1000", "as read")
	s.stillOpen("r")
	checkKept(t, s.send(path, "nonce", nonceOf(r), "decision", "reject", "comment", "as read"), path)
}

// A hook whose spec says so is decided in two steps, and the second one is for the decision of the first.
func TestPage_confirm(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Name: "sure", Meta: spec.HumanApproval("x")})
	path := s.page("r", "ada")
	asked := s.decides(path, "approve", "line 1\nline <2>")
	checkPage(t, asked, 200)
	says(t, asked, "You are about to approve this", "Nothing is decided yet", `name="decision" value="approve"`, "Yes, approve")
	s.stillOpen("r")
	nonce := nonceOf(asked)
	for name, fields := range map[string][]string{
		"another decision": {"decision", "reject", "comment", "line 1\nline <2>", "confirm", "yes"},
		"another comment":  {"decision", "approve", "comment", "line 1", "confirm", "yes"},
		"no confirmation":  {"decision", "approve", "comment", "line 1\nline <2>"},
	} {
		if r := s.send(path, append(fields, "nonce", nonce)...); r.status != 403 {
			t.Errorf("%s: %d %s", name, r.status, r.raw)
		}
	}
	s.stillOpen("r")
	checkKept(t, s.send(path, "nonce", nonce, "decision", "approve", "comment", "line 1\r\nline <2>", "confirm", "yes"), path)
}

// Who decided is kept from later visitors where the spec says so, but not from who did.
func TestPage_discreet(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Name: "discreet", Meta: spec.HumanApproval("x").WithRule(1, 2)})
	path, bobs := s.page("r", "ada-the-first"), s.page("r", "bob")
	checkKept(t, s.decides(path, "reject", "because"), path)
	r, _ := s.read(bobs)
	says(t, r, "Rejected")
	if strings.Contains(r.raw, "ada-the-first") || strings.Contains(r.raw, "because") {
		t.Errorf("it tells: %s", r.raw)
	}
	r, _ = s.read(path)
	says(t, r, "By you", "because")
}

// An answer that the spec does not allow leaves the hook open and names the field.
func TestPage_schema(t *testing.T) {
	t.Parallel()
	s := newPages(t)
	s.asks("r", askInput{Name: "typed", Meta: spec.HumanApproval("x")})
	path := s.page("r", "ada")
	for _, comment := range []string{"", "ab"} {
		r := s.decides(path, "approve", comment)
		checkPage(t, r, 422)
		says(t, r, "comment")
		s.stillOpen("r")
	}
	checkKept(t, s.decides(path, "approve", "abc"), path)
}
