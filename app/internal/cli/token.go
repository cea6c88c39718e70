package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
)

// TokenCommands act on credentials, through a gateway.
type TokenCommands struct {
	Exchange tokenExchange `cmd:"" help:"Print a short-lived token that may do less than the credential it is made for."`
}

type tokenExchange struct {
	Gateway
	Scope     []string      `sep:"none" placeholder:"SCOPE" help:"What it may do, such as runs:read; repeat the flag for more. Else all that the credential may."`
	Resource  string        `placeholder:"URL" help:"The only run or hook that it may act on: its URL below the public URL."`
	Audience  string        `placeholder:"URL" help:"The public URL, where the gateway wants it named."`
	ExpiresIn time.Duration `placeholder:"DURATION" help:"How long it is good for, at most 10m."`
}

// Run implements the command. The token goes to the standard output alone, so that a script can take it from there.
func (c tokenExchange) Run(ctx context.Context, env Env) error {
	if c.Token == "" {
		return &UsageError{"FLOWGATE_TOKEN must give the credential to exchange"}
	}
	if c.ExpiresIn != 0 && c.ExpiresIn < time.Second {
		return &UsageError{"--expires-in must be at least 1s"}
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		made, err := api.Exchange(ctx, client.ExchangeRequest{
			Scopes: c.Scope, Resource: c.Resource, Audience: c.Audience, Lifetime: c.ExpiresIn,
		})
		if err != nil {
			return err
		}
		return c.print(env, made.Raw, func(p *page) { p.say("%s", made.AccessToken) })
	})
}
