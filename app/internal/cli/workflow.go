package cli

import (
	"context"

	"github.com/flowgate-go/flowgate/client"
)

// WorkflowCommands tell what can be started and sent.
type WorkflowCommands struct {
	List      workflowList      `cmd:"" help:"List the workflows that runs can be started of."`
	Interface workflowInterface `cmd:"" help:"Show what runs of a workflow take and answer."`
}

type workflowList struct{ Gateway }

// Run implements the command.
func (c workflowList) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.Workflows(ctx)
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) {
			if len(found.Items) == 0 {
				p.say("no workflows")
				return
			}
			p.row("WORKFLOW", "VERSION", "DESCRIPTION")
			for _, w := range found.Items {
				p.row(w.Name, w.Version, cut(w.Description, 100))
			}
		})
	})
}

type workflowInterface struct {
	Gateway
	Name string `arg:"" help:"Name of the workflow."`
}

// Run implements the command.
func (c workflowInterface) Run(ctx context.Context, env Env) error {
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		i, err := api.Interface(ctx, c.Name)
		if err != nil {
			return err
		}
		return c.print(env, i.Raw, func(p *page) { p.contract(i) })
	})
}

func (p *page) contract(i client.Interface) {
	p.row("workflow", i.Name+" "+i.Version)
	p.given("description", i.Description)
	p.given("input", compact(i.InputSchema))
	for _, kind := range []struct {
		name string
		all  []client.Declared
	}{{"signal", i.Signals}, {"update", i.Updates}, {"query", i.Queries}} {
		for _, d := range kind.all {
			p.row(kind.name, d.Name)
			p.given("  about", d.Description)
			p.given("  takes", compact(d.ArgSchema))
			p.given("  answers", compact(d.ResponseSchema))
		}
	}
}
