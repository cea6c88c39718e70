package history

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// plainKinds are those that have a way of their own.
var plainKinds = []Type{
	TypeRunStarted, TypeRunCompleted, TypeSignalReceived, TypeWaitOpened, TypeWaitCompleted, TypeHookCreated, TypeHookResumed,
	TypeFactsTaken,
}

// The short way is taken: for every commonest kind as it is nearly always, and with every field set.
func TestPlain_is_taken_by_the_commonest_kinds(t *testing.T) {
	t.Parallel()
	taken := map[Type]int{}
	for _, e := range slices.Concat(hotEvents(), oneOfEach()) {
		if c, ok := e.Data.(*HookCreated); ok {
			c.Metadata.Data = nil
		}
		stored, ok := writePlain(e)
		if ok != slices.Contains(plainKinds, e.Data.Type()) {
			t.Errorf("%s: written the short way: %v", e.Data.Type(), ok)
		}
		if !ok {
			continue
		}
		if _, _, ok := readPlain(e.Data.Type(), stored); !ok {
			t.Errorf("not read the short way: %s", stored)
		}
		taken[e.Data.Type()]++
	}
	if len(taken) != len(plainKinds) {
		t.Errorf("kinds seen: %v", taken)
	}
}

// samePlainWrite: what the short way writes is what encoding/json writes.
func samePlainWrite(t tb, e Event) (stored []byte) {
	t.Helper()
	want, err := writeAny(e)
	got, ok := writePlain(e)
	if ok && (err != nil || !bytes.Equal(got, want)) {
		t.Fatalf("written the short way:\n%s\notherwise (%v):\n%s", got, err, want)
	}
	return want
}

// samePlainRead: what the short way reads is what encoding/json reads, and it never reads what that refuses.
func samePlainRead(t tb, kind Type, stored []byte) (short bool) {
	t.Helper()
	before := bytes.Clone(stored)
	env, data, ok := readPlain(kind, stored)
	if !bytes.Equal(before, stored) {
		t.Fatalf("%s: reading changed the text", before)
	}
	if !ok {
		return false
	}
	wantEnv, want, err := readAny(kind, stored)
	if err != nil || !reflect.DeepEqual(env, wantEnv) || !reflect.DeepEqual(data, want) {
		t.Fatalf("%s %s read the short way:\n%+v %+v\notherwise (%v):\n%+v %+v", kind, stored, env, data, err, wantEnv, want)
	}
	return true
}

// anyText is a text as names are, or one that JSON may have to escape or to mend.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z0-9._-]{0,12}`), rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{
			"<", "a>b", "&", `"`, `\`, "\x00", "\x1f", "\x7f", "\u2028", "a\u2029", "\ufffd", "Zoë", "签", "\xff", "\xed\xa0\x80", "\n", "/",
		}),
	)
}

// anyTime is a time as events have, or one that RFC 3339 cannot write, or with an offset.
func anyTime() *rapid.Generator[*time.Time] {
	return rapid.Custom(func(t *rapid.T) *time.Time {
		if rapid.IntRange(0, 3).Draw(t, "none") == 0 {
			return nil
		}
		sec, ns := rapid.Int64Range(-70_000_000_000, 260_000_000_000).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")
		at := time.Unix(sec, ns).UTC()
		if rapid.Bool().Draw(t, "micro") {
			at = at.Truncate(time.Microsecond)
		}
		if rapid.IntRange(0, 4).Draw(t, "zoned") == 0 {
			at = at.In(time.FixedZone("", rapid.IntRange(-90_000, 90_000).Draw(t, "offset")))
		}
		return &at
	})
}

func anyLabels() *rapid.Generator[spec.Labels] {
	return rapid.OneOf(rapid.Just(spec.Labels(nil)), rapid.Map(
		rapid.MapOfN(anyText(), anyText(), 0, 3), func(m map[string]string) spec.Labels { return m },
	))
}

// anyPlain is an event of one of the commonest kinds.
func anyPlain(t *rapid.T) Event {
	text := func() string { return anyText().Draw(t, "text") }
	at := func() *time.Time { return anyTime().Draw(t, "time") }
	number := func() int64 { return rapid.Int64().Draw(t, "number") }
	var digest [32]byte
	copy(digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	e := Event{Generation: 1, Seq: 1, At: epoch}
	switch rapid.SampledFrom(plainKinds).Draw(t, "kind") {
	case TypeRunStarted:
		e.Data = &RunStarted{
			Workflow: text(), Version: text(), SpecDigest: digest, Digest: digest,
			Labels: anyLabels().Draw(t, "labels"), Actor: text(),
		}
	case TypeRunCompleted:
		e.Data = &RunCompleted{Digest: digest}
	case TypeSignalReceived:
		e.Data = &SignalReceived{SignalID: spec.SignalID(text()), Name: text(), Source: text(), Actor: text(), Digest: digest}
	case TypeWaitOpened:
		e.Data = &WaitOpened{
			WaitID: spec.WaitID(text()), Signal: text(), Deadline: at(), OpenedAt: at(), Again: rapid.Bool().Draw(t, "again"),
		}
	case TypeWaitCompleted:
		e.Data = &WaitCompleted{WaitID: spec.WaitID(text()), SignalID: spec.SignalID(text()), SignalSeq: number()}
	case TypeHookCreated:
		d := &HookCreated{HookID: spec.HookID(text()), Name: text(), ExpiresAt: at(), OpenedAt: at(), Grant: TokenGrant{
			Digest: digest, DigestKey: text(), MintKey: text(), Nonce: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "nonce"),
		}}
		d.Metadata.Kind, d.Metadata.Subject, d.Metadata.Labels = text(), text(), anyLabels().Draw(t, "labels")
		if rapid.Bool().Draw(t, "routed") {
			d.Metadata.Route = &spec.CallbackRoute{Method: text(), Path: text()}
		}
		if rapid.IntRange(0, 4).Draw(t, "with data") == 0 {
			d.Metadata.Data = map[string]any{text(): text()}
		}
		if rapid.Bool().Draw(t, "requested") {
			d.Metadata.Requester = text()
		}
		if rapid.IntRange(0, 4).Draw(t, "with a rule") == 0 {
			d.Metadata.Rule = &spec.ApprovalRule{Needed: 1, Of: 3}
		}
		e.Data = d
	case TypeHookResumed:
		e.Data = &HookResumed{HookID: spec.HookID(text()), Source: text(), Actor: text(), Digest: digest}
	case TypeFactsTaken:
		e.Data = &FactsTaken{}
	}
	e.Taken = rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 2000)), 0, 3).Draw(t, "taken")
	for range rapid.IntRange(0, 2).Draw(t, "read") {
		e.Read = append(e.Read, spec.HookID(text()))
	}
	return e
}

func TestPlain_writes_and_reads_as_encoding_json_does(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyPlain(t)
		if stored := samePlainWrite(t, e); stored != nil {
			samePlainRead(t, e.Data.Type(), stored)
		}
	})
}

// snippets are what is put into stored texts, in places where it may mean something.
var snippets = []string{
	" ", "\t", "\n", ",", ":", "{", "}", "[", "]", `"`, `""`, `\`, `\u0041`, `\n`,
	"null", "true", "false", "0", "00", "1", "-1", "1.0", "1e2",
	"99999999999999999999", "\x00", "\x7f", "\xff", "é", "<", `"taken":[1],`, `"read":["h"],`,
	`,"again":true`, `,"extra":1`, `"WAIT_ID":"x",`,
	`{"wait_id":"w",`, `"actor":"",`, `"labels":{},`,
	`"labels":{"a":"b","a":"c"},`, `"nonce":"",`, `"nonce":"=",`, `,"nonce":"YQ=="`, "Z", "+02:00", "t",
}

// However a stored text is damaged or spelled, both ways read the same of it, or the short one leaves it to the other.
func TestPlain_reads_damaged_texts_as_encoding_json_does(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := anyPlain(t)
		stored, err := writeAny(e)
		if err != nil {
			return
		}
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			from := rapid.IntRange(0, len(stored)).Draw(t, "from")
			to := min(len(stored), from+rapid.IntRange(0, 3).Draw(t, "length"))
			put := rapid.SampledFrom(snippets).Draw(t, "put")
			if rapid.IntRange(0, 5).Draw(t, "of its own") == 0 {
				at := rapid.IntRange(0, len(stored)).Draw(t, "at")
				put = string(stored[at:min(len(stored), at+rapid.IntRange(0, 40).Draw(t, "much"))])
			}
			stored = slices.Concat(stored[:from], []byte(put), stored[to:])
		}
		kind := e.Data.Type()
		if rapid.IntRange(0, 9).Draw(t, "as another") == 0 {
			kind = rapid.SampledFrom(plainKinds).Draw(t, "kind")
		}
		samePlainRead(t, kind, stored)
	})
}

// Each of these is a spelling that the short way must leave to encoding/json, which takes some and refuses some.
func TestPlain_leaves_what_is_unusual(t *testing.T) {
	t.Parallel()
	const digest = `"0100000000000000000000000000000000000000000000000000000000000000"`
	for text, taken := range map[string]bool{
		`{"wait_id":"w","signal_id":"s","signal_seq":3}`:                   true,
		`{"wait_id":"w", "signal_id":"s","signal_seq":3}`:                  true,
		`{"wait_id":"w","signal_id":"s","signal_seq":3} `:                  true,
		`{"signal_id":"s","wait_id":"w","signal_seq":3}`:                   true,
		`{"Wait_ID":"w","signal_id":"s","signal_seq":3}`:                   true,
		`{"wait_id":"\u0077","signal_id":"s","signal_seq":3}`:              true,
		`{"wait_id":null,"signal_id":"s","signal_seq":3}`:                  true,
		`{"wait_id":"` + "\xff" + `","signal_id":"s","signal_seq":3}`:      true,
		`{"wait_id":"w","signal_id":"s","signal_seq":-3}`:                  true,
		`{"wait_id":"w","signal_id":"s","signal_seq":03}`:                  false,
		`{"wait_id":"w","signal_id":"s","signal_seq":3.0}`:                 false,
		`{"wait_id":"w","signal_id":"s","signal_seq":9223372036854775808}`: false,
		`{"wait_id":"w","signal_id":"s","signal_seq":3}}`:                  false,
		`{"wait_id":"w","signal_id":"s","signal_seq":3}{}`:                 false,
		`{"wait_id":"w","signal_id":"s","signal_seq":3,"more":1}`:          false,
		`{"wait_id":"w` + "\n" + `","signal_id":"s","signal_seq":3}`:       false,
		`{"taken":[],"wait_id":"w","signal_id":"s","signal_seq":3}`:        true,
		`{"taken":[01],"wait_id":"w","signal_id":"s","signal_seq":3}`:      false,
		`{"taken":[1,],"wait_id":"w","signal_id":"s","signal_seq":3}`:      false,
		``: false, `{`: false, `{"wait_id":`: false, `{"wait_id":"`: false, `null`: true,
	} {
		_, err := Decode(1, 1, epoch, Encoded{Type: string(TypeWaitCompleted), Data: []byte(text)})
		if (err == nil) != taken {
			t.Errorf("%q: %v", text, err)
		}
		if short := samePlainRead(t, TypeWaitCompleted, []byte(text)); short != (text == `{"wait_id":"w","signal_id":"s","signal_seq":3}`) {
			t.Errorf("%q: read the short way: %v", text, short)
		}
	}
	_, err := Decode(1, 1, epoch, Encoded{Type: string(TypeHookResumed), Data: []byte(`{"hook_id":"h","digest":` + digest + `}`)})
	if !errors.Is(err, errNoPayload) {
		t.Errorf("an answer without its payload: %v", err)
	}
}

func FuzzReadPlain(f *testing.F) {
	for _, e := range slices.Concat(hotEvents(), oneOfEach()) {
		if stored, err := writeAny(e); err == nil {
			f.Add(string(e.Data.Type()), stored)
		}
	}
	f.Fuzz(func(t *testing.T, kind string, stored []byte) {
		samePlainRead(t, Type(kind), stored)
	})
}

func FuzzWritePlain(f *testing.F) {
	f.Add(uint8(0), "a", "b", "c", "d", int64(5), int64(1767323045), []byte("0123456789abcdef"))
	f.Add(uint8(5), "<", "\u2028", "\xff", "", int64(-1), int64(-70_000_000_000), []byte{})
	f.Fuzz(func(t *testing.T, kind uint8, a, b, c, d string, n, sec int64, raw []byte) {
		at := time.Unix(sec, n%1_000_000_000).UTC()
		digest := canon.Digest{byte(n), byte(sec)}
		labels := spec.Labels{a: b, c: d}
		e := Event{Taken: []int64{n, sec}, Read: []spec.HookID{spec.HookID(strings.ToUpper(a))}}
		e.Data = []Data{
			&RunStarted{Workflow: a, Version: b, SpecDigest: digest, Labels: labels, Actor: c, Digest: digest}, &RunCompleted{Digest: digest},
			&SignalReceived{SignalID: spec.SignalID(a), Name: b, Source: c, Actor: d, Digest: digest},
			&WaitOpened{WaitID: spec.WaitID(a), Signal: b, Deadline: &at, Again: n%2 == 0},
			&WaitCompleted{WaitID: spec.WaitID(a), SignalID: spec.SignalID(b), SignalSeq: n},
			&HookCreated{
				HookID: spec.HookID(a), Name: b, ExpiresAt: &at, Grant: TokenGrant{DigestKey: c, MintKey: d, Nonce: raw},
				Metadata: spec.HookMetadata{Kind: c, Subject: d, Labels: labels, Route: &spec.CallbackRoute{Method: a, Path: d}},
			},
			&HookResumed{HookID: spec.HookID(a), Source: b, Actor: c, Digest: digest}, &FactsTaken{},
		}[int(kind)%len(plainKinds)]
		if stored := samePlainWrite(t, e); stored != nil {
			samePlainRead(t, e.Data.Type(), stored)
		}
	})
}
