package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/internal/canon"
)

func TestSQLStatesBecomeErrorsOfTheDomain(t *testing.T) {
	t.Parallel()
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	internal := func(err error) bool { _, ok := errors.AsType[*DatabaseError](err); return ok }
	for _, tt := range []struct {
		state, constraint string
		want              func(error) bool
		separable         bool
	}{
		{"08006", "", is(ErrUnavailable), false},
		{"40001", "", is(ErrUnavailable), false},
		{"40P01", "", is(ErrUnavailable), false},
		{"53300", "", is(ErrUnavailable), false},
		{"53100", "", is(ErrUnavailable), false},
		{"55P03", "", is(ErrUnavailable), false},
		{"57014", "", is(ErrUnavailable), false},
		{"57P01", "", is(ErrUnavailable), false},
		{"57P03", "", is(ErrUnavailable), false},
		{"58030", "", is(ErrUnavailable), false},
		{"25006", "", is(ErrUnavailable), false},
		{"0A000", "", is(ErrUnavailable), false},
		{"22021", "", isInvalid, true},
		{"22P05", "", isInvalid, true},
		{"54000", "", is(canon.ErrPayloadTooLarge), true},
		{"23503", "runs_spec_fkey", is(ErrWorkflowNotFound), true},
		{"23505", "signals_pkey", internal, true},
		{"23514", "runs_backlog", internal, true},
		{"22P02", "", internal, true},
		{"XX000", "", internal, true},
		{"25P02", "", internal, false},
		{"42P01", "", internal, false},
		{"42501", "", internal, false},
		{"", "", internal, true},
	} {
		pg := &pgconn.PgError{
			Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: tt.state, ConstraintName: tt.constraint,
			Message: "secret message", Detail: "Key (run_id)=(secret) exists", Hint: "secret",
		}
		cause := fmt.Errorf("secret wrapping: %w", pg)
		err := translate(cause)
		if !tt.want(err) {
			t.Errorf("%s %s: %T %v", tt.state, tt.constraint, err, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the message holds the driver's text: %v", tt.state, err)
		}
		if got := separable(cause); got != tt.separable {
			t.Errorf("%s: separable %v", tt.state, got)
		}
		if internal(err) && !strings.Contains(err.Error(), tt.state+tt.constraint) && !strings.Contains(err.Error(), tt.constraint) {
			t.Errorf("%s: the message does not say what happened: %v", tt.state, err)
		}
	}
}

func TestLostConnectionsAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		context.DeadlineExceeded,
		fmt.Errorf("acquire: %w", context.Canceled),
		&connectionError{cause: errors.New("secret EOF")},
		&connectionError{cause: &pgconn.PgError{Code: "23505"}, committing: true},
		unavailable(errors.New("secret")),
	} {
		got := translate(err)
		if !errors.Is(got, ErrUnavailable) || got.Error() != ErrUnavailable.Error() {
			t.Errorf("%v became %v", err, got)
		}
		if separable(err) {
			t.Errorf("%v: a batch would be split for it", err)
		}
	}
	if err := translate(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	ours := errors.New("ours")
	if err := translate(ours); err != ours { //nolint:errorlint // the very same one
		t.Errorf("an error that is not the driver's became %v", err)
	}
}
