package gateway

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
)

// samples has one error for each name that the engine exports, with what it must become.
var samples = map[string]struct {
	err    error
	status int
	code   string
}{
	"ErrRunNotFound":      {engine.ErrRunNotFound, 404, "not-found"},
	"ErrHookNotFound":     {engine.ErrHookNotFound, 404, "not-found"},
	"ErrTokenNotFound":    {engine.ErrTokenNotFound, 404, "not-found"},
	"ErrSignalNotFound":   {engine.ErrSignalNotFound, 404, "not-found"},
	"ErrWorkflowNotFound": {engine.ErrWorkflowNotFound, 404, "not-found"},
	"ErrQueryUndeclared":  {engine.ErrQueryUndeclared, 404, "query-not-declared"},
	"ErrCodeMissing":      {engine.ErrCodeMissing, 503, "code-missing"},
	"QueryRefusedError":   {&engine.QueryRefusedError{}, 422, "query-refused"},
	"QueryFailedError":    {&engine.QueryFailedError{Fault: engine.QueryPanicked}, 500, "query-failed"},
	"ErrLetterNotFound":   {engine.ErrLetterNotFound, 404, "not-found"},
	"ErrLetterDecided":    {engine.ErrLetterDecided, 409, "letter-decided"},
	"ErrTaskClosed":       {engine.ErrTaskClosed, 410, "task-closed"},
	"ErrRunEnded":         {engine.ErrRunEnded, 410, "run-ended"},
	"ErrSignalUndeclared": {engine.ErrSignalUndeclared, 422, "signal-not-declared"},
	"ErrDisposeForbidden": {engine.ErrDisposeForbidden, 403, "forbidden"},
	"ErrSelfApproval":     {engine.ErrSelfApproval, 403, "forbidden"},
	"ErrPageForm":         {engine.ErrPageForm, 403, "forbidden"},
	"ErrPageChanged":      {engine.ErrPageChanged, 409, "page-changed"},
	"ErrBacklogFull":      {engine.ErrBacklogFull, 429, "signal-backlog-full"},
	"ErrPayloadTooLarge":  {engine.ErrPayloadTooLarge, 413, "payload-too-large"},
	"ErrUnavailable":      {engine.ErrUnavailable, 503, "unavailable"},
	"ErrTokenNotMinted":   {engine.ErrTokenNotMinted, 409, "token-host-supplied"},
	"ErrNoPublicURL":      {engine.ErrNoPublicURL, 500, "internal"},
	"InvalidError":        {&engine.InvalidError{Field: "run_id", Rule: "r"}, 400, "invalid-argument"},
	"PayloadError":        {&engine.PayloadError{Pointer: "/a", Rule: "r"}, 400, "malformed-payload"},
	"SizeError":           {&engine.SizeError{Size: 2, Limit: 1}, 413, "payload-too-large"},
	"SchemaError":         {&engine.SchemaError{}, 422, "payload-schema"},
	"RunConflictError":    {&engine.RunConflictError{Differs: []string{"input"}}, 409, "run-conflict"},
	"SignalConflictError": {&engine.SignalConflictError{Differs: []string{"name"}}, 409, "signal-conflict"},
	"HookConflictError":   {&engine.HookConflictError{Differs: []string{"payload"}}, 409, "hook-payload-conflict"},
	"ErrUpdateNotFound":   {engine.ErrUpdateNotFound, 404, "not-found"},
	"ErrUpdateUndeclared": {engine.ErrUpdateUndeclared, 422, "update-not-declared"},
	"UpdateConflictError": {&engine.UpdateConflictError{Differs: []string{"name"}}, 409, "update-conflict"},
	"UpdateRejectedError": {&engine.UpdateRejectedError{Reason: "no"}, 422, "update-rejected"},
	"UpdateOrphanedError": {&engine.UpdateOrphanedError{Cause: "cancelled"}, 410, "update-orphaned"},
	"StartError":          {&engine.StartError{Err: engine.ErrWorkflowNotFound}, 404, "not-found"},
	"FactorError":         {&engine.FactorError{}, 401, "unauthorized"},
	"HookClosedError":     {&engine.HookClosedError{Cause: "expired"}, 410, "hook-closed"},
}

// elsewhere are the errors of calls that the gateway does not make: starting a process, host transactions, and the outcomes
// and ends of attempts.
var elsewhere = []string{
	"SpecChangedError", "KeyMismatchError", "KeyMissingError", "TxError",
	"ErrStaleAttempt", "ErrStepCancelled", "ErrAttemptTimeout", "ErrHeartbeatTimeout", "ErrLeaseLost", "ErrShuttingDown",
}

func TestTranslate_knows_every_error_of_the_engine(t *testing.T) {
	t.Parallel()
	for _, name := range exportedErrors(t, "../engine") {
		if slices.Contains(elsewhere, name) {
			continue
		}
		sample, known := samples[name]
		if !known {
			t.Errorf("engine.%s has no answer: add it to the table of errors and to this test", name)
			continue
		}
		got := translate(fmt.Errorf("wrapped: %w", sample.err))
		if got.problem.status != sample.status || got.problem.code != sample.code {
			t.Errorf("engine.%s: got %d %s, want %d %s", name, got.problem.status, got.problem.code, sample.status, sample.code)
		}
	}
}

// A missing public URL is the operator's omission, so over HTTP it is our fault, though a Go caller can mend it.
func TestTranslate_agrees_with_the_verdicts_of_the_engine(t *testing.T) {
	t.Parallel()
	for name, sample := range samples {
		if name == "ErrNoPublicURL" {
			continue
		}
		if got, want := translate(sample.err).problem.verdict, engine.VerdictOf(sample.err); got != want {
			t.Errorf("engine.%s: got verdict %s, want %s", name, got, want)
		}
	}
}

func TestTranslate_tells_a_withdrawal_from_another_answer(t *testing.T) {
	t.Parallel()
	got := translate(&engine.HookConflictError{Differs: []string{"state"}})
	if got.problem != hookAlreadyResumed {
		t.Errorf("got %s, want hook-already-resumed", got.problem.code)
	}
}

func TestTranslate_an_unknown_error_is_our_fault_and_keeps_its_text_to_itself(t *testing.T) {
	t.Parallel()
	got := translate(errors.New("secret"))
	if got.problem != internal || got.fault == nil {
		t.Fatalf("got %+v, want an internal problem with its fault", got)
	}
	if strings.Contains(fmt.Sprint(kindsOf(got.fault)), "secret") {
		t.Error("the log of a fault repeats its text")
	}
}

func TestTranslate_keeps_the_data_of_an_error(t *testing.T) {
	t.Parallel()
	schema := &engine.SchemaError{Violations: []engine.Violation{{Pointer: "/reason", Message: "m"}}}
	for _, tc := range []struct {
		err  error
		want refusal
	}{
		{&engine.RunConflictError{Differs: []string{"workflow", "input"}}, refusal{differs: []string{"workflow", "input"}}},
		{&engine.HookClosedError{Cause: "run_ended"}, refusal{cause: "run_ended"}},
		{schema, refusal{violations: []violation{{"/reason", "m"}}}},
		{&engine.PayloadError{Pointer: "/a/0", Rule: "r"}, refusal{violations: []violation{{"/a/0", "r"}}}},
		{&engine.InvalidError{Field: "labels/a/b~c", Rule: "r"}, refusal{violations: []violation{{"/labels/a~1b~0c", "r"}}}},
	} {
		got := *translate(tc.err)
		got.problem = nil
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(refusal{})); diff != "" {
			t.Errorf("%T: (-want +got)\n%s", tc.err, diff)
		}
	}
}

// Every problem that a sender should act on later says when, and only those; our own faults are never a 4xx.
func TestProblems_are_consistent(t *testing.T) {
	t.Parallel()
	for _, p := range everyProblem() {
		later := p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests
		if later && (!p.retryable || p.verdict != engine.VerdictBusy) {
			t.Errorf("%s: must be retryable and busy", p.code)
		}
		if p.status == http.StatusConflict && (p.retryable || p.verdict != engine.VerdictConflict) {
			t.Errorf("%s: a conflict is permanent", p.code)
		}
		if p.status == http.StatusGone && p.verdict != engine.VerdictGone {
			t.Errorf("%s: has verdict %s", p.code, p.verdict)
		}
		if p.title == "" || p.detail == "" || p.verdict == "" {
			t.Errorf("%s: lacks words", p.code)
		}
	}
}

func everyProblem() []*problem {
	all := []*problem{
		malformedRequest, forbiddenHost, notFound, methodNotAllowed, requestTimeout, payloadTooLarge, unsupportedMediaType,
		expectationFailed, headersTooLarge, malformedPayload, invalidArgument, keyInvalid, unauthorized, forbidden,
		tokenHostSupplied, runConflict, signalConflict, hookPayloadConflict, hookAlreadyResumed, hookClosed, runEnded,
		signalNotDeclared, payloadSchema, signalBacklogFull, unavailable, internal,
		letterDecided, taskClosed, updateConflict, updateNotDeclared, updateRejected, updateOrphaned,
		queryNotDeclared, queryRefused, codeMissing, queryTimeout, queryFailed,
	}
	return all
}

// exportedErrors lists the error variables and types that a package declares or renames.
func exportedErrors(t *testing.T, folder string) []string {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), folder, func(f fs.FileInfo) bool { //nolint:staticcheck // no build tags here
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			names = append(names, errorNames(n)...)
			_, isFunc := n.(*ast.FuncDecl)
			return !isFunc
		})
	}
	if len(names) < 15 {
		t.Fatalf("found only %v: the test looks in the wrong place", names)
	}
	return names
}

func errorNames(n ast.Node) []string {
	var names []string
	switch n := n.(type) {
	case *ast.ValueSpec:
		for _, id := range n.Names {
			if strings.HasPrefix(id.Name, "Err") {
				names = append(names, id.Name)
			}
		}
	case *ast.TypeSpec:
		if n.Name.IsExported() && strings.HasSuffix(n.Name.Name, "Error") {
			names = append(names, n.Name.Name)
		}
	}
	return names
}
