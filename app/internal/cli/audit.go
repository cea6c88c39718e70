package cli

import (
	"context"
	"time"

	"github.com/flowgate-go/flowgate/client"
	"github.com/flowgate-go/flowgate/spec"
)

// AuditCommands read the audit trail.
type AuditCommands struct {
	List auditList `cmd:"" help:"List who asked for what and what came of it, the newest first."`
}

type auditList struct {
	Gateway
	Paging
	RunID   string    `name:"run" placeholder:"ID" help:"Entries of this run only."`
	Kind    string    `placeholder:"KIND" help:"Entries of this kind only, such as signal or hook_resume."`
	Verdict string    `placeholder:"VERDICT" help:"Entries with this verdict only, such as conflict."`
	Since   time.Time `placeholder:"TIME" help:"Entries since this time only, such as 2026-01-31T12:00:00Z."`
}

// Run implements the command.
func (c auditList) Run(ctx context.Context, env Env) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.ask(ctx, env, false, func(ctx context.Context, api *client.Client) error {
		found, err := api.AuditPage(ctx, client.AuditQuery{
			RunID: spec.RunID(c.RunID), Kind: c.Kind, Verdict: client.Verdict(c.Verdict), Since: c.Since, Cursor: c.Cursor, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		return c.print(env, found.Raw, func(p *page) { p.audit(found) })
	})
}

func (p *page) audit(found client.Page[client.AuditEntry]) {
	if len(found.Items) == 0 {
		p.say("no entries")
		return
	}
	p.row("AT", "RUN", "KIND", "NAME", "IDENTITY", "VERDICT", "WHY", "BY", "VIA")
	for _, e := range found.Items {
		p.row(p.at(e.At), string(e.RunID), e.Kind, e.Name, e.Identity, string(e.Verdict), e.Why, e.Actor, e.Method)
	}
	p.more(found.NextCursor)
}
