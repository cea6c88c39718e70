package main

import (
	"encoding/json"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Expense is the payload of the signal expense.added.
type Expense struct {
	Category string `json:"category" jsonschema:"enum=travel,enum=meals"`
	Cents    int    `json:"cents" jsonschema:"minimum=1"`
	Note     string `json:"note,omitempty"`
}

// Filter is the argument of the query spent.
type Filter struct {
	Category string `json:"category" jsonschema:"enum=travel,enum=meals"`
}

// Spent is the answer to the query spent, and the output of the run.
type Spent struct {
	Cents    int      `json:"cents"`
	Count    int      `json:"count"`
	Warnings []string `json:"warnings"`
}

// ReportSpec is the contract of Report. Its schemas come from the Go types, so they cannot say anything else.
var ReportSpec = spec.WorkflowSpec{
	Name: "expenses.report", Version: "1", Description: "Collects expenses until it is closed.",
	Signals: []spec.Signal{
		{Name: "expense.added", Description: "One expense.", Schema: engine.SchemaOf[Expense]()},
		{Name: "report.closed"},
	},
	Queries: []spec.Query{{
		Name: "spent", Description: "What was spent so far, in one category or in all.",
		Args: engine.SchemaOf[*Filter](), Response: engine.SchemaOf[Spent](),
	}},
}

// ReportCode answers the queries of ReportSpec.
var ReportCode = []engine.CodeOption{engine.Query("spent", spent)}

// Report takes one expense after the other. When it is closed, it ends with what was spent.
func Report(ctx *engine.Context) (engine.Decision, error) {
	taken, err := expenses(ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if ctx.First("closed") != "" {
		return ctx.Complete(total(taken, nil)), nil
	}
	return ctx.Await(
		ctx.WaitForSignal(engine.ID("expense", len(taken)), "expense.added"),
		ctx.WaitForSignal("closed", "report.closed"),
	), nil
}

// expenses are those that the run took, for the workflow and the query alike.
func expenses(run engine.Reader) ([]Expense, error) {
	var taken []Expense
	for {
		e, ok, err := engine.SignalPayload[Expense](run, engine.ID("expense", len(taken)))
		if err != nil || !ok {
			return taken, err
		}
		taken = append(taken, e)
	}
}

// spent counts what the run took and what it accepted since.
func spent(q *engine.QueryContext, only *Filter) (Spent, error) {
	all, err := expenses(q)
	if err != nil {
		return Spent{}, err
	}
	for _, s := range q.Signals("expense.added") {
		var e Expense
		if err := json.Unmarshal(s.Payload, &e); err != nil {
			return Spent{}, err
		}
		all = append(all, e)
	}
	return total(all, only), nil
}

func total(all []Expense, only *Filter) Spent {
	var s Spent
	for _, e := range all {
		if only != nil && e.Category != only.Category {
			continue
		}
		s.Cents, s.Count = s.Cents+e.Cents, s.Count+1
		if e.Cents > 100_00 {
			s.Warnings = append(s.Warnings, "a single "+e.Category+" expense above 100.00")
		}
	}
	return s
}
