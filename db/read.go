package db

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/spec"
)

const (
	// defaultPage and maxPage bound the items of a list.
	defaultPage = 50
	maxPage     = 1000
)

// pageSize is the number of items a list returns.
func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// cursorKind keeps a cursor of one list from being used on another.
type cursorKind byte

const (
	runCursor     cursorKind = 'r'
	hookCursor    cursorKind = 'h'
	letterCursor  cursorKind = 'd'
	messageCursor cursorKind = 'm'
	auditCursor   cursorKind = 'a'
)

// cursor names the row after which the next page begins. It is opaque to callers.
func (k cursorKind) cursor(row int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64([]byte{byte(k)}, uint64(row)))
}

// before reads a cursor; the empty one begins at the newest row. The error is an *spec.InvalidError.
func (k cursorKind) before(cursor string) (int64, error) {
	if cursor == "" {
		return math.MaxInt64, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) != 9 {
		return 0, &spec.InvalidError{Field: "cursor", Rule: "must be the next_cursor of the same list"}
	}
	row := int64(binary.BigEndian.Uint64(raw[1:]))
	if row <= 0 || k.cursor(row) != cursor { // base64 skips line ends and, unless strict, ignores the last bits
		return 0, &spec.InvalidError{Field: "cursor", Rule: "must be the next_cursor of the same list"}
	}
	return row, nil
}

// page cuts what was read, one row more than asked for, to the page and the cursor of the next one.
func page[T any](rows []T, limit int, kind cursorKind, id func(T) int64) ([]T, string) {
	if len(rows) <= limit {
		return rows, ""
	}
	rows = rows[:limit]
	return rows, kind.cursor(id(rows[limit-1]))
}

// labelFilter is the stored form of labels to search for.
func labelFilter(labels spec.Labels) (json.RawMessage, error) {
	if err := labels.Validate(); err != nil {
		return nil, err
	}
	return labelsJSON(labels)
}

// replanned is a pool whose statements are planned for their values. Lists have filters that one plan cannot serve.
type replanned struct{ *pgxpool.Pool }

// Query asks as the pool does, without a prepared statement.
func (p replanned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.Pool.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// lookUp runs a statement that reads by keys, in one round trip, with the settings that keep its plan on them.
func lookUp[R any](ctx context.Context, s *Store, sql string, params any) ([]R, error) {
	p := &pipeline{}
	p.settings(s.cfg.LockTimeout)
	rows := queue(p, sql, params, rowTo[R])
	if err := p.send(ctx, s.pool); err != nil {
		err = readError(err, nil)
		s.figures.failed(err)
		return nil, err
	}
	return *rows, nil
}

// lookUpOne is lookUp for the one row there may be; none is the error when there is not.
func lookUpOne[R any](ctx context.Context, s *Store, sql string, params any, none error) (R, error) {
	rows, err := lookUp[R](ctx, s, sql, params)
	if err == nil && len(rows) == 0 {
		err = none
	}
	if err != nil {
		var zero R
		return zero, err
	}
	return rows[0], nil
}

// rowTo reads a row into a generated struct whose fields may be generated structs themselves.
func rowTo[R any](row pgx.CollectableRow) (r R, err error) {
	return r, row.Scan(columnsOf(reflect.ValueOf(&r).Elem())...)
}

var generated = reflect.TypeFor[sqlc.Run]().PkgPath()

func columnsOf(v reflect.Value) (fields []any) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Type().PkgPath() == generated {
			fields = append(fields, columnsOf(f)...)
		} else {
			fields = append(fields, f.Addr().Interface())
		}
	}
	return fields
}

// readError turns what became of a plain read into an error of the domain: a lost connection, too, means that the
// database is unavailable. none stands for an answer without a row.
func readError(err, none error) error {
	var pg *pgconn.PgError
	var scan pgx.ScanArgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return none
	case errors.As(err, &pg):
		return translate(err)
	case errors.As(err, &scan):
		return &DatabaseError{cause: err}
	}
	return unavailable(err)
}
