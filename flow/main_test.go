package flow_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// TestMain fails when a goroutine of a workflow is left behind: a turn waits for its own to end.
func TestMain(m *testing.M) {
	code := pgtest.Run(m, db.Migrate)
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	if strings.Contains(string(text), "flow.(*Workflow)") {
		fmt.Fprintf(os.Stderr, "goroutines of workflows are left:\n%s\n", text)
		code = 1
	}
	os.Exit(code)
}
