package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// registration is the code of one workflow version in this process.
type registration struct {
	spec    spec.WorkflowSpec
	auth    *authority // of the same spec
	fn      Workflow
	queries map[string]QueryFunc
	slots   chan struct{} // one taken by each call of a query handler
}

// registry holds what this process can advance. It is safe for concurrent use.
type registry struct {
	mu     sync.RWMutex
	frozen bool
	code   map[Code]registration
}

func newRegistry() *registry { return &registry{code: map[Code]registration{}} }

var (
	errRegisteredLate  = errors.New("engine: workflows are registered before Run")
	errRegisteredTwice = errors.New("engine: the workflow version is registered already")
	errNoFunction      = errors.New("engine: a workflow needs a function")
)

func (r *registry) add(code registration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen {
		return errRegisteredLate
	}
	if _, known := r.code[codeOf(code.spec)]; known {
		return errRegisteredTwice
	}
	r.code[codeOf(code.spec)] = code
	return nil
}

func (r *registry) get(c Code) (registration, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	reg, ok := r.code[c]
	return reg, ok
}

// freeze ends registration and lists the codes in order.
func (r *registry) freeze() []Code {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
	codes := make([]Code, 0, len(r.code))
	for c := range r.code {
		codes = append(codes, c)
	}
	slices.SortFunc(codes, func(a, b Code) int {
		return strings.Compare(a.Workflow+"\x00"+a.Version, b.Workflow+"\x00"+b.Version)
	})
	return codes
}

// registerTimeout bounds how long Register waits for the database.
const registerTimeout = 10 * time.Second

// Register gives this process the code of a workflow and stores its spec, so that from then on every process can start
// runs of it. It comes before Run and waits up to 10 s for the database. Several versions of one workflow may be
// registered side by side; a run keeps the version it was started with.
//
// The options are the handlers of the queries that the spec declares, each of which needs one.
//
// Registering an equal spec again, in this or another process, changes nothing. Errors: *InvalidError for a malformed
// spec or schema, a declared query without a handler and a handler of an undeclared one, *SpecChangedError when the version
// is stored with another spec (in Dev mode it is replaced, for new runs only, with a warning in the log), ErrUnavailable.
func (e *Engine) Register(s spec.WorkflowSpec, fn Workflow, opts ...CodeOption) error {
	if err := s.Validate(); err != nil {
		return err
	}
	s = s.Normalized()
	a, err := newAuthority(s)
	if err != nil {
		return err
	}
	code, err := newRegistration(a, fn, opts)
	if err != nil {
		return err
	}
	document, err := canon.Marshal(s)
	if err != nil {
		return &InvalidError{Field: "spec", Rule: err.Error()}
	}
	if err := e.registry.add(code); err != nil {
		return fmt.Errorf("%w: %s", err, codeOf(s))
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	ref := db.SpecRef{Name: s.Name, Version: s.Version, Digest: document.Digest()}
	prior, err := e.store.RegisterSpec(ctx, ref, document.Bytes(), e.cfg.Dev)
	switch {
	case errors.Is(err, db.ErrSpecDiffers):
		return changed(prior, s)
	case err != nil:
		return fmt.Errorf("register %s: %w", codeOf(s), err)
	case prior != nil:
		e.cfg.Logger.Warn().Str("workflow", s.Name).Str("version", s.Version).
			Strs("differs", changed(prior, s).Differs).Msg("dev mode replaced the stored spec")
	}
	e.authorities.put(document.Digest(), a)
	return nil
}

func changed(prior []byte, s spec.WorkflowSpec) *SpecChangedError {
	var stored spec.WorkflowSpec
	differs := []string{"a part this program does not know"}
	if err := json.Unmarshal(prior, &stored); err == nil {
		differs = specDiff(stored, s)
	}
	return &SpecChangedError{Code: codeOf(s), Differs: differs}
}
