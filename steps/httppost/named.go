package httppost

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// Scope says who may use a secret where. A name that is out of scope is as unknown as one that is not configured.
type Scope struct {
	// Hosts, in the form of Config.Hosts, that the secret may be used for; at least one. A secret without bounds would go
	// to whatever host an input names; who wants that writes "*".
	Hosts []string
	// Namespaces whose runs may use the secret. Empty is every namespace of the deployment.
	Namespaces []spec.Namespace
}

// Credential is a request header with a secret value.
type Credential struct {
	Scope
	// Header is Authorization if it is empty.
	Header string
	// Value is the whole value of the header, such as "Bearer …": 8 to 4,096 bytes of printable ASCII.
	Value tokens.Secret
}

// MaxSigningSecrets is how many secrets of one name may be active at a time.
const MaxSigningSecrets = 3

// Signing holds the secrets of one name that requests are signed with.
type Signing struct {
	Scope
	// Secrets are all active: a request carries one signature of each, so that a receiver may know any of them. Each is
	// base64 of 24 to 64 bytes, with or without the prefix whsec_.
	Secrets []tokens.Secret
}

// Endpoint is a target whose URL is configured, because it is a secret itself or because runs should not choose it.
type Endpoint struct {
	// URL obeys the rules of an input's url.
	URL tokens.Secret
	// Auth and SignWith name what an input that names neither gets.
	Auth, SignWith string
	// Namespaces whose runs may use the endpoint. Empty is every namespace of the deployment.
	Namespaces []spec.Namespace
}

// scope is a Scope that was checked.
type scope struct {
	hosts      hostList
	namespaces []spec.Namespace
}

func (s scope) allows(namespace spec.Namespace) bool {
	return len(s.namespaces) == 0 || slices.Contains(s.namespaces, namespace)
}

func newScope(field string, s Scope) (scope, error) {
	if len(s.Hosts) == 0 {
		return scope{}, invalid(field+"/Hosts", "must name the hosts that the secret is for")
	}
	hosts, err := newHostList(field+"/Hosts", s.Hosts)
	if err != nil {
		return scope{}, err
	}
	namespaces, err := checkNamespaces(field, s.Namespaces)
	return scope{hosts: hosts, namespaces: namespaces}, err
}

func checkNamespaces(field string, names []spec.Namespace) ([]spec.Namespace, error) {
	for i, n := range names {
		if err := spec.CheckName(fmt.Sprintf("%s/Namespaces/%d", field, i), string(n)); err != nil {
			return nil, err
		}
	}
	return slices.Clone(names), nil
}

// credential, signer and endpoint are what New makes of the configured ones. Their secrets stay inside tokens.Secret.
type credential struct {
	scope
	header string
	value  tokens.Secret
}

type signer struct {
	scope
	secrets []tokens.Secret
}

type endpoint struct {
	scope
	url            tokens.Secret
	auth, signWith string
}

func newCredentials(configured map[string]Credential) (map[string]credential, error) {
	made := make(map[string]credential, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		c, field := configured[name], "Credentials/"+name
		if err := spec.CheckName("Credentials", name); err != nil {
			return nil, err
		}
		s, err := newScope(field, c.Scope)
		if err != nil {
			return nil, err
		}
		header := orDefault(c.Header, "Authorization")
		if !isHeaderName(header) || isOurs(header) {
			return nil, invalid(field+"/Header", "must be the name of a header that the step does not set itself")
		}
		if v := c.Value.Reveal(); len(v) < 8 || len(v) > 4096 || !isHeaderValue(v) {
			return nil, invalid(field+"/Value", "must be 8 to 4096 bytes of printable ASCII without a space at either end")
		}
		made[name] = credential{scope: s, header: header, value: c.Value}
	}
	return made, nil
}

func newSigners(configured map[string]Signing) (map[string]signer, error) {
	made := make(map[string]signer, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		c, field := configured[name], "Signing/"+name
		if err := spec.CheckName("Signing", name); err != nil {
			return nil, err
		}
		s, err := newScope(field, c.Scope)
		if err != nil {
			return nil, err
		}
		if n := len(c.Secrets); n < 1 || n > MaxSigningSecrets {
			return nil, invalid(field+"/Secrets", fmt.Sprintf("must hold 1 to %d secrets", MaxSigningSecrets))
		}
		for i, secret := range c.Secrets {
			if !isSigningSecret(secret) {
				return nil, invalid(fmt.Sprintf("%s/Secrets/%d", field, i),
					"must be base64 of 24 to 64 bytes, with or without the prefix whsec_")
			}
		}
		made[name] = signer{scope: s, secrets: slices.Clone(c.Secrets)}
	}
	return made, nil
}

func isSigningSecret(s tokens.Secret) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Reveal(), "whsec_"))
	return err == nil && len(key) >= 24 && len(key) <= 64
}

// newEndpoints checks endpoints against the rules of targets and the other names.
func (p *Poster) newEndpoints(configured map[string]Endpoint) error {
	p.endpoints = make(map[string]endpoint, len(configured))
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		c, field := configured[name], "Endpoints/"+name
		if err := spec.CheckName("Endpoints", name); err != nil {
			return err
		}
		if _, rule := p.targets.parse(c.URL.Reveal()); rule != "" {
			return invalid(field+"/URL", rule)
		}
		namespaces, err := checkNamespaces(field, c.Namespaces)
		if err != nil {
			return err
		}
		if _, ok := p.credentials[c.Auth]; c.Auth != "" && !ok {
			return invalid(field+"/Auth", "must name one of Credentials")
		}
		if _, ok := p.signers[c.SignWith]; c.SignWith != "" && !ok {
			return invalid(field+"/SignWith", "must name one of Signing")
		}
		p.endpoints[name] = endpoint{scope: scope{namespaces: namespaces}, url: c.URL, auth: c.Auth, signWith: c.SignWith}
	}
	return nil
}
