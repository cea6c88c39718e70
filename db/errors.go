package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

var (
	// ErrUnavailable: the database, or a lock in it, could not be had in time, or the store is not running. Nothing is
	// known about the message but that it was not acknowledged: sending it again is safe and answers truthfully.
	ErrUnavailable = errors.New("database unavailable")
	// ErrWorkflowNotFound: no spec is stored under the name, the version or the digest.
	ErrWorkflowNotFound = errors.New("workflow not found")
)

// AuthorityMissingError says that the run's spec is not in the caller's cache. Nothing changed: load the spec and send
// the message again.
type AuthorityMissingError struct {
	Digest canon.Digest // of the spec, as SpecByDigest takes it
}

// Error implements error.
func (e *AuthorityMissingError) Error() string { return "spec " + e.Digest.String() + " is not loaded" }

// DatabaseError says that the database refused a statement for a reason that is neither the caller's fault nor gone
// soon: a defect of this program, of the schema or of the privileges. Its text holds no value.
type DatabaseError struct {
	SQLState   string // empty when it was the driver that refused, or could not read the answer
	Constraint string // the constraint that was broken, if one was
	cause      error
}

// Error names the SQLSTATE and the constraint.
func (e *DatabaseError) Error() string {
	switch {
	case e.SQLState == "":
		return "database driver refused the statement or its answer"
	case e.Constraint == "":
		return fmt.Sprintf("database refused the statement (SQLSTATE %s)", e.SQLState)
	}
	return fmt.Sprintf("database refused the statement (SQLSTATE %s, constraint %s)", e.SQLState, e.Constraint)
}

// Unwrap returns the driver's error. It may hold values: it is for matching, not for showing.
func (e *DatabaseError) Unwrap() error { return e.cause }

// unavailableError is ErrUnavailable with its cause, which is for matching, not for showing.
type unavailableError struct{ cause error }

func unavailable(cause error) error { return &unavailableError{cause: cause} }

// Error implements error.
func (e *unavailableError) Error() string { return ErrUnavailable.Error() }

// Unwrap makes the error match ErrUnavailable and its cause.
func (e *unavailableError) Unwrap() []error { return []error{ErrUnavailable, e.cause} }

// connectionError says that the connection was lost. After a COMMIT was sent nobody knows whether it took effect.
type connectionError struct {
	cause      error
	committing bool
}

// Error implements error.
func (e *connectionError) Error() string {
	if e.committing {
		return "connection lost during commit"
	}
	return "connection lost"
}

// Unwrap returns what the driver said.
func (e *connectionError) Unwrap() error { return e.cause }

// translate turns an error of the driver into one of the domain: the only place where SQLSTATE has a meaning. Errors that
// are not the driver's own pass as they are.
func translate(err error) error {
	var pg *pgconn.PgError
	var lost *connectionError
	var connect *pgconn.ConnectError
	switch {
	case err == nil, errors.Is(err, ErrUnavailable):
		return err
	case errors.As(err, &lost), errors.As(err, &connect),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable(err)
	case errors.As(err, &pg):
		return translateState(pg, err)
	}
	return err
}

func translateState(pg *pgconn.PgError, cause error) error {
	switch {
	case transient(pg.Code):
		return unavailable(cause)
	case pg.ConstraintName == "runs_spec_fkey":
		return ErrWorkflowNotFound
	case pg.Code == "22021", pg.Code == "22P05": // bytes, or an escape in jsonb, that text cannot hold
		return &spec.InvalidError{Field: "message", Rule: "must be valid UTF-8 without NUL"}
	case pg.Code == "54000":
		return canon.ErrPayloadTooLarge
	}
	return &DatabaseError{SQLState: pg.Code, Constraint: pg.ConstraintName, cause: cause}
}

// transient says that the same statement may succeed later: no connection (08), a rolled back transaction (40), a standby
// (25006), idle and transaction time-outs (25P03, 25P04), resources (53), a lock (55P03), a cancelled statement or a
// server that stops or starts (57), the operating system (58), a plan made before a migration (0A000).
func transient(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", "40", "53", "57", "58":
		return true
	}
	switch code {
	case "25006", "25P03", "25P04", "55P03", "0A000":
		return true
	}
	return false
}

// lockTimedOut says that a statement waited for a lock longer than it may.
func lockTimedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// separable says that one command of several may have caused the error, so that the others are worth trying without it:
// data, constraints, size, an encoding the driver refuses. A missing table or privilege (42), a failed transaction (25) or
// a wrong database is no command's fault.
func separable(err error) bool {
	var pg *pgconn.PgError
	if errors.Is(translate(err), ErrUnavailable) {
		return false
	}
	if !errors.As(err, &pg) {
		return true
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "25", "28", "3D", "3F", "42":
		return false
	}
	return true
}
