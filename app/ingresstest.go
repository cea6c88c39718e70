package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/inbox"
	"github.com/flowgate-go/flowgate/ingress"
)

// ingressTestCommand says what would become of a captured webhook.
type ingressTestCommand struct {
	sourceSetting
	databaseSetting
	Source string `arg:"" help:"Name of the source in the file of sources."`
	File   string `arg:"" help:"The captured request: request line, headers, an empty line, and the body byte by byte."`
	At     string `placeholder:"TIME" help:"When it arrived, such as 2026-01-31T12:00:00Z; signatures grow old. Default: now."`
}

const (
	maxCapture      = 1 << 20 // bytes
	testConnections = 2
)

// Run implements the command. It changes nothing: without a database it says what the event is mapped to, with one also what
// its run would make of it. Errors: *UsageError, *SettingError; *RefusedError with the verdict denied for a signature that is
// not valid, unknown for a source that is not configured, invalid for a body that is no payload, conflict for an event that
// is known with other content.
func (c ingressTestCommand) Run(ctx context.Context, in invocation) error {
	if err := c.databaseSetting.check(); err != nil {
		return err
	}
	sources, err := c.sources()
	switch {
	case err != nil:
		return err
	case sources == nil:
		return setting(settingIngressFile, "is not set: give the JSON file with the sources of signed webhooks")
	}
	at, err := c.arrival(in)
	if err != nil {
		return err
	}
	req, err := c.capture()
	if err != nil {
		return err
	}
	f, err := ingress.New(sources, ingress.Options{}).Foresee(c.Source, req, at)
	if err != nil {
		return c.refusal(err)
	}
	return c.report(ctx, in, f)
}

func (c ingressTestCommand) arrival(in invocation) (time.Time, error) {
	if c.At == "" {
		if in.clock != nil {
			return in.clock(), nil
		}
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339, c.At)
	if err != nil {
		return at, &UsageError{text: "--at must be a time such as 2026-01-31T12:00:00Z"}
	}
	return at, nil
}

func (c ingressTestCommand) capture() (*ingress.Request, error) {
	st, err := os.Stat(c.File)
	if err != nil {
		return nil, &UsageError{text: fmt.Sprintf("the captured request cannot be read: %v", err)}
	}
	if st.Size() > maxCapture {
		return nil, &UsageError{text: "the captured request is larger than 1 MiB"}
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		return nil, &UsageError{text: fmt.Sprintf("the captured request cannot be read: %v", err)}
	}
	req, err := ingress.ParseCapture(text)
	if err != nil {
		return nil, &UsageError{text: err.Error()}
	}
	return req, nil
}

// refusal words what keeps an event out.
func (c ingressTestCommand) refusal(err error) error {
	bad, unsigned := errors.AsType[*ingress.SignatureError](err)
	switch {
	case errors.Is(err, ingress.ErrSourceNotFound):
		return &RefusedError{Verdict: engine.VerdictUnknown, Text: settingIngressFile + " has no such source"}
	case unsigned && (bad.Reason == ingress.ReasonStale || bad.Reason == ingress.ReasonFuture):
		return &RefusedError{
			Verdict: engine.VerdictDenied,
			Text:    err.Error() + ": the signature itself is good; say with --at when the request arrived",
		}
	case unsigned:
		return &RefusedError{Verdict: engine.VerdictDenied, Text: err.Error()}
	case errors.Is(err, ingress.ErrMediaType):
		return &RefusedError{Verdict: engine.VerdictInvalid, Text: err.Error()}
	}
	return &RefusedError{Verdict: engine.VerdictOf(err), Text: err.Error()}
}

// report prints what is known of an event that is verified. Its payload is not shown.
func (c ingressTestCommand) report(ctx context.Context, in invocation, f ingress.Forecast) error {
	out := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	defer func() { _ = out.Flush() }() // flushed below; this is for errors
	if f.Unverified {
		fmt.Fprintf(out, "signature\tnot looked at: the source takes whatever comes\n")
	} else {
		fmt.Fprintf(out, "signature\tvalid, by secret %q\n", f.SecretID)
	}
	switch {
	case f.Challenge != "":
		fmt.Fprintf(out, "outcome\ta handshake: its challenge is sent back\n")
		return out.Flush()
	case f.Ignored != "":
		fmt.Fprintf(out, "outcome\tignored, %s: %s\n", f.Ignored, f.Why)
		return out.Flush()
	}
	m := f.Message
	fmt.Fprintf(out, "event\t%q\n", m.ID)
	fmt.Fprintf(out, "target\t%s %q of run %q in namespace %q\n", m.Kind, m.Name, m.RunID, m.Namespace)
	fmt.Fprintf(out, "payload\t%d bytes\n", len(m.Payload.Bytes()))
	if c.DatabaseURL == "" {
		fmt.Fprintf(out, "outcome\tunknown: without %s nobody looks for the run\n", settingDatabaseURL)
		return out.Flush()
	}
	result, err := c.foresee(ctx, *m, f.Policy)
	conflict, differs := errors.AsType[*inbox.ConflictError](err)
	switch {
	case differs:
		return &RefusedError{Verdict: engine.VerdictConflict, Text: conflict.Error()}
	case err != nil:
		return err
	case result.Outcome == inbox.Accepted:
		fmt.Fprintf(out, "outcome\taccepted, unless the payload breaks a schema\n")
	case result.Outcome == inbox.Held:
		fmt.Fprintf(out, "outcome\theld for up to %s, until its %s is there\n", f.Policy.Hold, map[inbox.Kind]string{inbox.Signal: "run", inbox.Hook: "hook"}[m.Kind])
	case result.Reason != "":
		fmt.Fprintf(out, "outcome\t%s, %s\n", result.Outcome, result.Reason)
	default:
		fmt.Fprintf(out, "outcome\t%s\n", result.Outcome)
	}
	return out.Flush()
}

// foresee asks the database what would become of a message.
func (c ingressTestCommand) foresee(ctx context.Context, m inbox.Message, policy inbox.Policy) (inbox.Result, error) {
	p := &process{parts: parts{databaseURL: c.DatabaseURL, connections: testConnections}}
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, composeWithin)
	defer cancel()
	if err := p.connect(ctx); err != nil {
		return inbox.Result{}, err
	}
	return inbox.New(inbox.Config{Store: db.Open(p.pool, db.Config{})}).Foresee(ctx, m, policy)
}
