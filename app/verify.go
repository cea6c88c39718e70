package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	// verifyConnections is enough for one reader.
	verifyConnections = 2
	// progressEvery is how long a verification says nothing.
	progressEvery = 5 * time.Second
)

// errVerifyStopped keeps an interrupted verification from looking like one that found nothing.
var errVerifyStopped = errors.New("stopped before everything was verified")

// DifferencesError says that a verification found rows that are not what the events say.
type DifferencesError struct{ Differences int }

// Error says how many.
func (e *DifferencesError) Error() string {
	return fmt.Sprintf("%s between events and rows", plural(e.Differences, "difference"))
}

// verifyCommand compares rows with events.
type verifyCommand struct {
	databaseSetting
	Namespace string `placeholder:"NAME" help:"Verify the runs of this namespace only."`
	RunID     string `name:"run" placeholder:"ID" help:"Verify this run only, of --namespace or the namespace default."`
	JSON      bool   `name:"json" help:"Print JSON, one object per line."`
}

// Run implements the command. It changes nothing and needs neither keys nor workflows; other processes may be at work.
// Errors: *DifferencesError, *RefusedError for a run that is not there, *UsageError, *SettingError.
func (c verifyCommand) Run(ctx context.Context, in invocation) error {
	if err := c.required(); err != nil {
		return err
	}
	query, err := c.query()
	if err != nil {
		return err
	}
	err = c.verify(ctx, query, newVerifyReport(in, c.JSON))
	if _, complete := errors.AsType[*DifferencesError](err); err != nil && !complete && ctx.Err() != nil {
		return errVerifyStopped
	}
	return err
}

func (c verifyCommand) query() (db.VerifyQuery, error) {
	q := db.VerifyQuery{Namespace: spec.Namespace(c.Namespace), Run: spec.RunID(c.RunID)}
	if q.Run != "" {
		if err := q.Run.Validate(); err != nil {
			return q, &UsageError{text: err.Error()}
		}
		if q.Namespace == "" {
			q.Namespace = spec.DefaultNamespace
		}
	}
	if q.Namespace != "" {
		if err := q.Namespace.Validate(); err != nil {
			return q, &UsageError{text: err.Error()}
		}
	}
	return q, nil
}

func (c verifyCommand) verify(ctx context.Context, query db.VerifyQuery, report *verifyReport) error {
	p := &process{parts: parts{databaseURL: c.DatabaseURL, connections: verifyConnections}}
	defer p.close()
	connecting, cancel := context.WithTimeout(ctx, composeWithin)
	defer cancel()
	if err := p.connect(connecting); err != nil {
		return err
	}
	for page, err := range db.Open(p.pool, db.Config{}).Verify(ctx, query) {
		switch {
		case errors.Is(err, engine.ErrRunNotFound):
			return &RefusedError{
				Verdict: engine.VerdictUnknown,
				Text:    fmt.Sprintf("namespace %q has no run %q", query.Namespace, query.Run),
			}
		case err != nil:
			return fmt.Errorf("verify: %w", err)
		}
		if err := report.page(page); err != nil {
			return err
		}
	}
	if err := report.summary(); err != nil {
		return err
	}
	if n := report.all.Differences; n > 0 {
		return &DifferencesError{Differences: n}
	}
	return nil
}
