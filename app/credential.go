package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

const settingIssuers = "FLOWGATE_ISSUERS_FILE"

// issuerSetting says whose JWTs the API believes.
type issuerSetting struct {
	IssuersFile string `setting:"FLOWGATE_ISSUERS_FILE" placeholder:"PATH" help:"JSON file with the issuers whose JWTs the API believes, and where their keys are."`
}

// issuers reads the file. Refusals name the place in it, never a value.
func (s issuerSetting) issuers() ([]access.Issuer, error) {
	if s.IssuersFile == "" {
		return nil, nil
	}
	f, err := os.Open(s.IssuersFile)
	if err != nil {
		return nil, setting(settingIssuers, fmt.Sprintf("cannot be read: %v", err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, access.MaxIssuersBytes+1))
	if err != nil {
		return nil, setting(settingIssuers, fmt.Sprintf("cannot be read: %v", err))
	}
	issuers, err := access.ParseIssuers(text)
	return issuers, issuerRefusal(err)
}

// issuerRefusal says that a refusal of package access is about the file.
func issuerRefusal(err error) error {
	if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
		return setting(settingIssuers, bad.Field+" "+bad.Rule)
	}
	return err
}

// credentials are what a gateway verifies callers with.
type credentials struct {
	sign    *tokens.SignKeys
	issuers []access.Issuer
}

// makeAccess makes what verifies callers, for a process with a gateway.
func (p *process) makeAccess(ctx context.Context) error {
	if p.public == nil {
		return nil
	}
	var err error
	p.access, err = access.New(ctx, access.Config{
		Store: db.Open(p.pool, db.Config{Clock: p.clock, Log: p.log}), Digester: p.keys.Digester(), SignKeys: p.credentials.sign,
		PublicURL: p.publicURL, Issuers: p.credentials.issuers, Clock: p.clock, Logger: p.log,
	})
	return issuerRefusal(err)
}
