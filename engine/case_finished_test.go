package engine_test

import (
	"errors"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// ends goes the way its signals tell, with two hooks: one is answered, the other is open to the end.
var ends = workflow{
	spec.WorkflowSpec{Name: "ends", Version: "1", Signals: []spec.Signal{{Name: "end"}, {Name: "other"}}},
	func(c *engine.Context) (engine.Decision, error) {
		how, ok, err := engine.SignalPayload[string](c, "end")
		switch {
		case err != nil:
			return engine.Decision{}, err
		case !ok:
			return c.Await(c.CreateHook("answered"), c.CreateHook("open"), c.WaitForSignal("end", "end")), nil
		case how == "complete":
			return c.Complete(nil), nil
		case how == "fail":
			return c.Fail(errors.New("as told")), nil
		default:
			return c.ContinueAsNew(nil), nil
		}
	},
}

func TestC72_OneTableOfVerdictsForWhatEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, ends)
	type verdicts struct{ newSignal, newAnswer, newToken, dispose engine.Verdict }
	gone := verdicts{engine.VerdictGone, engine.VerdictGone, engine.VerdictGone, engine.VerdictGone}
	for how, want := range map[string]struct {
		verdicts
		status engine.Status
		cause  string
	}{
		"complete":  {gone, engine.StatusCompleted, "run_ended"},
		"fail":      {gone, engine.StatusFailed, "run_ended"},
		"cancel":    {gone, engine.StatusCancelled, "cancelled"},
		"terminate": {gone, engine.StatusCancelled, "cancelled"},
		"continue": {
			verdicts{engine.VerdictAccepted, engine.VerdictAccepted, engine.VerdictDuplicate, engine.VerdictConflict},
			engine.StatusRunning, "",
		},
	} {
		t.Run(how, func(t *testing.T) {
			r := *r
			r.t = t
			run := spec.RunID(how)
			r.start(ends, run, nil)
			r.waiting(run, "answered", "open", "end")
			token := r.link(run, "open").Token.Reveal()
			known := r.link(run, "answered").Token.Reveal()
			if _, err := r.callback(known, 1); err != nil {
				t.Fatal(err)
			}
			r.mustSend(run, "known", "other", 1)
			switch how {
			case "cancel":
				_, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: run})
				r.mustSend(run, "known", "other", 1)
				if err != nil {
					t.Fatal(err)
				}
			case "terminate":
				if _, err := r.Terminate(r.ctx(), engine.CancelRequest{RunID: run}); err != nil {
					t.Fatal(err)
				}
			default:
				r.mustSend(run, "the end", "end", how)
			}
			r.until(run, "over", func(s engine.Snapshot) bool {
				return s.Status == want.status && (how != "continue" || s.Generation == 2)
			})
			got := verdicts{
				newSignal: verdict(r.send(run, "new", "other", 1)),
				newAnswer: verdict(r.resume(run, "open", 1)),
				newToken:  verdict(r.callback(token, 1)),
				dispose:   verdict(r.DisposeHook(r.ctx(), engine.HookRequest{RunID: run, HookID: "open"})),
			}
			if got != want.verdicts {
				t.Errorf("got  %+v\nwant %+v", got, want.verdicts)
			}
			var closed *engine.HookClosedError
			if _, err := r.callback(token, 1); want.cause != "" && (!errors.As(err, &closed) || string(closed.Cause) != want.cause) {
				t.Errorf("cause: %v", err)
			}
			// What was accepted is acknowledged for ever, and nothing else under its identity is.
			for what, v := range map[string][2]engine.Verdict{
				"signal": {verdict(r.send(run, "known", "other", 1)), verdict(r.send(run, "known", "other", 2))},
				"token":  {verdict(r.callback(known, 1)), verdict(r.callback(known, 2))},
				"answer": {verdict(r.resume(run, "answered", 1)), verdict(r.resume(run, "answered", 2))},
				"start": {
					start(&r, run, "null"), start(&r, run, "1"),
				},
			} {
				if v != [2]engine.Verdict{engine.VerdictDuplicate, engine.VerdictConflict} {
					t.Errorf("known %s: %v", what, v)
				}
			}
		})
	}
}

func start(r *rig, run spec.RunID, input string) engine.Verdict {
	s, err := r.Start(r.ctx(), engine.StartRequest{Workflow: "ends", RunID: run, Input: []byte(input)})
	return verdict(s.Receipt, err)
}
