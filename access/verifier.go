package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Config is what a Verifier needs. Store, Digester, SignKeys and PublicURL are required.
type Config struct {
	Store    *db.Store
	Digester *tokens.Digester // of API keys
	SignKeys *tokens.SignKeys // of tokens made here
	// PublicURL is the issuer and the audience of tokens made here, and the base of the resources that they are asked for.
	PublicURL string
	Issuers   []Issuer         // each of another name
	Clock     func() time.Time // nil: time.Now
	Random    io.Reader        // of cryptographic randomness; nil: that of the system
	Logger    zerolog.Logger   // told of keys that cannot be had; the zero Logger discards
}

// ErrConfig is the error of New for a Config that lacks what is required.
var ErrConfig = errors.New("access: Store, Digester, SignKeys and PublicURL are required")

// Verifier verifies credentials. It is safe for concurrent use. Run keeps the keys of issuers fresh.
type Verifier struct {
	keys    *Keys
	sign    *tokens.SignKeys
	base    string // the public URL without a slash at its end
	issuers map[string]*trusted
	sets    []*keySet
	parser  *jwt.Parser
	clock   func() time.Time
	random  io.Reader
}

// New makes a Verifier. It compares the keys with those that the database was used with, and reads the files of issuers;
// URLs are asked by Run. Errors: ErrConfig; *spec.InvalidError for an issuer; *db.KeyMismatchError, *db.KeyMissingError;
// others of the database and of files.
func New(ctx context.Context, cfg Config) (*Verifier, error) {
	if cfg.Store == nil || cfg.Digester == nil || cfg.SignKeys == nil || cfg.PublicURL == "" {
		return nil, ErrConfig
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	v := &Verifier{
		keys: NewKeys(cfg.Store, cfg.Digester, cfg.Clock, cfg.Random), sign: cfg.SignKeys,
		base: strings.TrimSuffix(cfg.PublicURL, "/"), issuers: map[string]*trusted{}, parser: newParser(),
		clock: cfg.Clock, random: cfg.Random,
	}
	v.trustOurselves()
	if err := v.trustAll(cfg); err != nil {
		return nil, err
	}
	if err := cfg.Store.CheckAccessKeys(ctx, keyChecks(cfg.SignKeys.Checks(), cfg.Digester.Checks())); err != nil {
		return nil, fmt.Errorf("check keys of credentials: %w", err)
	}
	return v, nil
}

func keyChecks(sets ...[]tokens.KeyCheck) (checks []db.KeyCheck) {
	for _, set := range sets {
		for _, c := range set {
			checks = append(checks, db.KeyCheck{Kind: db.KeyKind(c.Kind), ID: c.ID, Check: c.Check[:]})
		}
	}
	return checks
}

// trustOurselves believes the tokens that are made here.
func (v *Verifier) trustOurselves() {
	own := v.trust(Issuer{
		Name: v.base, Audience: v.base, Algorithms: algorithms[:1], Type: DefaultType, MaxLifetime: MaxExchanged,
		Namespaces: []spec.Namespace{AnyNamespace}, Scopes: AllScopes(),
	}, func(_ context.Context, name keyName) (any, error) {
		if key, ok := v.sign.Public(name.id); ok {
			return key, nil
		}
		return nil, refused(reasonKey)
	})
	own.own = true
	v.issuers[v.base] = own
}

// trustAll believes the configured issuers. None of them may speak for this deployment.
func (v *Verifier) trustAll(cfg Config) error {
	if err := checkIssuers(cfg.Issuers); err != nil {
		return err
	}
	client := keysClient()
	for n, i := range cfg.Issuers {
		i, err := i.checked()
		if err == nil && strings.TrimSuffix(i.Name, "/") == v.base {
			err = invalid("issuer", "must not be the public URL, which is the issuer of tokens made here")
		}
		if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
			return invalid(fmt.Sprintf("issuers/%d/%s", n, bad.Field), bad.Rule)
		}
		set := newKeySet(i, client, cfg.Clock, cfg.Logger)
		if i.KeysFile != "" {
			if err := set.loadNow(); err != nil {
				return fmt.Errorf("issuers/%d/jwks_file: %w", n, err)
			}
		}
		v.sets = append(v.sets, set)
		v.issuers[i.Name] = v.trust(i, set.key)
	}
	return nil
}

// loadNow reads keys of a file before anybody asks.
func (s *keySet) loadNow() error {
	keys, err := s.load(context.Background())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.loaded, s.tried = keys, true, s.clock()
	return nil
}

// Run keeps the keys of issuers fresh until ctx ends: it asks every 10 minutes, and at most once a minute for the sake of
// a key that is unknown. It is called once, and returns nil when all that it started has ended.
func (v *Verifier) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, s := range v.sets {
		all.Go(func() error { s.run(ctx); return nil })
	}
	<-ctx.Done()
	return all.Wait()
}

// Admit is asked before an API key is looked up, for what stands for it: its text, or the actor of its holder where a token
// that was exchanged for it is verified. Neither is ever a hook's token. Its error is that of the verification, and nothing is
// looked up then.
type Admit func(key string) error

func admitAll(string) error { return nil }

// Verify says whose credential a text is: an API key, or a JWT. Errors: ErrRefused, with a *RefusedError for its reason,
// and ErrUnavailable; the Principal is then zero.
func (v *Verifier) Verify(ctx context.Context, credential string) (Principal, error) {
	return v.VerifyAdmitted(ctx, credential, admitAll)
}

// VerifyAdmitted is Verify where not everything may be looked up. Its errors are those of admit, too.
func (v *Verifier) VerifyAdmitted(ctx context.Context, credential string, admit Admit) (Principal, error) {
	verify := v.verifyJWT
	if tokens.IsAPIKey(credential) {
		verify = v.keys.verify
	}
	p, err := verify(ctx, credential, admit)
	if err != nil {
		return Principal{}, err
	}
	return p, nil
}
