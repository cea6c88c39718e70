package app_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

// A program with a clock of its own works by that clock.
func TestProgramHasAClockOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	p := app.Program{
		Registrations: app.Examples(workflows.Each),
		Clock: func() time.Time {
			once()
			return time.Now()
		},
	}
	env := deployment(pgtest.URL(t))
	ended := make(chan error, 1)
	go func() {
		ended <- p.Run(ctx, []string{"worker", "--examples"}, func(name string) string { return env[name] }, io.Discard, io.Discard)
	}()
	select {
	case <-asked:
	case err := <-ended:
		t.Fatalf("the program ended: %v", err)
	case <-ctx.Done():
		t.Fatal("nobody asked the program's clock")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run returned %v", err)
	}
}
