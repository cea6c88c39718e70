package app

import (
	"context"
	"fmt"

	"github.com/flowgate-go/flowgate/internal/pgembed"
	"github.com/flowgate-go/flowgate/tokens"
)

// devCommand runs everything in one process, for one person on one machine.
type devCommand struct {
	databaseSetting
	poolSetting
	listenSettings
	adminSettings
	publicURLSetting
	keySettings
	signKeySettings
	issuerSetting
	logSettings
	stepSettings
	ingressSettings
	auditSettings
	DataDir string `setting:"FLOWGATE_DATA_DIR" placeholder:"DIR" otherwise:"/var/lib/flowgate for root, else ~/.local/state/flowgate" help:"Folder of dev mode's PostgreSQL and keys."`
}

// Run implements the command. The API is open, so it stays on loopback.
func (c devCommand) Run(ctx context.Context, in invocation) error {
	local, err := c.local(in)
	if err != nil {
		return err
	}
	instance, err := Start(ctx, local)
	if err != nil {
		return err
	}
	if err := printTour(in.stdout, instance, in.registrations); err != nil {
		local.Logger.Warn().Err(err).Msg("nobody reads the standard output")
	}
	select {
	case <-ctx.Done():
	case <-instance.Done():
	}
	return instance.Close()
}

// local turns settings into what Start takes.
func (c devCommand) local(in invocation) (Local, error) {
	connections, err := c.connections()
	if err != nil {
		return Local{}, err
	}
	for _, check := range []func() error{
		c.databaseSetting.check, c.publicURLSetting.check, func() error { return checkAddresses(c.Listen, c.AdminListen) },
	} {
		if err := check(); err != nil {
			return Local{}, err
		}
	}
	var keys *tokens.Keyring
	if c.keySettings.given() {
		if keys, err = c.keyring(); err != nil {
			return Local{}, err
		}
	}
	var callers credentials
	if c.signKeySettings.given() {
		if callers.sign, err = c.signKeys(); err != nil {
			return Local{}, err
		}
	}
	if callers.issuers, err = c.issuers(); err != nil {
		return Local{}, err
	}
	log, err := c.logger(in.stderr)
	if err != nil {
		return Local{}, err
	}
	steps, err := c.stepSettings.parts(in.clock)
	if err != nil {
		return Local{}, err
	}
	inbox, err := c.inboxParts()
	if err != nil {
		return Local{}, err
	}
	audit, err := c.auditParts()
	if err != nil {
		return Local{}, err
	}
	if c.DataDir == "" {
		c.DataDir = pgembed.DefaultDir()
	}
	if len(in.registrations) == 0 {
		return Local{}, fmt.Errorf("dev: %w", errNoWorkflows)
	}
	return Local{
		Registrations: in.registrations, Dir: c.DataDir, DatabaseURL: c.DatabaseURL, Keys: keys, Listen: c.Listen,
		AdminListen: c.AdminListen, PublicURL: c.PublicURL, Connections: connections, Logger: log, steps: steps,
		credentials: callers, inbox: inbox, audit: audit,
	}, nil
}
