package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
	"github.com/flowgate-go/flowgate/spec"
)

var testSpec = spec.WorkflowSpec{
	Name: "test.flow", Version: "1",
	Signals: []spec.Signal{{Name: "go"}, {Name: "stop"}, {Name: "paid"}, {Name: "void"}},
}

func TestBadDecisionBlocksWithWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	token := strings.Repeat("t", 22)
	for name, tc := range map[string]struct {
		decide func(*engine.Context) engine.Decision
		want   []string
	}{
		"zero decision": {
			func(*engine.Context) engine.Decision { return engine.Decision{} },
			[]string{"decision: the decision is empty"},
		},
		"empty await": {
			func(c *engine.Context) engine.Decision { return c.Await() },
			[]string{"decision: the decision is empty"},
		},
		"empty wait ID": {
			func(c *engine.Context) engine.Decision { return c.WaitForSignal("", "go") },
			[]string{"WaitForSignal", "wait_id", "must not be empty"},
		},
		"long wait ID": {
			func(c *engine.Context) engine.Decision { return c.WaitForSignal(long, "go") },
			[]string{"WaitForSignal", "at most 255 bytes"},
		},
		"undeclared signal": {
			func(c *engine.Context) engine.Decision { return c.WaitForSignal("w", "nobody-sends-this") },
			[]string{`WaitForSignal("w")`, `"nobody-sends-this"`, "not declared"},
		},
		"negative time-out": {
			func(c *engine.Context) engine.Decision { return c.WaitForSignal("w", "go", engine.Timeout(-1)) },
			[]string{`WaitForSignal("w")`, "must not be negative"},
		},
		"two deadlines": {
			func(c *engine.Context) engine.Decision {
				return c.WaitForSignal("w", "go", engine.Timeout(1), engine.Until(c.Now()))
			},
			[]string{`WaitForSignal("w")`, "only one deadline"},
		},
		"forgotten time": {
			func(c *engine.Context) engine.Decision { return c.TimerUntil("t", time.Time{}) },
			[]string{`TimerUntil("t")`, "must be set"},
		},
		"unwritable time": {
			func(c *engine.Context) engine.Decision {
				return c.SleepUntil("t", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
			},
			[]string{"years 1 to 9999"},
		},
		"short token": {
			func(c *engine.Context) engine.Decision { return c.CreateHook("h", engine.Token("guess-me")) },
			[]string{`CreateHook("h")`, "22 to 128"},
		},
		"token like a minted one": {
			func(c *engine.Context) engine.Decision { return c.CreateHook("h", engine.Token("fhk_"+token)) },
			[]string{`CreateHook("h")`, "does not start with fge_, nor with fh"},
		},
		"bad label": {
			func(c *engine.Context) engine.Decision {
				return c.CreateHook("h", engine.Metadata(spec.HumanApproval("s").WithLabel("Bad Key", "v")))
			},
			[]string{`CreateHook("h")`, "labels"},
		},
		"data without a JSON form": {
			func(c *engine.Context) engine.Decision {
				return c.CreateHook("h", engine.Metadata(spec.HumanApproval("s").WithData("k", func() {})))
			},
			[]string{`CreateHook("h")`, "must encode as JSON"},
		},
		"bad hook name": {
			func(c *engine.Context) engine.Decision { return c.CreateHook("h", engine.As(" ")) },
			[]string{`CreateHook("h")`, "invalid name"},
		},
		"hook never created": {
			func(c *engine.Context) engine.Decision { return c.WaitForHook("h") },
			[]string{`"h"`, "never created"},
		},
		"output without a JSON form": {
			func(c *engine.Context) engine.Decision { return c.Complete(make(chan int)) },
			[]string{"Complete", "chan int"},
		},
		"output too large": {
			func(c *engine.Context) engine.Decision { return c.Complete(strings.Repeat("x", 5<<20)) },
			[]string{"Complete", "too large"},
		},
		"input too large": {
			func(c *engine.Context) engine.Decision { return c.ContinueAsNew(strings.Repeat("x", 5<<20)) },
			[]string{"ContinueAsNew", "too large"},
		},
		"nil failure": {
			func(c *engine.Context) engine.Decision { return c.Fail(nil) },
			[]string{"Fail", "must not be nil"},
		},
		"cancelled without a wish": {
			func(c *engine.Context) engine.Decision { return c.Cancelled() },
			[]string{"nobody asked to cancel"},
		},
		"an ending that is not the last": {
			func(c *engine.Context) engine.Decision { return c.All(c.Complete(nil), c.Timer("t", 1)) },
			[]string{"must be the last"},
		},
		"bad part of a good whole": {
			func(c *engine.Context) engine.Decision { return c.Await(c.Timer("t", time.Hour), c.Timer("", 1)) },
			[]string{"Timer", "timer_id"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) { return tc.decide(c), nil })
			run.ExpectBlocked()
			run.Start(nil)
			reason := run.BlockedReason()
			for _, want := range append(tc.want, "decision: ") {
				if !strings.Contains(reason, want) {
					t.Errorf("reason %q does not contain %q", reason, want)
				}
			}
			if strings.Contains(reason, token) || strings.Contains(reason, "guess-me") {
				t.Errorf("the reason holds the token: %q", reason)
			}
			if diff := cmp.Diff([]string{"run.started", "run.blocked"}, run.Types()); diff != "" {
				t.Errorf("a bad decision left something behind:\n%s", diff)
			}
		})
	}
}

func TestDiscardedBadDecisionIsHarmless(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		_ = c.Timer("", -1)
		return c.Complete("fine"), nil
	})
	run.Start(nil)
	if got := string(run.Result()); got != `"fine"` {
		t.Errorf("output %s", got)
	}
}

func TestFailEndsAndErrorBlocks(t *testing.T) {
	t.Parallel()
	run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
		return c.Fail(fmt.Errorf("no such\ninvoice %s", strings.Repeat("x", 2000))), nil
	})
	run.Start(nil)
	if got := run.Failure(); !strings.HasPrefix(got, "no such invoice xx") || len(got) != 1024 {
		t.Errorf("failure of %d bytes: %.40q", len(got), got)
	}

	broken := errors.New("bug \x00 in the code")
	run = enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) { return engine.Decision{}, broken })
	run.ExpectBlocked()
	run.Start(nil)
	if got := run.BlockedReason(); got != "error: bug   in the code" {
		t.Errorf("reason %q", got)
	}
	run.Deploy(func(c *engine.Context) (engine.Decision, error) { return c.Complete(nil), nil })
	run.Advance(time.Second)
	if got := run.Status(); got != engine.StatusCompleted {
		t.Errorf("after a fixed deploy the run is %s", got)
	}
}

func TestDecodeErrorsTellNoValue(t *testing.T) {
	t.Parallel()
	type input struct {
		Secret int       `json:"secret"`
		When   time.Time `json:"when"`
	}
	for _, payload := range []string{`{"secret":"hunter2"}`, `{"secret":1e99}`, `{"when":"hunter2"}`} {
		run := enginetest.New(t, testSpec, func(c *engine.Context) (engine.Decision, error) {
			in, err := engine.Input[input](c)
			if err != nil {
				return engine.Decision{}, err
			}
			return c.Complete(in), nil
		})
		run.ExpectBlocked()
		run.Start(json.RawMessage(payload))
		reason := run.BlockedReason()
		if !strings.HasPrefix(reason, "error: input: ") || strings.Contains(reason, "hunter2") || strings.Contains(reason, "1e99") {
			t.Errorf("%s: reason %q", payload, reason)
		}
	}
}
