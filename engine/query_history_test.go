package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// What a process cannot read is never the fault of who asks: another process may read what a newer program wrote, and a
// damaged history is an error of ours.
func TestQuery_of_a_history_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		damage  string
		missing bool
	}{
		"an unknown type": {"update events set type = 'wait.sung' where seq = 2", true},
		"malformed data":  {"update events set data = '7' where seq = 1", false},
		"an event gone":   {"delete from events where seq = 2", false},
	} {
		r := tallyRig(t)
		r.startTally("run", nil)
		r.waiting("run", "add-0", "end", "gate")
		r.stop()
		if _, err := r.pool.Exec(r.ctx(), tc.damage); err != nil {
			t.Fatal(err)
		}
		_, err := r.Query(r.ctx(), "run", "view", nil)
		if err == nil || engine.VerdictOf(err) != engine.VerdictBusy || errors.Is(err, engine.ErrCodeMissing) != tc.missing {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The interface shows what the stored spec declares, updates too, whichever process stored it.
func TestInterface_shows_everything_by_name(t *testing.T) {
	t.Parallel()
	r := idle(t, testConfig(t, pgtest.New(t)))
	one, other := json.RawMessage(`{"type":"string"}`), json.RawMessage(`true`)
	s := spec.WorkflowSpec{
		Name: "w", Version: "1", Signals: []spec.Signal{{Name: "b"}, {Name: "a", Schema: one}},
		Queries: []spec.Query{{Name: "z", Args: one}, {Name: "q", Description: "asks", Response: other}},
		Updates: []spec.Update{{Name: "y", Response: one}, {Name: "u", Description: "changes", Args: other, Response: one}},
	}
	document, err := canon.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	ref := db.SpecRef{Name: "w", Version: "1", Digest: document.Digest()}
	if _, err := db.Open(r.pool, db.Config{}).RegisterSpec(context.Background(), ref, document.Bytes(), false); err != nil {
		t.Fatal(err)
	}
	shown, err := r.Interface(r.ctx(), "w")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"w","version":"1","signals":[{"name":"a","arg_schema":{"type":"string"}},{"name":"b"}],` +
		`"queries":[{"name":"q","description":"asks","response_schema":true},{"name":"z","arg_schema":{"type":"string"}}],` +
		`"updates":[{"name":"u","description":"changes","arg_schema":true,"response_schema":{"type":"string"}},{"name":"y","response_schema":{"type":"string"}}]}`
	if diff := cmp.Diff(want, string(encode(t, shown))); diff != "" {
		t.Error(diff)
	}
}

// SchemaOf is for package variables, so what has no schema stops the program with words.
func TestSchemaOf_panics_for_what_has_no_schema(t *testing.T) {
	t.Parallel()
	defer func() {
		if text, ok := recover().(string); !ok || text != "engine.SchemaOf: type chan int has no JSON Schema: unsupported type chan int" {
			t.Errorf("got %q", text)
		}
	}()
	engine.SchemaOf[chan int]()
}
