package app

import (
	"context"
	"errors"
)

// errNoWorkflows refuses a process that would have nothing to run.
var errNoWorkflows = errors.New("this program has no workflows to run and no steps to do")

// deployed are the settings of every process of a deployment.
type deployed struct {
	databaseSetting
	poolSetting
	adminSettings
	publicURLSetting
	keySettings
	logSettings
	stepSettings
	auditSettings
	traceSetting
	Examples bool `help:"Run the example workflows too."`
}

// parts checks the settings and makes parts of them that lack what only one of the commands has.
func (c deployed) parts(in invocation) (parts, error) {
	for _, check := range []func() error{c.databaseSetting.required, c.publicURLSetting.required} {
		if err := check(); err != nil {
			return parts{}, err
		}
	}
	keys, err := c.keyring()
	if err != nil {
		return parts{}, err
	}
	connections, err := c.connections()
	if err != nil {
		return parts{}, err
	}
	log, err := c.logger(in.stderr)
	if err != nil {
		return parts{}, err
	}
	steps, err := c.stepSettings.parts(in.clock)
	if err != nil {
		return parts{}, err
	}
	audit, err := c.auditParts()
	if err != nil {
		return parts{}, err
	}
	collector, err := c.endpoint()
	if err != nil {
		return parts{}, err
	}
	registrations := in.registrations
	if !c.Examples {
		registrations = withoutExamples(registrations)
	}
	return parts{
		log: log, registrations: registrations, keys: keys, databaseURL: c.DatabaseURL, connections: connections,
		publicURL: c.PublicURL, adminListen: c.AdminListen, clock: in.clock, steps: steps,
		audit: audit, collector: collector,
	}, nil
}

// serveCommand runs the gateway and, where the program has workflows or steps, what moves them on.
type serveCommand struct {
	deployed
	listenSettings
	proxySetting
	signKeySettings
	issuerSetting
	limitSettings
	namespaceSetting
	ingressSettings
	OpenAPI bool `name:"open-api" help:"Let everybody who reaches the listener use the API; on a loopback address only."`
}

// Run implements the command.
func (c serveCommand) Run(ctx context.Context, in invocation) error {
	if err := checkAddresses(c.Listen, c.AdminListen); err != nil {
		return err
	}
	if c.OpenAPI && !isLoopback(c.Listen) {
		return &SettingError{Flag: "--open-api", Rule: "is for a loopback address: let " + settingListen +
			" be 127.0.0.1:8080, say, or leave the flag out"}
	}
	proxies, err := c.prefixes()
	if err != nil {
		return err
	}
	from, err := c.parts(in)
	if err != nil {
		return err
	}
	if from.credentials.sign, err = c.signKeys(); err != nil {
		return err
	}
	if from.credentials.issuers, err = c.issuers(); err != nil {
		return err
	}
	if from.inbox, err = c.inboxParts(); err != nil {
		return err
	}
	from.listen, from.openAPI, from.trustedProxies = c.Listen, c.OpenAPI, proxies
	if from.limits, err = c.limits(); err != nil {
		return err
	}
	if from.namespaces, err = c.namespaces(); err != nil {
		return err
	}
	if len(from.registrations) == 0 {
		from.log.Info().Msg("no workflows here: this process accepts messages and reads; workers move runs on")
	}
	return serve(ctx, from)
}

// serve runs a composed process until ctx ends.
func serve(ctx context.Context, from parts) error {
	p, err := compose(ctx, from)
	if err != nil {
		return err
	}
	defer p.close()
	return p.run(ctx)
}
