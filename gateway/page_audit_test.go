package gateway

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// The audit trail says which person decided, by a page, and has the digest of what was shown; a ban is there as well, and who
// was given a link.
func TestPage_leaves_a_trail(t *testing.T) {
	t.Parallel()
	s := pagesOn(t, pgtest.URL(t), keepsAudit, nil)
	s.asks("r", askInput{Meta: spec.HumanApproval("x").WithRequester("carol").WithRule(1, 2)})
	carols, adas := s.page("r", "carol"), s.page("r", "ada")
	forged := s.eng.NewPageForm(strings.TrimPrefix(carols, "/approvals/"), shownBy(t, s.eng, carols), "")
	if got := s.send(carols, "nonce", forged, "decision", "approve", "comment", ""); got.status != 403 {
		t.Errorf("carol's own: %d", got.status)
	}
	stale := s.eng.NewPageForm(strings.TrimPrefix(adas, "/approvals/"), [32]byte{1}, "")
	if got := s.send(adas, "nonce", stale, "decision", "approve", "comment", ""); got.status != 409 {
		t.Errorf("what was not shown: %d", got.status)
	}
	_, nonce := s.read(adas)
	for range 2 {
		checkKept(t, s.send(adas, "nonce", nonce, "decision", "approve", "comment", ""), adas)
	}
	const all = "/v1/runs/r/audit?limit=200"
	await(t, "the refusal is there", func() bool {
		raw := s.call("GET", all, "").raw
		return strings.Contains(raw, `"self_approval"`) && strings.Contains(raw, `"page_changed"`)
	})

	want := []string{
		"token_minted h carol accepted open", "token_minted h ada accepted open",
		"hook_resume h h conflict page_changed ada page page",
		"hook_resume h h denied self_approval carol page page", "hook_resume h h accepted ada page page",
	}
	var got []string
	for _, line := range s.trailOf(all, "kind", "name", "identity", "verdict", "why", "actor", "method", "source") {
		if strings.HasPrefix(line, "token_minted") || strings.HasPrefix(line, "hook_resume") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(counted(want), counted(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, digest := range s.trailOf("/v1/runs/r/audit?kind=hook_resume", "subject_digest") {
		if len(digest) != 64 {
			t.Errorf("what was shown is %q", digest)
		}
	}
	if raw := s.call("GET", all, "").raw; strings.Contains(raw, "fha_") {
		t.Error("the trail shows a page's token")
	}
}
