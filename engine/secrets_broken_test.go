package engine_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/internal/schema"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

func (p *provocation) ofPayloads() map[string]provoked {
	var forms, sizes, breaks []error
	for _, payload := range []string{
		"", inText, `"` + inText, `"` + inText + `" ` + inText, `{"` + inKey + `":1,"` + inKey + `":2}`, `["` + inText + `\u0000"]`,
		`["` + p.minted + `\ud800"]`, "\"" + inText + "\xff\"", "\xef\xbb\xbf\"" + inText + `"`, "[" + inNumber + "e999]",
		"[" + strings.Repeat(inNumber, 8) + "]", strings.Repeat("[", 70) + inNumber + strings.Repeat("]", 70), "\"" + inText + "\n\"",
	} {
		raw := []byte(payload)
		forms = append(forms, p.signal("run", "f", "note", raw), p.resumeBy(p.minted, raw), p.startOf("vault", "f", raw))
	}
	long := []byte(`"` + strings.Repeat(inText+p.minted, 100) + `"`)
	sizes = append(sizes, p.signal("run", "l", "note", long), p.resumeBy(p.minted, long), p.startOf("vault", "l", long))
	for _, payload := range [][]byte{
		brokenBy(p.minted), []byte(`"` + inText + `"`), []byte(inNumber), fmt.Appendf(nil, `{%q:{%q:%q}}`, inKey, inKey, inText),
	} {
		breaks = append(breaks, p.signal("run", "b", "strict", payload), p.resumeBy(p.minted, payload), p.startOf("vault", "b", payload))
	}
	_, schemaErr := schema.Compile([]byte(`{"type":7}`))
	label := func(key, value string) error {
		return refusedBy(p.Start(p.ctx(), engine.StartRequest{Workflow: "vault", Labels: spec.Labels{key: value}}))
	}
	return map[string]provoked{
		"canon.PayloadError":       {is: kind[*canon.PayloadError], errs: forms, keys: true},
		"canon.SizeError":          {is: kind[*canon.SizeError], errs: sizes},
		"canon.ErrPayloadTooLarge": {is: same(canon.ErrPayloadTooLarge), errs: sizes},
		"schema.Error":             {is: kind[*schema.Error], errs: breaks, keys: true},
		"schema.CompileError":      {is: kind[*schema.CompileError], errs: []error{schemaErr}},
		"spec.InvalidError": {is: kind[*spec.InvalidError], errs: []error{
			p.startOf("vault", spec.RunID(p.minted), nil), p.startOf("vault", spec.RunID("see-"+p.minted), nil),
			p.startOf(p.minted, "i", nil), p.startOf("vault", inText+"\n", nil), label("team", p.minted), label(inText, "x"),
			label("team", strings.Repeat(inText, 20)), p.signal("run", spec.SignalID(p.minted), "note", []byte("1")),
			p.signal("run", "i", "at/"+p.minted, []byte("1")), refusedBy(p.HookLink(p.ctx(), "run", spec.HookID(p.minted))),
			refusedBy(p.Cancel(p.ctx(), engine.CancelRequest{RunID: "run", Reason: "see " + p.minted})),
			refusedBy(p.Cancel(p.ctx(), engine.CancelRequest{RunID: "run", Reason: inText + "\n"})),
			refusedBy(p.ListRuns(p.ctx(), engine.RunQuery{Cursor: p.minted})), refusedBy(p.ListRuns(p.ctx(), engine.RunQuery{Status: inText})),
			refusedBy(p.History(p.ctx(), "run", engine.HistoryQuery{Cursor: p.minted})),
			refusedBy(p.ResumeHookByToken(p.ctx(), engine.TokenRequest{Token: p.minted, Actor: p.minted, Payload: []byte("1")})),
			refusedBy(p.Namespace(spec.Namespace(p.minted))), spec.HumanApproval("x").WithData("link", p.minted).Validate(),
		}},
	}
}

func (p *provocation) ofKeys() map[string]provoked {
	_, swapped := tokens.NewKeyring([]tokens.Key{{ID: keySecret + "!", Secret: []byte("k1")}}, nil)
	_, short := tokens.NewKeyring([]tokens.Key{{ID: "k", Secret: []byte(keySecret)}}, nil)
	_, malformed := tokens.Parse(p.minted + "x")
	_, hostRule := tokens.ParseHost(p.minted)
	_, hostForm := tokens.ParseHost(hostSecret + "/")
	_, unknown := ringWith(p.t, "k1", "s").Remint("k2", tokens.Binding{RunID: inText}, tokens.Nonce{})
	open := func(id, secret string) error {
		cfg := testConfig(p.t, p.pool)
		cfg.Keys = ringWith(p.t, id, secret)
		return refusedBy(engine.New(p.ctx(), cfg))
	}
	return map[string]provoked{
		"tokens.KeyError":      {is: kind[*tokens.KeyError], errs: []error{swapped, short}},
		"tokens.ErrMalformed":  {is: same(tokens.ErrMalformed), errs: []error{malformed, hostRule, hostForm}},
		"tokens.TokenError":    {is: kind[*tokens.TokenError], errs: []error{hostRule, hostForm}},
		"tokens.ErrKeyUnknown": {is: same(tokens.ErrKeyUnknown), errs: []error{unknown}},
		"db.KeyMismatchError":  {is: kind[*db.KeyMismatchError], errs: []error{open("k1", keySecret[:1])}},
		"db.KeyMissingError":   {is: kind[*db.KeyMissingError], errs: []error{open("k9", keySecret[:1])}},
	}
}

// refuseRows has the database refuse what the run boom gets, and repeat it in every field of its error.
const refuseRows = `create function refuse() returns trigger language plpgsql as $$ begin
	raise exception 'refused %', convert_from(new.payload, 'UTF8') using detail = new::text, hint = new.payload::text; end $$;
	create trigger refuse before insert on events for each row
	when (new.type in ('signal.received', 'hook.resumed')) execute function refuse()`

func (p *provocation) ofTheDatabase() map[string]provoked {
	good, bad := fmt.Appendf(nil, `{"n":%s,%q:true}`, inNumber, inKey), fmt.Appendf(nil, `[%q,{%q:1}]`, inText, inKey)
	p.exec(refuseRows)
	defer p.exec("drop trigger refuse on events")
	behind := pgtest.URL(p.t)
	old, err := pgxpool.New(p.ctx(), behind)
	if err != nil {
		p.t.Fatal(err)
	}
	defer old.Close()
	if _, err := old.Exec(p.ctx(), "delete from goose_db_version"); err != nil {
		p.t.Fatal(err)
	}
	store := db.Open(p.pool, db.Config{})
	tx, err := p.pool.Begin(p.ctx())
	if err != nil {
		p.t.Fatal(err)
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // nothing is kept of it
	payload, err := canon.Parse(bad, canon.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	_, missing := store.AcceptTx(p.ctx(), tx, []history.Message{
		&history.SendSignal{Run: history.RunKey{Namespace: "default", RunID: "boom"}, ID: "m", Name: "note", Payload: payload},
	})
	_, inTx := p.SendSignalTx(p.ctx(), tx, engine.SignalRequest{RunID: "boom", SignalID: "t", Name: "note", Payload: bad})
	stopped := idle(p.t, testConfig(p.t, p.pool), vault).run()
	stopped.stop()
	request := engine.TokenRequest{Token: p.minted, Payload: good}
	tooBig := context.WithValue(p.ctx(), contextKey{}, inText)
	late, cancel := context.WithTimeout(tooBig, time.Nanosecond)
	defer cancel()
	return map[string]provoked{
		"db.DatabaseError": {is: kind[*db.DatabaseError], errs: []error{
			p.signal("boom", "d", "note", bad), p.resumeBy(p.minted, good), inTx,
			refusedBy(p.ResumeHook(p.ctx(), engine.HookRequest{RunID: "boom", HookID: "answer", Payload: good})),
		}},
		"db.AuthorityMissingError": {is: kind[*db.AuthorityMissingError], errs: []error{missing}},
		"db.ErrUnavailable": {is: same(db.ErrUnavailable), errs: []error{
			refusedBy(stopped.ResumeHookByToken(p.ctx(), request)),
			refusedBy(stopped.SendSignal(p.ctx(), engine.SignalRequest{RunID: "run", SignalID: "x", Name: "note", Payload: bad})),
			refusedBy(p.ResumeHookByToken(late, request)),
		}},
		"db.ErrSchemaBehind": {is: same(db.ErrSchemaBehind), errs: []error{db.CheckSchema(p.ctx(), behind)}},
	}
}

func (p *provocation) exec(sql string) {
	p.t.Helper()
	if _, err := p.pool.Exec(p.ctx(), sql); err != nil {
		p.t.Fatal(err)
	}
}

func (p *provocation) ofHistory() map[string]provoked {
	payload, err := canon.Parse(brokenBy(p.minted), canon.Limits{})
	if err != nil {
		p.t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var decode []error
	for _, e := range []history.Encoded{
		{Type: "signal.received", Data: brokenBy(p.minted), Payload: nil},
		{Type: "none", Data: brokenBy(p.minted)},
		{Type: "hook.created", Data: fmt.Appendf(nil, `{"hook_id":%s,"grant":%q}`, inNumber, p.minted)},
		{Type: "run.started", Data: fmt.Appendf(nil, `{"digest":%q}`, inText), Payload: payload.Bytes()},
		{Type: "wait.opened", Data: fmt.Appendf(nil, `{"wait_id":"w","taken":%q}`, p.minted)},
	} {
		decode = append(decode, refusedBy(history.Decode(1, 1, at, e)))
	}
	var newer []error
	for _, e := range []history.Encoded{
		{Type: "none", Data: brokenBy(p.minted)}, {Type: "wait.opened", Data: fmt.Appendf(nil, `{"wait_id":"w",%q:%q}`, inKey, p.minted)},
	} {
		newer = append(newer, refusedBy(history.Decode(1, 1, at, e)))
	}
	signal := history.Event{Generation: 1, Seq: 1, At: at, Data: &history.SignalReceived{SignalID: "s", Name: "note", Payload: payload}}
	started := history.Event{Generation: 1, Seq: 1, At: at, Data: &history.RunStarted{Workflow: "vault", Version: "1", Input: payload}}
	again := started
	again.Seq = 2
	return map[string]provoked{
		"history.ErrNewerEvent": {is: same(history.ErrNewerEvent), errs: newer},
		"history.DecodeError":   {is: kind[*history.DecodeError], errs: decode},
		"history.FoldError": {is: kind[*history.FoldError], errs: []error{
			refusedBy(history.Fold(history.RunKey{RunID: "r"}, nil, []history.Event{signal})),
			refusedBy(history.Fold(history.RunKey{RunID: "r"}, nil, []history.Event{started, again})),
			refusedBy(history.Fold(history.RunKey{RunID: "r"}, []history.Event{started}, []history.Event{started})),
		}},
	}
}

// contextKey is the key of what a caller keeps in its context.
type contextKey struct{}
