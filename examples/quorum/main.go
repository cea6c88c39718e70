// Command quorum asks three people and goes on as soon as two of them agree: as straight-line code, with package flow. Two
// committees are asked; one agrees, the other cannot any more.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/flow"
	"github.com/flowgate-go/flowgate/spec"
)

// Motion is what a committee decides about.
type Motion struct {
	Text   string   `json:"text"`
	People []string `json:"people"`
	Needed int      `json:"needed"`
}

// Vote is the answer of one person.
type Vote struct {
	Agrees bool `json:"agrees"`
}

// Ballot asks everybody, stops when it is decided, and withdraws the questions that are left: whoever answers then is told
// that it is over.
func Ballot(w *flow.Workflow, m Motion) (string, error) {
	var asked []*flow.Hook
	for _, name := range m.People {
		asked = append(asked, flow.CreateHook(w, "vote-"+name, engine.As("vote"), engine.Metadata(spec.HumanApproval(m.Text))))
	}
	yes := 0
	for yes < m.Needed && yes+len(asked) >= m.Needed {
		hook, err := flow.Next(w, &asked)
		if err != nil {
			return "", err
		}
		if vote, err := flow.AwaitHook[Vote](hook); err == nil && vote.Agrees {
			yes++
		}
	}
	flow.Dispose(asked...)
	if yes < m.Needed {
		return "rejected", nil
	}
	return "agreed", nil
}

// BallotSpec declares what a vote looks like.
var BallotSpec = spec.WorkflowSpec{
	Name: "committee.ballot", Version: "1", Description: "N of M people agree.",
	Input: engine.SchemaOf[Motion](), Hooks: []spec.Hook{{Name: "vote", Schema: engine.SchemaOf[Vote]()}},
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	flowgate, err := app.Start(ctx, app.Local{Registrations: []app.Registration{{Spec: BallotSpec, Workflow: flow.Func(Ballot)}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	for _, m := range motions {
		if err := m.decide(ctx, flowgate.Engine(), out); err != nil {
			return err
		}
	}
	return nil
}

// motion is one vote, with what people say, in order; late is said when it is decided.
type motion struct {
	run   spec.RunID
	votes []answer
	late  answer
}

type answer struct{ name, says string }

var motions = []motion{
	{
		"new-roof",
		[]answer{{"ada", `{"agrees":false}`}, {"bob", `{"agrees":"maybe"}`}, {"bob", `{"agrees":true}`}, {"eve", `{"agrees":true}`}},
		answer{"eve", `{"agrees":false}`},
	},
	{"new-flag", []answer{{"bob", `{"agrees":false}`}, {"eve", `{"agrees":false}`}}, answer{"ada", `{"agrees":true}`}},
}

// decide puts a motion to the vote and tells what becomes of each answer.
func (m motion) decide(ctx context.Context, eng *engine.Engine, out io.Writer) error {
	input := fmt.Sprintf(`{"text":%q,"people":["ada","bob","eve"],"needed":2}`, m.run)
	if _, err := eng.Start(ctx, engine.StartRequest{Workflow: BallotSpec.Name, RunID: m.run, Input: []byte(input)}); err != nil {
		return err
	}
	if err := asked(ctx, eng, m.run); err != nil {
		return err
	}
	for _, a := range m.votes {
		if err := a.give(ctx, eng, out, m.run); err != nil {
			return err
		}
	}
	end, err := eng.Wait(ctx, m.run)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is %s\n", m.run, end.Output); err != nil {
		return err
	}
	return m.late.give(ctx, eng, out, m.run)
}

// give answers a question and tells the verdict.
func (a answer) give(ctx context.Context, eng *engine.Engine, out io.Writer, run spec.RunID) error {
	receipt, err := eng.ResumeHook(ctx, engine.HookRequest{
		RunID: run, HookID: spec.HookID("vote-" + a.name), Payload: []byte(a.says),
	})
	verdict := receipt.Verdict
	if err != nil {
		verdict = engine.VerdictOf(err)
	}
	_, err = fmt.Fprintf(out, "%s: %s says %s: %s\n", run, a.name, a.says, verdict)
	return err
}

// asked waits until everybody can answer: a hook that is not there yet is unknown.
func asked(ctx context.Context, eng *engine.Engine, run spec.RunID) error {
	for {
		s, err := eng.Snapshot(ctx, run)
		if err != nil || len(s.Waiting) == 3 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
