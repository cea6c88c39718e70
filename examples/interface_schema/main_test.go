package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// signals: expense.added
	//   takes   {"properties":{"category":{"type":"string","enum":["travel","meals"]},"cents":{"type":"integer","minimum":1},"note":{"type":"string"}},"type":"object","required":["category","cents"]}
	// signals: report.closed
	// queries: spent
	//   takes   {"properties":{"category":{"type":"string","enum":["travel","meals"]}},"required":["category"],"type":["object","null"]}
	//   answers {"properties":{"cents":{"type":"integer"},"count":{"type":"integer"},"warnings":{"items":{"type":"string"},"type":["array","null"]}},"type":"object","required":["cents","count","warnings"]}
	// start the report         201 verdict="accepted"
	// add a train              202 verdict="accepted"
	// add a dinner             202 verdict="accepted"
	// add what is no expense   422 verdict="invalid" code="payload-schema" violations=[{"field_path":"/category","message":"must be one of \"travel\", \"meals\""},{"field_path":"/cents","message":"must be at least 1"}]
	// how much was spent       200 verdict="accepted" result={"cents":17100,"count":2,"warnings":["a single travel expense above 100.00"]}
	// on meals                 200 verdict="accepted" result={"cents":4200,"count":1,"warnings":null}
	// on yachts                422 verdict="invalid" code="payload-schema" violations=[{"field_path":"/category","message":"must be one of \"travel\", \"meals\""}]
	// what is no query         404 verdict="unknown" code="query-not-declared"
	// close the report         202 verdict="accepted"
	// wait for the end         200 verdict="accepted" output={"cents":17100,"count":2,"warnings":["a single travel expense above 100.00"]}
	// ask again, after the end 200 verdict="accepted" result={"cents":17100,"count":2,"warnings":["a single travel expense above 100.00"]}
}

func TestSpent(t *testing.T) {
	report := enginetest.New(t, ReportSpec, Report, enginetest.With(ReportCode...))
	report.Start(nil)
	report.Signal("expense.added", Expense{Category: "travel", Cents: 129_00})
	report.Signal("expense.added", Expense{Category: "meals", Cents: 42_00})

	var spent Spent
	report.Query("spent", Filter{Category: "meals"}, &spent)
	if spent.Cents != 42_00 || spent.Count != 1 || spent.Warnings != nil {
		t.Errorf("on meals: %+v", spent)
	}
	report.Query("spent", nil, &spent)
	if spent.Cents != 171_00 || spent.Count != 2 || len(spent.Warnings) != 1 {
		t.Errorf("on all: %+v", spent)
	}
	if _, err := report.TryQuery("spent", Filter{Category: "yacht"}); engine.VerdictOf(err) != engine.VerdictInvalid {
		t.Errorf("on yachts: %v", err)
	}
	before := len(report.Events())
	report.Query("spent", nil, &spent)
	if after := len(report.Events()); after != before {
		t.Errorf("the query left %d events", after-before)
	}
}
