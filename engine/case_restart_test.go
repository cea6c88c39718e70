package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Every state of a hook gives one verdict, whether the caller holds the token or the IDs, and before as after every
// process was replaced.
func TestVerdictsAgreeByTokenAndByIDsAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, ends)
	tokens := map[spec.RunID]string{}
	for run, settle := range map[spec.RunID]func() error{
		"resumed": func() error { _, err := r.resume("resumed", "open", 1); return err },
		"disposed": func() error {
			_, err := r.DisposeHook(r.ctx(), engine.HookRequest{RunID: "disposed", HookID: "open"})
			return err
		},
		"cancelled": func() error { _, err := r.Cancel(r.ctx(), engine.CancelRequest{RunID: "cancelled"}); return err },
		"ended":     func() error { _, err := r.send("ended", "e", "end", "complete"); return err },
	} {
		r.start(ends, run, nil)
		r.waiting(run, "answered", "open", "end")
		tokens[run] = r.link(run, "open").Token.Reveal()
		if err := settle(); err != nil {
			t.Fatal(err)
		}
	}
	r.ended("ended")
	table := func(p *rig) map[string]string {
		verdicts := map[string]string{}
		for run, token := range tokens {
			for _, payload := range []int{1, 2} {
				byToken, err := p.callback(token, payload)
				byIDs, other := p.resume(run, "open", payload)
				verdicts[fmt.Sprint(run, payload)] = fmt.Sprint(verdict(byToken, err), err, byToken.Sequence)
				if byToken != byIDs || fmt.Sprint(err) != fmt.Sprint(other) {
					t.Errorf("%s: by token %+v %v, by IDs %+v %v", run, byToken, err, byIDs, other)
				}
			}
			d, err := p.DisposeHook(p.ctx(), engine.HookRequest{RunID: run, HookID: "open"})
			verdicts[fmt.Sprint(run, " dispose")] = fmt.Sprint(verdict(d, err), err, d.Sequence)
		}
		return verdicts
	}
	before := table(r)
	r.stop()
	if diff := cmp.Diff(before, table(r.beside(ends))); diff != "" {
		t.Errorf("before and after the restart:\n%s", diff)
	}
	if len(before) != 12 || before["resumed1"][:9] != "duplicate" || before["disposed1"][:4] != "gone" {
		t.Errorf("verdicts %v", before)
	}
}
