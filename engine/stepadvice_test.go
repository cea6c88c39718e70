package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

func TestAdviceOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, tt := range []struct {
		name string
		err  error
		want engine.StepAdvice
	}{
		{"nothing", nil, engine.StepAdvice{}},
		{"no marks", cause, engine.StepAdvice{}},
		{"a code", engine.Coded("x", cause), engine.StepAdvice{Code: "x"}},
		{"the outermost code", engine.Coded("y", fmt.Errorf("more: %w", engine.Coded("x", cause))), engine.StepAdvice{Code: "y"}},
		{"all", engine.RetryAfter(engine.NonRetryable(engine.Coded("x", cause)), time.Second), engine.StepAdvice{Code: "x", Final: true, After: time.Second, Timed: true}},
		{"a pause of nothing", engine.RetryAfter(cause, -1), engine.StepAdvice{Timed: true}},
	} {
		if got := engine.AdviceOf(tt.err); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
