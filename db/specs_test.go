package db

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func specOf(name, version, document string) SpecDocument {
	return SpecDocument{SpecRef{name, version, sha256.Sum256([]byte(document))}, []byte(document)}
}

func TestRegisterSpec(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	register := func(s SpecDocument, replace bool, wantPrior string, want error) {
		t.Helper()
		prior, err := r.RegisterSpec(t.Context(), s.SpecRef, s.Document, replace)
		if !errors.Is(err, want) || string(prior) != wantPrior {
			t.Errorf("%s %s: %q %v", s.Name, s.Version, prior, err)
		}
	}
	find := func(name, version string, want SpecDocument) {
		t.Helper()
		got, err := r.SpecVersion(t.Context(), name, version)
		if err != nil {
			t.Errorf("%s %s: %v", name, version, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	v1, v2, changed := specOf("w", "1", `{"b": 1, "a": 2}`), specOf("w", "2", `{}`), specOf("w", "1", `{"b": 1}`)
	register(v1, false, "", nil)
	register(v2, false, "", nil)
	register(v1, false, "", nil) // a restart does not make version 1 the newest
	find("w", "", v2)
	find("w", "1", v1)
	register(changed, false, string(v1.Document), ErrSpecDiffers)
	find("w", "1", v1)
	if _, err := r.SpecByDigest(t.Context(), changed.Digest); !errors.Is(err, ErrWorkflowNotFound) {
		t.Errorf("a refused spec is stored: %v", err)
	}
	register(changed, true, string(v1.Document), nil)
	find("w", "1", changed)
	find("w", "", v2)
	// Runs that started with the old content keep it.
	if doc, err := r.SpecByDigest(t.Context(), v1.Digest); err != nil || string(doc) != string(v1.Document) {
		t.Errorf("%s %v", doc, err)
	}
	register(specOf("x", "1", `{}`), false, "", nil) // the same content under another name
	all, err := r.ListSpecs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]SpecDocument{changed, v2, specOf("x", "1", `{}`)}, all); diff != "" {
		t.Error(diff)
	}
	for _, absent := range [][2]string{{"w", "3"}, {"absent", ""}, {"absent", "1"}} {
		if _, err := r.SpecVersion(t.Context(), absent[0], absent[1]); !errors.Is(err, ErrWorkflowNotFound) {
			t.Errorf("%v: %v", absent, err)
		}
	}
}

// Of processes that register different contents at once, one wins, and the others learn what it stored.
func TestRegisterSpecAtOnce(t *testing.T) {
	t.Parallel()
	r := newAcceptRig(t)
	var mu sync.Mutex
	priors := map[string]int{}
	var group sync.WaitGroup
	for i := range 8 {
		s := specOf("w", "1", fmt.Sprintf(`{"n":%d}`, i/2))
		group.Go(func() {
			prior, err := r.RegisterSpec(t.Context(), s.SpecRef, s.Document, false)
			if err != nil && !errors.Is(err, ErrSpecDiffers) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			priors[string(prior)]++
		})
	}
	group.Wait()
	stored, err := r.SpecVersion(t.Context(), "w", "1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"": 2, string(stored.Document): 6}, priors); diff != "" {
		t.Error(diff)
	}
}
