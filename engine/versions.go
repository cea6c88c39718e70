package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flowgate-go/flowgate/db"
)

// versionLife is how long a process may go on with what a name and version meant before: the time until a version
// registered elsewhere is the one that new runs get.
const versionLife = time.Second

// maxVersions bounds the cache; a full one is emptied.
const maxVersions = 4096

// versions caches which spec a (workflow, version) stands for; the version "" is the one registered last. Concurrent
// look-ups of one entry share one query.
type versions struct {
	load  func(ctx context.Context, workflow, version string) (db.SpecDocument, error)
	clock func() time.Time

	flight singleflight.Group
	mu     sync.Mutex
	known  map[Code]version
}

type version struct {
	ref  db.SpecRef
	auth *authority
	till time.Time
}

// find returns the spec reference and its compiled form, ErrWorkflowNotFound or ErrUnavailable.
func (v *versions) find(ctx context.Context, c Code, compiled *authorities) (version, error) {
	if found, ok := v.cached(c); ok {
		return found, nil
	}
	// The query outlives a caller that gives up, because others may wait for it; it has the pool's own limits.
	shared := v.flight.DoChan(c.Workflow+"\x00"+c.Version, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTimeout)
		defer cancel()
		return v.fetch(ctx, c, compiled)
	})
	select {
	case r := <-shared:
		found, _ := r.Val.(version)
		return found, r.Err
	case <-ctx.Done():
		return version{}, ctx.Err()
	}
}

func (v *versions) fetch(ctx context.Context, c Code, compiled *authorities) (version, error) {
	stored, err := v.load(ctx, c.Workflow, c.Version)
	if err != nil {
		return version{}, err
	}
	a, ok := compiled.get(stored.Digest)
	if !ok {
		if a, err = decodeAuthority(stored.Document); err != nil {
			return version{}, err
		}
		compiled.put(stored.Digest, a)
	}
	found := version{ref: stored.SpecRef, auth: a, till: v.clock().Add(versionLife)}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || len(v.known) >= maxVersions {
		v.known = map[Code]version{}
	}
	v.known[c] = found
	return found, nil
}

func (v *versions) cached(c Code) (version, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.known[c]
	return found, ok && v.clock().Before(found.till)
}
