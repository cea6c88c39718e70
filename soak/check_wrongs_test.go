package main

import (
	"slices"

	"github.com/flowgate-go/flowgate/engine"
)

// without takes an event out of a history and closes the gap, as a store that forgot it would.
func without(id string, n int) func(*scene) {
	return of(id, func(r *run) {
		r.events = slices.Delete(r.events, n, n+1)
		for i := range r.events {
			r.events[i].Seq = int64(i + 1)
		}
	})
}

// change changes an event of a history.
func change(id string, n int, by func(*event)) func(*scene) {
	return of(id, func(r *run) { by(&r.events[n]) })
}

// extra adds an event at the end of a history.
func extra(id string, e event) func(*scene) {
	return of(id, func(r *run) {
		last := r.events[len(r.events)-1]
		e.Seq, e.Generation, e.At = last.Seq+1, last.Generation, last.At
		r.events = append(r.events, e)
	})
}

var wrongs = map[string]wrong{
	// what the ledger says by itself
	"accepted twice": {repeated(signalOne, func(e *entry) { e.Verdict = engine.VerdictAccepted }), "accepted 2 times"},
	"accepted anew after a lost answer": {func(s *scene) {
		s.entries[signalOne].Verdict = engine.VerdictDuplicate
		s.again(signalOne, func(e *entry) { e.Verdict = engine.VerdictAccepted })
	}, "accepted anew"},
	"a duplicate of nothing":    {ledgered(signalOne, func(e *entry) { e.Verdict = engine.VerdictDuplicate }), "nobody was told of the first"},
	"another sequence":          {repeated(signalOne, func(e *entry) { e.Receipt.Sequence++ }), "receipt {4"},
	"another time":              {repeated(theAnswer, func(e *entry) { e.Receipt.ReceivedAt = written(9) }), "receipt {3"},
	"another payload":           {repeated(theAnswer, func(e *entry) { e.Payload = encode(1) }), "two payloads acknowledged"},
	"gone after acknowledged":   {repeated(signalThree, func(e *entry) { e.Verdict, e.Code = engine.VerdictGone, "run-ended" }), "said to be run-ended, before acknowledged"},
	"unknown after accepted":    {repeated(startOfCollector, func(e *entry) { e.Verdict, e.Code = engine.VerdictUnknown, "not-found" }), "refused: not-found"},
	"accepted after refused":    {repeated(lateAnswer, func(e *entry) { e.Verdict = engine.VerdictAccepted }), "said to be acknowledged, before hook-closed expired"},
	"another cause":             {repeated(lateAnswer, func(e *entry) { e.Verdict, e.Cause = engine.VerdictGone, "run_ended" }), "before hook-closed expired"},
	"no conflict":               {repeated(signalOne, func(e *entry) { e.Payload, e.Verdict, e.Code = encode(1), engine.VerdictGone, "run-ended" }), "another payload is said to be run-ended"},
	"a fault":                   {repeated(signalOne, func(e *entry) { e.Verdict, e.Code = engine.VerdictBusy, "internal" }), "a fault"},
	"a bad message is accepted": {ledgered(signalThree, func(e *entry) { e.Bad = true }), "want it refused as invalid"},
	"a good one is invalid":     {ledgered(signalThree, func(e *entry) { e.Verdict, e.Code = engine.VerdictInvalid, "payload-schema" }), "refused: payload-schema"},

	// runs
	"a lost run":                  {func(s *scene) { delete(s.world.runs, "c") }, "lost: its start was acknowledged"},
	"a run that is not listed":    {func(s *scene) { s.world.listed = s.world.listed[1:] }, "is not listed"},
	"a run that nobody started":   {func(s *scene) { s.world.listed = append(s.world.listed, "x") }, "nobody was told that it was started"},
	"a run that is listed twice":  {func(s *scene) { s.world.listed = append(s.world.listed, "c") }, "listed twice"},
	"no history":                  {of("c", func(r *run) { r.events = nil }), "has no history"},
	"another input":               {change("c", 0, func(e *event) { e.Data.Input = encode(1) }), "another input"},
	"another workflow":            {of("c", func(r *run) { r.Workflow = stopFlow }), "it is a soak.stop"},
	"another start":               {change("c", 0, func(e *event) { e.At = e.At.Add(-1) }), "its start has another receipt"},
	"a hole in the history":       {of("c", func(r *run) { r.events = slices.Delete(r.events, 4, 5) }), "event 5 of the history has seq 6"},
	"time runs backwards":         {change("c", 2, func(e *event) { e.At = past }), "earlier than the one before"},
	"a run that is open":          {of("c", func(r *run) { r.Status = engine.StatusRunning }), "it is running"},
	"blocked":                     {of("c", func(r *run) { r.Status, r.BlockedReason = engine.StatusBlocked, "panic: x" }), "it is blocked (panic: x)"},
	"an end of another kind":      {of("c", func(r *run) { r.Status = engine.StatusFailed }), "it is failed"},
	"two ends":                    {extra("c", event{Type: "run.completed"}), "it ended 2 times"},
	"a cancellation nobody asked": {extra("c", event{Type: "run.cancel_requested"}), "it was cancelled, and nobody was told so"},
	"a repeated cancel without a sequence": {func(s *scene) {
		s.told(cancelMessage("c"), 9, 9)
		s.again(len(s.entries)-1, func(e *entry) { e.Receipt.Sequence = 0 })
	}, "receipt {0"},
	"another cancellation": {func(s *scene) {
		extra("c", event{Type: "run.cancel_requested"})(s)
		s.told(cancelMessage("c"), 9, 5)
	}, "it was cancelled by event 11, and another one was acknowledged"},
	"a lost cancellation":            {func(s *scene) { s.told(cancelMessage("c"), 9, 9) }, "its cancellation is lost"},
	"an output that misses a signal": {of("c", func(r *run) { r.Output = encode(output{Seen: []string{"s2", "s3"}}) }), "its output is"},
	"an output in another order":     {of("c", func(r *run) { r.Output = encode(output{Seen: []string{"s2", "s1"}}) }), "its output is"},
	"an output of another answer":    {of("answered", func(r *run) { r.Output = encode(output{State: "answered", Answer: encode(1)}) }), "its output is"},

	// signals
	"a lost signal":           {without("c", 4), "signal s3 is lost"},
	"a doubled signal":        {extra("c", event{Type: "signal.received", Data: eventData{SignalID: "s1"}}), "received twice"},
	"a signal nobody sent":    {extra("c", event{Type: "signal.received", Data: eventData{SignalID: "s9"}}), "signal s9 is in the history"},
	"another signal":          {change("c", 2, func(e *event) { e.Data.Payload = encode(1) }), "signal s1 is another"},
	"another time of arrival": {change("c", 2, func(e *event) { e.At = e.At.Add(1) }), "received at another time"},
	"a signal that is read twice": {
		change("c", 8, func(e *event) { e.Data.SignalID, e.Data.SignalSeq = "s1", 3 }),
		"signal s1 is read twice",
	},
	"signals read out of order": {func(s *scene) {
		r := s.world.runs["c"]
		r.events[5].Data.SignalSeq, r.events[8].Data.SignalSeq = 4, 3
		r.events[5].Data.SignalID, r.events[8].Data.SignalID = "s2", "s1"
	}, "read after one that came later"},
	"a wait of another name": {change("c", 1, func(e *event) { e.Data.Signal = stopSignal }), "another name"},
	"a wait after its end":   {change("r", 3, func(e *event) { t := at(2); e.Data.Deadline = &t }), "after its deadline"},
	"a missed signal":        {change("r", 1, func(e *event) { t := at(3); e.Data.Deadline = &t }), "had come before its deadline"},
	"a round that lost its signal": {
		of("r", func(r *run) { r.Output = encode(output{Seen: []string{timedOut, timedOut}}) }),
		"its output has 0 signals",
	},
	"a round of a later signal": {of("r", func(r *run) { r.Output = encode(output{Seen: []string{timedOut, "s2"}}) }), "its rounds had"},
	"a wrong number unread":     {of("c", func(r *run) { r.UnreadSignals = 0 }), "0 signals are unread"},
	"no receipt":                {of("c", func(r *run) { delete(r.fates, "s3") }), "signal s3 has no receipt"},
	"a receipt of another fate": {of("c", func(r *run) { r.fates["s3"] = r.fates["s1"] }), "signal s3 is consumed"},
	"a receipt of another wait": {of("c", func(r *run) { f := r.fates["s1"]; f.ConsumedBy = nil; r.fates["s1"] = f }), "another wait"},

	// hooks
	"a lost answer":            {change("answered", 2, func(e *event) { e.Type = "hook.disposed"; e.Data.ByCode = true }), "the answer to hook answer is lost"},
	"another answer":           {change("answered", 2, func(e *event) { e.Data.Payload = encode(1) }), "the answer to hook answer is lost"},
	"an answer nobody gave":    {change("expired", 2, func(e *event) { e.Type = "hook.resumed" }), "was answered, and nobody was told"},
	"an answer after the end":  {change("answered", 1, func(e *event) { t := at(1); e.Data.ExpiresAt = &t }), "hook.resumed after its deadline"},
	"an early end":             {change("expired", 1, func(e *event) { t := at(9); e.Data.ExpiresAt = &t }), "expired before its deadline"},
	"a lost withdrawal":        {change("disposed", 2, func(e *event) { e.Type = "hook.expired" }), "the withdrawal of hook answer is lost"},
	"a withdrawal nobody made": {change("expired", 2, func(e *event) { e.Type = "hook.disposed" }), "was withdrawn, and nobody was told"},
	"a hook that ended twice":  {extra("answered", event{Type: "hook.expired", Data: eventData{HookID: answerHook}}), "hook.expired after hook.resumed"},
	"a hook that did not end":  {without("expired", 2), "hook answer was not closed"},
	"another state":            {of("answered", func(r *run) { r.hooks[answerHook] = hook{answerHook, "active"} }), "is active, not resumed"},
	"a refusal for another cause": {
		ledgered(lateAnswerToWithdrawn, func(e *entry) { e.Cause = "expired" }),
		`refused with "hook-closed expired"`,
	},
	"a hook that is not listed": {of("answered", func(r *run) { delete(r.hooks, answerHook) }), "0 hooks are listed"},
}
