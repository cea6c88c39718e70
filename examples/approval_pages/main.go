// Command approval_pages has two of three people approve a payment, each on a page of their own: what robots do with the
// links decides nothing, who asks does not approve, and a person who is there under two names counts once.
//
// It brings up a whole Flowgate of its own, with a throw-away PostgreSQL, and visits the pages as browsers do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// payment is asked for by carol, who is among those who were put down for approving it, as is bob, twice.
const payment = `{"subject":"Pay invoice 117","amount":"18,400 EUR","requester":"carol",
	"approvers":["carol","bob","Bob","eve"],"needed":2}`

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	mail := &mailbox{mail: map[string][]string{}}
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{
		Spec: PaymentSpec, Workflow: Approve, Steps: []app.Step{{Name: "tell", Do: engine.TypedStep(mail.tell)}},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	eng := flowgate.Engine()
	if _, err := eng.Start(ctx, engine.StartRequest{Workflow: PaymentSpec.Name, RunID: "payment-117", Input: []byte(payment)}); err != nil {
		return err
	}
	v := visitor{out: out, mail: mail, forms: map[string]string{}}
	for _, visit := range []func(context.Context) error{
		v.scans("bob"), v.presses("bob"),
		v.decides("carol", "approve"),
		v.decides("bob", "approve"), v.decides("bob", "approve"), v.decides("Bob", "approve"),
		v.counts(eng), v.decides("eve", "approve"), v.ends(eng), v.decides("carol", "reject"), v.reads("bob"),
	} {
		if err := visit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// visitor goes to the pages of people, by the links that they were sent.
type visitor struct {
	out   io.Writer
	mail  *mailbox
	forms map[string]string // the nonce of the last form that a person saw
}

func (v visitor) says(format string, values ...any) error {
	_, err := fmt.Fprintf(v.out, format+"\n", values...)
	return err
}

// scans is a mail gateway that fetches a link again and again.
func (v visitor) scans(person string) func(context.Context) error {
	return func(ctx context.Context) error {
		for range 20 {
			if _, err := v.get(ctx, person); err != nil {
				return err
			}
		}
		return v.says("a scanner fetches %s's link 20 times", person)
	}
}

// presses is a robot that presses the only button there is.
func (v visitor) presses(person string) func(context.Context) error {
	return func(ctx context.Context) error {
		status, err := v.post(ctx, person, url.Values{})
		if err != nil {
			return err
		}
		return v.says("a robot presses %s's button: %d", person, status)
	}
}

// decides is a person who opens the page and decides.
func (v visitor) decides(person, decision string) func(context.Context) error {
	return func(ctx context.Context) error {
		status, err := v.post(ctx, person, url.Values{"decision": {decision}})
		if err != nil {
			return err
		}
		return v.says("%s sends %q: %d", person, decision, status)
	}
}

// reads tells what a page says at the end.
func (v visitor) reads(person string) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := v.get(ctx, person)
		if err != nil {
			return err
		}
		return v.says("%s's page says %q", person, regexp.MustCompile(`<h2 id="end">([^<]*)`).FindStringSubmatch(page)[1])
	}
}

func (v visitor) counts(eng *engine.Engine) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := eng.Snapshot(ctx, "payment-117")
		if err != nil {
			return err
		}
		return v.says("the run is %s", s.Status)
	}
}

func (v visitor) ends(eng *engine.Engine) func(context.Context) error {
	return func(ctx context.Context) error {
		end, err := eng.Wait(ctx, "payment-117")
		if err != nil {
			return err
		}
		return v.says("the run is %s: %s; %d links were sent to bob", end.Status, end.Output, len(v.mail.of("bob")))
	}
}

// link waits for a person's mail.
func (v visitor) link(ctx context.Context, person string) (string, error) {
	for ctx.Err() == nil {
		if links := v.mail.of(person); len(links) > 0 {
			return links[0], nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return "", ctx.Err()
}

func (v visitor) get(ctx context.Context, person string) (page string, err error) {
	link, err := v.link(ctx, person)
	if err != nil {
		return "", err
	}
	_, page, err = v.send(ctx, "GET", link, nil)
	return page, err
}

var nonce = regexp.MustCompile(`name="nonce" value="([^"]*)"`)

// post sends the form of a person's page as a browser does: with what the page has hidden in it.
func (v visitor) post(ctx context.Context, person string, form url.Values) (status int, err error) {
	page, err := v.get(ctx, person)
	if err != nil {
		return 0, err
	}
	if hidden := nonce.FindStringSubmatch(page); hidden != nil {
		v.forms[person] = hidden[1]
	}
	form.Set("nonce", v.forms[person]) // where there is no form any more, it is sent again
	status, _, err = v.send(ctx, "POST", v.mail.of(person)[0], form)
	return status, err
}

func (v visitor) send(ctx context.Context, method, link string, form url.Values) (status int, page string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, link, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}
