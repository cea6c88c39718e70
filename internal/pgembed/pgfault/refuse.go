package pgfault

import (
	"fmt"
	"strings"
)

// States are the SQLSTATEs that a statement can be refused with: a constraint that one message broke (23514), a
// serialization failure (40001), a statement cancelled by an administrator (57014), a full disk (53100), a lock that could
// not be had (55P03) and a defect of the program (42601).
func States() []string { return []string{"23514", "40001", "57014", "53100", "55P03", "42601"} }

// Install is the SQL to run once in a database in which statements are to be refused.
const Install = `create schema if not exists pgfault;
create or replace function pgfault.raise(state text) returns int language plpgsql immutable as
$$ begin raise exception using errcode = state, message = 'refused by a test'; end $$;`

// Prepare is the SQL to run on each connection on which statements are to be refused, a list of statements.
//
// It prepares one statement per SQLSTATE whose planning fails with it: the server then answers the binding, in place of
// the execution that it stands for, with nothing but the error.
func Prepare() (statements []string) {
	for _, state := range States() {
		statements = append(statements, fmt.Sprintf("prepare %s as select pgfault.raise('%s')", preparedName(state), state))
	}
	return statements
}

// preparedName is in lower case, as the server folds it.
func preparedName(state string) string { return "pgfault_" + strings.ToLower(state) }
