package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Times of key sets.
const (
	refreshEvery  = 10 * time.Minute // a key that its issuer took back is believed no longer than that
	refreshRest   = time.Minute      // between two refreshes that unknown key IDs cause
	refreshFailed = time.Minute      // after one that failed
	refreshFirst  = 5 * time.Second  // after one that failed, while there are no keys at all
	fetchTimeout  = 5 * time.Second
	keyWait       = 2 * time.Second // most that a request waits for a refresh
	keyWaiters    = 32              // most requests that do
)

// keySet is the keys of one issuer. One goroutine refreshes them; what it could not replace it keeps.
type keySet struct {
	issuer string
	fetch  func(context.Context) ([]byte, error)
	algs   []string
	clock  func() time.Time
	log    zerolog.Logger
	kick   chan struct{} // takes one

	mu      sync.Mutex
	keys    map[keyName]any
	loaded  bool // once, at least
	failing bool // the last refresh failed
	tried   time.Time
	busy    bool
	done    chan struct{} // closed at the end of the refresh that is under way, or of the next one
	waiters int
}

func newKeySet(i Issuer, client *http.Client, clock func() time.Time, log zerolog.Logger) *keySet {
	s := &keySet{
		issuer: i.Name, algs: i.Algorithms, clock: clock, log: log, kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if i.KeysURL != "" {
		s.fetch = func(ctx context.Context) ([]byte, error) { return fetchKeys(ctx, client, i.KeysURL) }
	} else {
		s.fetch = func(context.Context) ([]byte, error) {
			return readKeysFile(i.KeysFile, slices.Contains(i.Algorithms, algHMAC))
		}
	}
	return s
}

// key returns the key of a name. For one that is unknown it has the keys refreshed, at most once a minute, and waits for
// that; the wait is bounded, and so is the number of those who wait.
func (s *keySet) key(ctx context.Context, name keyName) (any, error) {
	key, wait, err := s.known(name)
	if wait == nil {
		return key, err
	}
	defer s.leave()
	timer := time.NewTimer(keyWait)
	defer timer.Stop()
	select {
	case <-wait:
	case <-timer.C:
		return nil, &unavailableError{cause: errKeysMissing}
	case <-ctx.Done():
		return nil, &unavailableError{cause: ctx.Err()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.keys[name]; ok {
		return key, nil
	}
	return nil, s.missing()
}

// errKeysMissing is the cause of ErrUnavailable when an issuer's keys could not be had.
var errKeysMissing = errors.New("the keys of the issuer cannot be had")

// known returns a key that is at hand, or what to wait for, or why there is none.
func (s *keySet) known(name keyName) (key any, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key, ok := s.keys[name]; ok {
		return key, nil, nil
	}
	if !s.busy && !s.mayRefresh() {
		return nil, nil, s.missing()
	}
	if s.waiters >= keyWaiters {
		return nil, nil, &unavailableError{cause: errKeysMissing}
	}
	s.waiters++
	select {
	case s.kick <- struct{}{}:
	default:
	}
	return nil, s.done, nil
}

func (s *keySet) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters--
}

// mayRefresh says whether an unknown key ID may cause a refresh. A clock that went back must not keep keys from coming.
func (s *keySet) mayRefresh() bool {
	since := s.clock().Sub(s.tried)
	return s.tried.IsZero() || since >= refreshRest || since < 0
}

// missing is why there is no key of a name.
func (s *keySet) missing() error {
	if !s.loaded || s.failing {
		return &unavailableError{cause: errKeysMissing}
	}
	return refused(reasonKey)
}

// run keeps the keys fresh until ctx ends.
func (s *keySet) run(ctx context.Context) {
	next := refreshEvery
	if !s.isLoaded() {
		next = s.refresh(ctx)
	}
	for {
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			next = s.refresh(ctx)
		case <-s.kick:
			timer.Stop()
			if s.wanted() {
				next = s.refresh(ctx)
			}
		}
	}
}

func (s *keySet) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// wanted says whether a kick is still one: the refresh it asked for may just have ended.
func (s *keySet) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayRefresh()
}

// refresh gets the keys and says when to do so again.
func (s *keySet) refresh(ctx context.Context) time.Duration {
	s.mu.Lock()
	s.busy, s.tried = true, s.clock()
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	keys, err := s.load(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.failing = false, err != nil
	close(s.done)
	s.done = make(chan struct{})
	if err == nil {
		s.keys, s.loaded = keys, true
		return refreshEvery
	}
	s.log.Warn().Str("issuer", s.issuer).Bool("keys_kept", s.loaded).Str("fault", fetchFault(err)).Msg("keys of an issuer cannot be had")
	if s.loaded {
		return refreshFailed
	}
	return refreshFirst
}

func (s *keySet) load(ctx context.Context) (map[keyName]any, error) {
	text, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return parseKeySet(text, s.algs)
}

// statusError is the answer of a key host that is none.
type statusError int

// Error names the status.
func (e statusError) Error() string { return fmt.Sprintf("answered with status %d", int(e)) }

// fetchFault says what went wrong: in full where the words are ours, else by its type.
func fetchFault(err error) string {
	if _, ok := errors.AsType[statusError](err); ok {
		return err.Error()
	}
	for _, own := range []error{errKeySet, errKeySetTwice, errKeyIsShort, errKeysFilePublic, errKeysFileLarge} {
		if errors.Is(err, own) {
			return err.Error()
		}
	}
	return fmt.Sprintf("%T", err)
}

// keysClient gets keys. It follows no redirect: the operator named the host that is believed.
func keysClient() *http.Client {
	return &http.Client{
		Timeout:       fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true},
	}
}

func fetchKeys(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, statusError(res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxKeySetBytes+1)) // one byte over is refused by parseKeySet
}

// Refusals of a file with keys.
var (
	errKeysFilePublic = errors.New("holds secrets and others may read it: chmod 600 it")
	errKeysFileLarge  = errors.New("is not a file of at most 1 MiB")
)

func readKeysFile(path string, private bool) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case private && st.Mode().Perm()&0o077 != 0:
		return nil, errKeysFilePublic
	case !st.Mode().IsRegular() || st.Size() > maxKeySetBytes:
		return nil, errKeysFileLarge
	}
	return os.ReadFile(path)
}
