package app_test

import (
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/examples/workflows"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// asProgram makes this test binary the command flowgate: tests that kill processes start it again.
const asProgram = "FLOWGATE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		app.Main(app.Examples(workflows.Each)...)
	}
	pgtest.Main(m, db.Migrate)
}
