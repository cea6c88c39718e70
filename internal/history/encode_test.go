package history

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// oneOfEach is an event of every kind with every field set, in the order of their types.
func oneOfEach() []Event {
	at := epoch.Add(90*time.Second + 123456*time.Microsecond)
	grant := TokenGrant{Digest: TokenDigest{0xab, 0xcd, 0xef, 0x01}, DigestKey: "d1", MintKey: "m1", Nonce: []byte("0123456789abcdef")}
	meta := spec.HumanApproval("Invoice 7").WithCallbackRoute(spec.PostRoute("/callbacks/flow/hooks/{token}")).
		WithLabel("team", "finance").WithData("amount", "12.50")
	in := payload(map[string]any{"a": 1})
	datas := []Data{
		&RunStarted{Workflow: "w", Version: "1", SpecDigest: canon.Digest{1}, Labels: spec.Labels{"k": "v"}, Actor: "alice", Digest: in.Digest(), Input: in},
		&RunContinued{
			Workflow: "w", Version: "1", SpecDigest: canon.Digest{1}, Digest: in.Digest(), Input: in, StartedAt: epoch, OpenedAt: &epoch,
			CancelRequested: true, CancelPending: &PendingWish{Seq: 7, At: at}, Unread: []SeqRange{{3, 5}}, OpenUpdates: []SeqRange{{6, 6}}, TakenTo: 4,
			Hooks: []CarriedHook{{
				ID: "h", Name: "n", Metadata: meta, Grant: grant, State: StateResumed, CreatedAt: epoch, ExpiresAt: &at, SettledAt: &at,
				Seq: 6, Taken: true, Payload: in.Bytes(), Digest: in.Digest(), Source: "http", Actor: "bob",
			}},
		},
		&RunCompleted{Digest: in.Digest(), Output: in}, &RunFailed{Message: "no"},
		&RunCancelRequested{Reason: "r", Actor: "alice", Terminate: true}, &RunCancelled{Reason: "r"},
		&RunBlocked{Cause: BlockError, Diagnosis: "d"}, &RunUnblocked{},
		&SignalReceived{SignalID: "s", Name: "n", Source: "http", Actor: "alice", Digest: in.Digest(), Payload: in},
		&WaitOpened{WaitID: "w", Signal: "n", Deadline: &at, OpenedAt: &epoch, Again: true},
		&WaitCompleted{WaitID: "w", SignalID: "s", SignalSeq: 9}, &WaitTimedOut{WaitID: "w"}, &WaitWithdrawn{WaitID: "w"},
		&HookCreated{HookID: "h", Name: "n", Metadata: meta, Grant: grant, ExpiresAt: &at, OpenedAt: &epoch},
		&HookRejected{HookID: "h", Reason: RejectTaken, OwnerRun: "other"},
		&HookResumed{HookID: "h", Source: "http", Actor: "bob", Digest: in.Digest(), Payload: in},
		&HookDisposed{HookID: "h", ByCode: true, Source: "http", Actor: "bob"}, &HookExpired{HookID: "h", ByCode: true},
		&HookClosed{HookID: "h", Cause: StateRunEnded},
		&TimerStarted{TimerID: "t", Due: at, OpenedAt: &epoch, Again: true}, &TimerFired{TimerID: "t"}, &TimerCancelled{TimerID: "t"},
		&StepScheduled{
			StepID: "s", Name: "n", Retry: spec.ExponentialRetry(5, time.Second, time.Minute).WithNonRetryable("no").WithHold(),
			StartToClose: Span(time.Minute), Heartbeat: Span(time.Second), CloseAt: &at, OpenedAt: &epoch, Digest: in.Digest(), Input: in,
		},
		&StepCompleted{StepID: "s", Attempt: 2, Digest: in.Digest(), Output: in},
		&StepFailed{StepID: "s", Attempt: 5, Reason: FailedExhausted, Code: "c", Message: "m"},
		&StepTimedOut{StepID: "s"}, &StepCancelled{StepID: "s", Cause: StateDisposed},
		&ChildRequested{
			ChildID: "c", Workflow: "w", Version: "1", RunID: "r", OnParentEnd: ChildTerminate, Digest: in.Digest(), Input: in,
		},
		&ChildCompleted{ChildID: "c", Digest: in.Digest(), Output: in},
		&ChildFailed{ChildID: "c", Reason: FailedChild, Message: "m"}, &ChildReleased{ChildID: "c", Cause: StateRunEnded},
		&SignalRequested{CallID: "x", Target: "r", SignalID: "s", Name: "n", Digest: in.Digest(), Payload: in},
		&CancelRequested{CallID: "x", Target: "r", Reason: "why"},
		&CallDelivered{CallID: "x"}, &CallFailed{CallID: "x", Reason: FailedTargetEnded},
		&UpdateReceived{UpdateID: "u", Name: "n", Source: "http", Actor: "alice", Digest: in.Digest(), Payload: in},
		&UpdateCompleted{UpdateID: "u", Digest: in.Digest(), Output: in}, &UpdateRejected{UpdateID: "u", Message: "m"},
		&UpdateOrphaned{UpdateID: "u", Cause: StateRunEnded},
		&FactsTaken{},
	}
	events := make([]Event, len(datas))
	for i, d := range datas {
		events[i] = Event{Generation: 1, Seq: int64(i + 1), At: at, Data: d}
	}
	events[len(events)-1].Taken, events[len(events)-1].Read = []int64{7, 8}, []spec.HookID{"h"}
	events[2].Taken = []int64{2}
	return events
}

func TestEncode_covers_every_kind_and_reads_back(t *testing.T) {
	t.Parallel()
	seen := map[Type]bool{}
	for _, e := range oneOfEach() {
		seen[e.Data.Type()] = true
		enc, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(e.Generation, e.Seq, e.At, enc)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, back) {
			t.Errorf("%s reads back as %+v, was %+v", enc.Type, back.Data, e.Data)
		}
	}
	for kind := range kinds {
		if !seen[kind] {
			t.Errorf("no example of %s", kind)
		}
	}
}

// The start of a child says whose child it is, in the store and to who reads the history.
func TestEncode_keeps_the_parent(t *testing.T) {
	t.Parallel()
	in := payload(1)
	started := &RunStarted{Workflow: "w", Version: "1", Parent: &Parent{"p", 2, "c", 1}, Digest: in.Digest(), Input: in}
	e := Event{Generation: 1, Seq: 1, At: epoch, Data: started}
	enc, err := Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(1, 1, epoch, enc)
	if err != nil || !reflect.DeepEqual(e, back) {
		t.Errorf("reads back as %+v, %v", back.Data, err)
	}
	shown, err := Public(e)
	if err != nil || !strings.Contains(string(shown), `"parent":{"run_id":"p","generation":2,"child_id":"c","depth":1}`) {
		t.Errorf("shown as %s, %v", shown, err)
	}
}

func TestEncode_refuses_what_would_not_decode(t *testing.T) {
	t.Parallel()
	for _, e := range oneOfEach() {
		c, ok := e.Data.(carrier)
		if !ok {
			continue
		}
		c.setPayload(canon.Payload{})
		if _, err := Encode(e); err == nil {
			t.Errorf("%s without its payload was encoded", e.Data.Type())
		}
	}
}

func TestEncode_golden(t *testing.T) {
	t.Parallel()
	var stored, public strings.Builder
	for _, e := range oneOfEach() {
		enc, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&stored, "%s\n\t%s\n\t%s\n", enc.Type, enc.Data, enc.Payload)
		shown, err := Public(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&public, "%s\n\t%s\n", enc.Type, shown)
	}
	golden(t, "stored.golden", stored.String())
	golden(t, "public.golden", public.String())
}

// What was stored before is read as it is: whole, by this version too.
func TestDecode_reads_the_golden_file(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "stored.golden"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	want := oneOfEach()
	if len(lines) != 3*len(want) {
		t.Fatalf("%d lines for %d events", len(lines), len(want))
	}
	for i, e := range want {
		enc := Encoded{Type: lines[3*i], Data: []byte(lines[3*i+1][1:]), Payload: []byte(lines[3*i+2][1:])}
		back, err := Decode(e.Generation, e.Seq, e.At, enc)
		if err != nil {
			t.Errorf("%s: %v", enc.Type, err)
		} else if !reflect.DeepEqual(e, back) {
			t.Errorf("%s reads as %+v, was %+v", enc.Type, back.Data, e.Data)
		}
	}
}

// An event is read whole or not at all: a program that skipped what it does not know would fold another run than the one
// that was written.
func TestDecode_refuses_what_a_newer_program_wrote(t *testing.T) {
	t.Parallel()
	const digest = "0100000000000000000000000000000000000000000000000000000000000000"
	for name, tc := range map[string]struct {
		kind, data string
		newer      bool
	}{
		"an unknown type":              {"wait.sung", `{}`, true},
		"an unknown field":             {"wait.opened", `{"wait_id":"w","signal":"s","quorum":2}`, true},
		"before the others":            {"wait.opened", `{"quorum":2,"wait_id":"w","signal":"s"}`, true},
		"in an event without content":  {"facts.taken", `{"quorum":2}`, true},
		"behind what was taken":        {"facts.taken", `{"taken":[1],"quorum":2}`, true},
		"between taken and read":       {"facts.taken", `{"taken":[1],"skipped":[2],"read":["h"]}`, true},
		"in metadata":                  {"hook.created", `{"hook_id":"h","name":"h","metadata":{"urgency":"high"},"grant":{"token_digest":"` + digest + `","digest_key":"k"}}`, true},
		"in a grant":                   {"hook.created", `{"hook_id":"h","name":"h","metadata":{},"grant":{"token_digest":"` + digest + `","digest_key":"k","scope":"x"}}`, true},
		"known and spaced":             {"wait.opened", " {\n\t\"wait_id\": \"w\", \"signal\": \"s\" } ", false},
		"known, taken and read":        {"facts.taken", `{"taken":[1, 2],"read":["h"]}`, false},
		"known, taken before the rest": {"wait.timed_out", `{"taken":[1], "wait_id":"w"}`, false},
	} {
		_, err := Decode(1, 1, epoch, Encoded{Type: tc.kind, Data: []byte(tc.data)})
		if got := errors.Is(err, ErrNewerEvent); got != tc.newer || !tc.newer && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string]string{
		"no object": `7`, "two values": `{"wait_id":"w"} {}`, "cut off": `{"wait_id":"w"`, "another kind of value": `{"wait_id":1}`,
		"nothing": ``, "taken is no list": `{"taken":1,"wait_id":"w"}`, "a comma too many": `{"taken":[1],,"wait_id":"w"}`,
		"cut off within": `{"taken":[1`, "read twice over": `{"read":["h"]}}`,
	} {
		_, err := Decode(1, 1, epoch, Encoded{Type: "wait.timed_out", Data: []byte(data)})
		var broken *DecodeError
		if !errors.As(err, &broken) || errors.Is(err, ErrNewerEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: a stored form changed; histories written before would not read the same (-want +got):\n%s", name, diff)
	}
}

func TestPublic_shows_no_digest_and_no_grant(t *testing.T) {
	t.Parallel()
	for _, e := range oneOfEach() {
		shown, err := Public(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"abcdef01000000", "nonce", "mint_key", `"digest"`, "MDEyMzQ1"} {
			if strings.Contains(string(shown), secret) {
				t.Errorf("%s shows %s", e.Data.Type(), secret)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range oneOfEach() {
		enc, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(enc.Type, enc.Data, enc.Payload)
	}
	f.Add("run.started", []byte("{}"), []byte{})
	f.Fuzz(func(t *testing.T, kind string, data, payload []byte) {
		e, err := Decode(1, 1, epoch, Encoded{Type: kind, Data: data, Payload: payload})
		if err != nil {
			return
		}
		enc, err := Encode(e)
		if err != nil {
			t.Fatalf("decoded and does not encode: %v", err)
		}
		again, err := Decode(1, 1, epoch, enc)
		if err != nil {
			t.Fatalf("encoded and does not decode: %v", err)
		}
		if second, err := Encode(again); err != nil || string(second.Data) != string(enc.Data) {
			t.Fatalf("the encoding is not stable: %s, then %s (%v)", enc.Data, second.Data, err)
		}
		if _, err := Public(e); err != nil && json.Valid(payload) {
			t.Fatalf("cannot be shown: %v", err)
		}
	})
}

// FuzzFold folds any sequence of well-formed events: a damaged history is refused, it never panics or hangs.
func FuzzFold(f *testing.F) {
	events := oneOfEach()
	f.Add([]byte{0, 8, 9, 10, 2})
	f.Add([]byte{1, 13, 15, 16, 6, 7, 22, 1})
	f.Add([]byte{0, 19, 20, 21, 17, 18, 3})
	f.Fuzz(func(t *testing.T, picks []byte) {
		var history []Event
		generation := 1
		for i, pick := range picks {
			e := events[int(pick)%len(events)]
			if e.Data.Type() == TypeRunContinued && i > 0 {
				generation++
			}
			e.Generation, e.Seq = generation, int64(i+1)
			history = append(history, e)
		}
		var carried []Event
		if len(history) > 0 && history[0].Data.Type() == TypeRunContinued {
			for seq := int64(3); seq <= 5; seq++ {
				carried = append(carried, Event{Seq: seq, At: epoch, Data: events[8].Data})
			}
		}
		s, err := Fold(testKey, carried, history)
		if err != nil {
			return
		}
		s.nextDue()
		s.Waiting()
		s.First("w", "t", "h")
		if s.HistoryLength() > int64(len(history)) {
			t.Fatalf("%d events folded to a history of %d", len(history), s.HistoryLength())
		}
	})
}
