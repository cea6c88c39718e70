package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
)

// Each verdict of a gateway is an exit code, and the credential goes to the gateway that was named only.
func TestRetryExitCodes(t *testing.T) {
	t.Parallel()
	problem := func(code, verdict string) string {
		return fmt.Sprintf(`{"code":%q,"detail":"A fixed sentence.","verdict":%q}`, code, verdict)
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		code   int
		says   string
	}{
		"done":                {202, `{"outcome":"accepted","verdict":"accepted"}`, 0, ""},
		"no credential":       {401, problem("unauthorized", "denied"), 4, "FLOWGATE_TOKEN"},
		"no right":            {403, problem("forbidden", "denied"), 4, "forbidden"},
		"no such run":         {404, problem("not-found", "unknown"), 3, "not-found"},
		"an ended run":        {410, problem("run-ended", "gone"), 7, "run-ended"},
		"bad form":            {400, problem("invalid-argument", "invalid"), 2, "invalid-argument"},
		"a conflict":          {409, problem("run-conflict", "conflict"), 6, "run-conflict"},
		"later":               {503, problem("unavailable", "busy"), 5, "unavailable"},
		"some other server":   {404, "<html>", 1, "no answer of a gateway"},
		"a problem of none":   {500, `{"error":"x"}`, 1, "no answer of a gateway"},
		"sent somewhere else": {307, "", 1, "no answer of a gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var elsewhere, asked string
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				elsewhere = r.Header.Get("Authorization")
			}))
			defer other.Close()
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Method + " " + r.URL.EscapedPath() + " " + r.Header.Get("Authorization")
				w.Header().Set("Location", other.URL)
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}))
			defer gateway.Close()
			env := map[string]string{"FLOWGATE_URL": gateway.URL + "/base/", "FLOWGATE_TOKEN": secretText}
			stdout, _, err := runWith(t, env, "run", "retry", "order/17 ü")
			if code := app.ExitCode(err); code != tt.code {
				t.Errorf("exit code %d, want %d (error %v)", code, tt.code, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("error %q, want %q in it and no credential", err, tt.says)
			}
			if err == nil && !strings.Contains(stdout, "order/17 ü") {
				t.Errorf("output %q, want it to name the run", stdout)
			}
			if want := "POST /base/v1/runs/order%2F17%20%C3%BC/retry Bearer " + secretText; asked != want {
				t.Errorf("asked %q, want %q", asked, want)
			}
			if elsewhere != "" {
				t.Error("the credential went to another server")
			}
		})
	}
}

func TestRetryWithoutGateway(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	_, _, err := runWith(t, map[string]string{"FLOWGATE_URL": gone.URL}, "run", "retry", "r1")
	if _, ok := errors.AsType[*app.RefusedError](err); !ok || app.ExitCode(err) != 5 {
		t.Errorf("error %v, exit code %d; want busy, 5", err, app.ExitCode(err))
	}
}
