package gateway

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/flowgate-go/flowgate/spec"
)

// The parts of a page.
const (
	approveRadio = `input[value="approve"]`
	rejectRadio  = `input[value="reject"]`
	sendButton   = `button[type="submit"]`
	commentField = `#comment`
)

// payment is something to decide, with all that a page can show.
func payment() spec.HookMetadata {
	return spec.HumanApproval("Pay invoice 2026-117 of Nordlicht Energie").WithRequester("carol@example.com").WithRule(1, 3).
		WithData("amount", "18,400.00 EUR").WithData("cost centre", 4711).WithData("urgent", true).
		WithData("lines", []map[string]any{{"item": "Power, October", "sum": 18400}}).WithLabel("team", "finance").WithLabel("country", "de")
}

// 57, C73, C76, C77, C78: a browser with scripts, and one that presses whatever there is at once, decides nothing on any link
// that any surface gives out. Then a person does, once.
func TestBrowser_57_robots_decide_nothing(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: spec.HumanApproval("x")})
	link := b.link("r", "ada")
	hook := b.call("POST", "/v1/runs/r/hooks/h/token", "").text("url")
	tab := b.tab()
	for range 10 {
		b.does(tab, "visit the hook", idle(hook))
		b.does(tab, "visit the page", idle(link))
		press := `document.querySelectorAll("button, a, input, label.none").forEach(e => { if (e.type !== "radio") e.click() }); 1`
		if _, err := chromedp.Run(tab, chromedp.Evaluate[int](press)); err != nil {
			t.Fatal(err)
		}
		b.stillOpen("r")
	}
	b.does(tab, "send the form past the browser's own check", chromedp.Navigate(link),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			submit := chromedp.Evaluate[int](`document.querySelector("form").submit(); 1`)
			_, err := submit(ctx, target)
			return err
		}), chromedp.WaitVisible("#missing"))
	b.reads(tab, "Nothing is decided yet", "Choose one of the two.")
	b.stillOpen("r")
	b.does(tab, "decide", chromedp.Click(approveRadio), chromedp.Click(sendButton), chromedp.WaitVisible(".end"))
	b.reads(tab, "Approved", "By you")
	b.resumedOnce("r")
}

// A person decides on a phone, with scripts off, and with the keyboard alone; and the page looks as it should.
func TestBrowser_a_person_decides_on_a_phone(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: payment(), For: 200_000_000})
	link := b.link("r", "ada@example.com")
	tab := b.tab()
	scriptsOff := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
	b.does(tab, "open", scriptsOff, looks(390, 844, "light"), chromedp.Navigate(link), chromedp.WaitVisible("h1"))
	b.shot(tab, "approval-open-phone-light")
	b.does(tab, "dark", looks(390, 844, "dark"))
	b.shot(tab, "approval-open-phone-dark")
	b.does(tab, "wide", looks(1280, 900, "light"))
	b.shot(tab, "approval-open-desktop-light")
	b.does(tab, "narrow", looks(320, 640, "light"))
	b.fits(tab)
	b.does(tab, "the keyboard", looks(390, 844, "light"),
		chromedp.KeyEvent("\t"), chromedp.KeyEvent(" "), chromedp.KeyEvent("\t"), chromedp.KeyEvent("Fine by me"))
	b.shot(tab, "approval-chosen-phone-light")
	b.does(tab, "send", chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"), chromedp.WaitVisible(".end"))
	b.reads(tab, "Approved", "By you", "Fine by me")
	b.shot(tab, "approval-approved-phone-light")
	b.does(tab, "dark and wide", looks(1280, 900, "dark"))
	b.shot(tab, "approval-approved-desktop-dark")
	b.does(tab, "reload", chromedp.Reload(), chromedp.WaitVisible(".end"))
	b.does(tab, "back", chromedp.NavigateBack(), chromedp.WaitVisible(".end"))
	b.reads(tab, "Approved")
	b.resumedOnce("r")
}

// 59: a double click, and the same form once more from another tab, are one decision; another decision is told of the first.
func TestBrowser_59_double_click_and_resubmit(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: payment()})
	link := b.link("r", "ada")
	first, again, other := b.tab(), b.tab(), b.tab()
	for _, tab := range []context.Context{first, again, other} {
		b.does(tab, "open", chromedp.Navigate(link), chromedp.WaitVisible(sendButton))
	}
	b.does(first, "click twice", chromedp.Click(approveRadio), chromedp.DoubleClick(sendButton), chromedp.WaitVisible(".end"))
	b.does(again, "the same", chromedp.Click(approveRadio), chromedp.Click(sendButton), chromedp.WaitVisible(".end"))
	b.reads(again, "Approved", "By you")
	b.does(other, "the other", looks(390, 844, "light"), chromedp.Click(rejectRadio), chromedp.Click(sendButton), chromedp.WaitVisible(".notice"))
	b.reads(other, "This was decided before", "the first one stands", "Approved")
	b.shot(other, "approval-conflict-phone-light")
	b.resumedOnce("r")
}

// 59: of two people at once one decides, and the other reads who did.
func TestBrowser_59_two_people_at_once(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: payment()})
	people := []string{"ada", "bob"}
	tabs := []context.Context{b.tab(), b.tab()}
	for i, person := range people {
		b.does(tabs[i], "open", chromedp.Navigate(b.link("r", person)), chromedp.Click([]string{approveRadio, rejectRadio}[i]))
	}
	errs := [2]error{}
	together(2, func(i int) { errs[i] = chromedp.Do(tabs[i], chromedp.Click(sendButton), chromedp.WaitVisible(".end")) })
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	won := 0
	if !strings.Contains(b.text(tabs[0]), "By you") {
		won = 1
	}
	b.reads(tabs[won], "By you")
	b.reads(tabs[1-won], "This was decided before", "By "+people[won])
	b.resumedOnce("r")
}

// What changed since it was read, what is past its deadline, and what one asked for oneself is not decided.
func TestBrowser_what_is_not_taken(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: payment()})
	b.asks("own", askInput{Meta: payment()})
	tab := b.tab()
	b.does(tab, "open", looks(390, 844, "dark"), chromedp.Navigate(b.link("r", "ada")), chromedp.Click(approveRadio), chromedp.SendKeys(commentField, "ok"))
	execute(t, b.database, `update hooks set metadata = jsonb_set(metadata, '{data,amount}', '"98,400.00 EUR"')`)
	b.does(tab, "send", chromedp.Click(sendButton), chromedp.WaitVisible(".notice"))
	b.reads(tab, "This changed while you were reading", "98,400.00 EUR")
	b.shot(tab, "approval-changed-phone-dark")
	b.stillOpen("r")
	b.does(tab, "send again", chromedp.Click(rejectRadio), chromedp.Click(sendButton), chromedp.WaitVisible(".end"))
	b.reads(tab, "Rejected", "ok")

	b.does(tab, "one's own", chromedp.Navigate(b.link("own", "Carol@example.com")), chromedp.WaitVisible("h1"))
	b.reads(tab, "Who asks does not decide")
	if forms, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.forms.length`)); err != nil || forms != 0 {
		t.Errorf("%d forms %v", forms, err)
	}
	b.shot(tab, "approval-own-phone-dark")
	b.stillOpen("own")

	b.asks("late", askInput{Meta: payment(), For: 8000})
	b.does(tab, "open", chromedp.Navigate(b.link("late", "ada")), chromedp.Click(approveRadio))
	await(t, "it expires", func() bool { return b.hookState("late") == "expired" })
	b.does(tab, "send", chromedp.Click(sendButton), chromedp.WaitVisible(".end"))
	b.reads(tab, "The deadline has passed", "Not decided in time")
	b.shot(tab, "approval-expired-phone-dark")
}

// A decision that is asked for twice takes two presses, and can be taken back between them.
func TestBrowser_confirm(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Name: "sure", Meta: payment()})
	tab := b.tab()
	b.does(tab, "ask", looks(390, 844, "light"), chromedp.Navigate(b.link("r", "ada")), chromedp.Click(approveRadio),
		chromedp.SendKeys(commentField, "two\nlines"), chromedp.Click(sendButton), chromedp.WaitVisible(".sure"))
	b.reads(tab, "You are about to approve this", "Nothing is decided yet")
	b.shot(tab, "approval-confirm-phone-light")
	b.stillOpen("r")
	b.does(tab, "back and again", chromedp.Click(".back a"), chromedp.Click(rejectRadio), chromedp.Click(sendButton),
		chromedp.WaitVisible(".sure"), chromedp.Click(sendButton), chromedp.WaitVisible(".end"))
	b.reads(tab, "Rejected", "By you")
	b.resumedOnce("r")
}

// 58: another site neither frames a page nor sends its form, not even with a nonce that is good.
func TestBrowser_58_other_sites(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	b.asks("r", askInput{Meta: payment()})
	link := b.link("r", "ada")
	_, nonce := b.read(strings.TrimPrefix(link, b.base))
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/frame" {
			_, _ = fmt.Fprintf(w, `<main>frame</main><iframe src="%s"></iframe>`, html.EscapeString(link))
			return
		}
		_, _ = fmt.Fprintf(w, `<body onload="document.forms[0].submit()"><form method="post" action="%s"><input name="nonce" value="%s">
			<input name="decision" value="approve"></form>`, html.EscapeString(link), html.EscapeString(nonce))
	}))
	t.Cleanup(evil.Close)
	tab := b.tab()
	b.does(tab, "be framed", idle(evil.URL+"/frame"))
	tree, err := chromedp.Run(tab, func(ctx context.Context, t *chromedp.Target) (page.GetFrameTreeResult, error) {
		return cdp.Call(ctx, t, page.GetFrameTree, cdp.Empty{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.FrameTree.ChildFrames) != 1 || !strings.HasPrefix(tree.FrameTree.ChildFrames[0].Frame.URL, "chrome-error:") {
		t.Errorf("the page is framed: %+v", tree.FrameTree.ChildFrames)
	}
	b.does(tab, "send from elsewhere", chromedp.Navigate(evil.URL+"/send"), chromedp.WaitVisible(".notice"))
	b.reads(tab, "That came from another site")
	b.stillOpen("r")
}

// C86: what strangers write neither runs nor breaks the page.
func TestBrowser_C86_hostile_texts(t *testing.T) {
	t.Parallel()
	b := newBrowsed(t)
	bad := `<img src=x onerror="document.title='owned'">` + "\u202egpj.exe " + strings.Repeat("W", 300)
	b.asks("r", askInput{Meta: spec.HumanApproval(bad).WithData(bad, bad).WithLabel("k", `"><script>document.title='owned'</script>`)})
	tab := b.tab()
	b.does(tab, "open", looks(320, 640, "light"), idle(b.link("r", "ada")))
	b.fits(tab)
	b.shot(tab, "approval-hostile-phone-light")
	if title, err := chromedp.Run(tab, chromedp.Title()); err != nil || title != "Your decision is asked for" {
		t.Errorf("title %q %v", title, err)
	}
	b.reads(tab, "<img src=x", "U+202E")
}

// fits checks that a page needs no sideways scrolling and that its style sheet was found.
func (b *browsed) fits(tab context.Context) {
	b.t.Helper()
	wide, err := chromedp.Run(tab, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	if err != nil || wide > 0 {
		b.t.Errorf("the page is %d pixels too wide: %v", wide, err)
	}
	height, err := chromedp.Run(tab, chromedp.Evaluate[float64](`document.querySelector("button").getBoundingClientRect().height`))
	if err != nil || height < 48 {
		b.t.Errorf("the button is %v pixels high: %v", height, err)
	}
}

// resumedOnce checks that a hook was answered once.
func (b *browsed) resumedOnce(run string) {
	b.t.Helper()
	if events := b.call("GET", "/v1/runs/"+run+"/history", "").raw; strings.Count(events, `"hook.resumed"`) != 1 {
		b.t.Errorf("history of %s: %s", run, events)
	}
}
