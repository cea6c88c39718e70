package db

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
)

// keptPlans are the statements whose plan is made once per connection and kept, whatever becomes of the tables.
var keptPlans = map[string]string{
	"AcceptKnown": sqlc.AcceptKnown, "AdvanceKnown": sqlc.AdvanceKnown, "LockKnown": sqlc.LockKnown,
	"ResumeKnown": sqlc.ResumeKnown, "SignalKnown": sqlc.SignalKnown, "StartUnknown": sqlc.StartUnknown, "SettleKnown": sqlc.SettleKnown,
	"ActiveHooks": sqlc.ActiveHooks, "AppendEvents": sqlc.AppendEvents, "ClaimRun": sqlc.ClaimRun, "ClaimRuns": sqlc.ClaimRuns,
	"ConsumeSignals": sqlc.ConsumeSignals, "EndedRuns": sqlc.EndedRuns, "EventsBetween": sqlc.EventsBetween,
	"EventsFrom": sqlc.EventsFrom, "FindRuns": sqlc.FindRuns, "InsertHooks": sqlc.InsertHooks, "InsertRuns": sqlc.InsertRuns,
	"InsertSignals": sqlc.InsertSignals, "KnownHooks": sqlc.KnownHooks, "KnownSignals": sqlc.KnownSignals,
	"LockRuns": sqlc.LockRuns, "LockRunsWaiting": sqlc.LockRunsWaiting, "PostponeRun": sqlc.PostponeRun,
	"ReadHook": sqlc.ReadHook, "ReadRun": sqlc.ReadRun, "ReadSignal": sqlc.ReadSignal, "ResolveTokens": sqlc.ResolveTokens,
	"Schedule": sqlc.Schedule, "SettleHooks": sqlc.SettleHooks, "TokenOwners": sqlc.TokenOwners,
	"Unschedule": sqlc.Unschedule, "UpdateRuns": sqlc.UpdateRuns, "ViewRun": sqlc.ViewRun,
	"WakeBlockedRun": sqlc.WakeBlockedRun, "InsertTasks": sqlc.InsertTasks, "DeleteTasks": sqlc.DeleteTasks,
	"HoldTasks": sqlc.HoldTasks, "KnownTasks": sqlc.KnownTasks, "OpenTasks": sqlc.OpenTasks, "ClaimTasks": sqlc.ClaimTasks,
	"RenewTasks": sqlc.RenewTasks, "ReturnTask": sqlc.ReturnTask, "ReturnUntold": sqlc.ReturnUntold, "InsertLetters": sqlc.InsertLetters,
	"ResolveLetters": sqlc.ResolveLetters, "DiscardLetter": sqlc.DiscardLetter, "ReadLetter": sqlc.ReadLetter,
	"KnownUpdates": sqlc.KnownUpdates, "OpenUpdates": sqlc.OpenUpdates, "CountOpenUpdates": sqlc.CountOpenUpdates,
	"InsertUpdates": sqlc.InsertUpdates, "EndUpdates": sqlc.EndUpdates, "ReadUpdate": sqlc.ReadUpdate, "EndedUpdates": sqlc.EndedUpdates,
	"FindAPIKeys": sqlc.FindAPIKeys, "ReadAPIKeys": sqlc.ReadAPIKeys, "TouchAPIKey": sqlc.TouchAPIKey, "RevokeAPIKey": sqlc.RevokeAPIKey,
	"HoldMessage": sqlc.HoldMessage, "KnownMessage": sqlc.KnownMessage, "ReadMessage": sqlc.ReadMessage, "TakeMessages": sqlc.TakeMessages,
	"SettleMessage": sqlc.SettleMessage, "PostponeMessage": sqlc.PostponeMessage, "ReplayMessage": sqlc.ReplayMessage,
	"ExplainTasks": sqlc.ExplainTasks, "ExplainLetters": sqlc.ExplainLetters, "ExplainMessages": sqlc.ExplainMessages,
	"AppendAudit": sqlc.AppendAudit, "ReadTraces": sqlc.ReadTraces, "RunRefusals": sqlc.RunRefusals, "SweepAudit": sqlc.SweepAudit, "DiscardMessage": sqlc.DiscardMessage, "HeldMessages": sqlc.HeldMessages, "SweepMessages": sqlc.SweepMessages,
}

// A kept plan looks rows up by a condition on a key, and does so also when it was made while the tables were empty, or so
// small that reading all of them looked cheaper.
func TestKeptPlansStayOnTheKeys(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 5, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			r := newAcceptRig(t)
			if size > 0 {
				r.crowd(size)
			}
			r.keptPlansStayOnKeys()
			r.sql(`vacuum analyze`)
			r.keptPlansStayOnKeys()
		})
	}
}

func (r *acceptRig) keptPlansStayOnKeys() {
	r.t.Helper()
	tx := r.begin()
	p := &pipeline{}
	p.settings(time.Second)
	if err := p.send(r.t.Context(), tx); err != nil {
		r.t.Fatal(err)
	}
	for name, sql := range keptPlans {
		for _, scan := range r.keptPlan(tx, name, sql) {
			r.t.Errorf("%s: %s", name, scan)
		}
	}
	if err := tx.Rollback(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// keptPlan returns what a statement's plan reads without a condition on a key.
func (r *acceptRig) keptPlan(tx pgx.Tx, name, sql string) (scans []string) {
	r.t.Helper()
	if _, err := tx.Exec(r.t.Context(), "prepare kept as "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	defer func() {
		if _, err := tx.Exec(r.t.Context(), "deallocate kept", pgx.QueryExecModeSimpleProtocol); err != nil {
			r.t.Fatal(err)
		}
	}()
	var n int
	if err := tx.QueryRow(r.t.Context(), "select cardinality(parameter_types) from pg_prepared_statements where name = 'kept'",
		pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	args := strings.TrimSuffix(strings.Repeat("null,", n), ",")
	if args != "" {
		args = "(" + args + ")"
	}
	var text []byte
	if err := tx.QueryRow(r.t.Context(), "explain (format json) execute kept"+args, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	var out []map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		r.t.Fatal(err)
	}
	return unkeyed(out[0]["Plan"].(map[string]any))
}

// unkeyed lists the scans of tables without a condition on a key.
func unkeyed(node map[string]any) (scans []string) {
	kind, _ := node["Node Type"].(string)
	_, keyed := node["Index Cond"]
	byIndex := slices.Contains([]string{"Index Scan", "Index Only Scan", "Bitmap Index Scan"}, kind)
	if kind == "Seq Scan" || byIndex && !keyed {
		scans = append(scans, fmt.Sprint(kind, " on ", node["Relation Name"], " by ", node["Index Name"]))
	}
	children, _ := node["Plans"].([]any)
	for _, child := range children {
		scans = append(scans, unkeyed(child.(map[string]any))...)
	}
	return scans
}
