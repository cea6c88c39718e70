package access

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/spec"
)

// Limits and defaults of an Issuer.
const (
	DefaultMaxLifetime = 15 * time.Minute
	LimitMaxLifetime   = 24 * time.Hour
	DefaultType        = "at+jwt" // RFC 9068
	maxIssuerBytes     = 160      // it is part of the actor in histories
	maxIssuers         = 64
)

// AnyNamespace as an entry of Issuer.Namespaces, lets the issuer name every namespace.
const AnyNamespace spec.Namespace = "*"

// The algorithms, with the default of Issuer first.
var algorithms = []string{"EdDSA", "ES256", "ES384", "RS256", "PS256", algHMAC}

// algHMAC is the one algorithm whose verifiers can sign.
const algHMAC = "HS256"

// Issuer is one whose JWTs are believed, and in what.
type Issuer struct {
	Name     string // the claim iss, compared byte for byte
	Audience string // one of the claim aud
	// KeysFile or KeysURL, one of them, holds the issuer's keys as a JWK Set (RFC 7517). The URL is https, or http on
	// loopback. A file that holds a secret key, for HS256, must be private to its owner.
	KeysFile, KeysURL string
	Algorithms        []string      // of EdDSA, ES256, ES384, RS256, PS256 and, with KeysFile, HS256; EdDSA when empty
	Type              string        // the header typ, exactly; DefaultType when empty
	MaxLifetime       time.Duration // most from iat to exp; DefaultMaxLifetime when 0, at most LimitMaxLifetime
	// Namespace is the one of all its tokens, or Namespaces are those that the claim ns may name. One of them is given.
	Namespace  spec.Namespace
	Namespaces []spec.Namespace
	Scopes     []Scope // the most that its tokens may have; required
}

// checked returns the issuer with its defaults. The error is a *spec.InvalidError.
func (i Issuer) checked() (Issuer, error) {
	for _, check := range []func() error{i.checkName, i.checkKeys, i.checkNamespaces} {
		if err := check(); err != nil {
			return i, err
		}
	}
	if len(i.Algorithms) == 0 {
		i.Algorithms = algorithms[:1]
	}
	if i.Type == "" {
		i.Type = DefaultType
	}
	if i.MaxLifetime == 0 {
		i.MaxLifetime = DefaultMaxLifetime
	}
	if i.MaxLifetime < time.Second || i.MaxLifetime > LimitMaxLifetime {
		return i, invalid("max_lifetime", "must be from 1s to 24h")
	}
	if len(i.Scopes) == 0 {
		return i, invalid("scopes", "must hold at least one scope: the most that its tokens may have")
	}
	return i, nil
}

func invalid(field, rule string) error { return &spec.InvalidError{Field: field, Rule: rule} }

func (i Issuer) checkName() error {
	if err := spec.CheckName("issuer", i.Name); err != nil {
		return err
	}
	if len(i.Name) > maxIssuerBytes {
		return invalid("issuer", fmt.Sprintf("must be at most %d bytes, because it is part of the actor in histories", maxIssuerBytes))
	}
	if strings.ContainsRune(i.Name, '#') {
		return invalid("issuer", "must not hold #, which separates it from the subject in histories")
	}
	if i.Type != "" {
		if err := spec.CheckName("typ", i.Type); err != nil {
			return err
		}
	}
	return spec.CheckName("audience", i.Audience)
}

func (i Issuer) checkKeys() error {
	for n, alg := range i.Algorithms {
		if !slices.Contains(algorithms, alg) {
			return invalid(fmt.Sprintf("algorithms/%d", n), "must be of "+strings.Join(algorithms, " "))
		}
		if alg == algHMAC && i.KeysURL != "" {
			return invalid(fmt.Sprintf("algorithms/%d", n), "must not be HS256 with jwks_url: who can read its key can sign")
		}
	}
	if (i.KeysFile == "") == (i.KeysURL == "") {
		return invalid("jwks_url", "must be given, or jwks_file, and not both")
	}
	if i.KeysURL == "" {
		return nil
	}
	u, err := url.Parse(i.KeysURL)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || (u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname()))) {
		return invalid("jwks_url", "must be an https URL without user and fragment; http is for loopback hosts only")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (i Issuer) checkNamespaces() error {
	if (i.Namespace == "") == (len(i.Namespaces) == 0) {
		return invalid("namespaces", "must be given, or namespace, and not both")
	}
	if i.Namespace == AnyNamespace {
		return invalid("namespace", "must be one namespace; namespaces may hold *")
	}
	if i.Namespace != "" {
		return spec.CheckName("namespace", string(i.Namespace))
	}
	for n, ns := range i.Namespaces {
		if err := spec.CheckName(fmt.Sprintf("namespaces/%d", n), string(ns)); err != nil {
			return err
		}
	}
	return nil
}

// namespaceOf returns the namespace of a token that names one, or none; false when the issuer may not.
func (i Issuer) namespaceOf(named string) (spec.Namespace, bool) {
	ns := spec.Namespace(named)
	switch {
	case i.Namespace != "":
		return i.Namespace, ns == "" || ns == i.Namespace
	case ns.Validate() != nil || ns == AnyNamespace:
		return "", false
	}
	return ns, slices.Contains(i.Namespaces, ns) || slices.Contains(i.Namespaces, AnyNamespace)
}
