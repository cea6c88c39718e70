package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowgate-go/flowgate/access"
	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// apiKeyCommands act on API keys in the database itself: the first key has to come from somewhere.
type apiKeyCommands struct {
	Create apiKeyCreate `cmd:"" help:"Make an API key and show it, once."`
	List   apiKeyList   `cmd:"" help:"List API keys, without the keys themselves."`
	Revoke apiKeyRevoke `cmd:"" help:"End an API key and what was exchanged for it."`
}

// apiKeyPage is how many keys are read at a time.
const apiKeyPage = 500

// apiKeyCreate makes a key.
type apiKeyCreate struct {
	databaseSetting
	digestKeySettings
	Namespace string        `required:"" help:"Namespace whose runs the key is for."`
	Name      string        `required:"" help:"What the key is called in lists."`
	Scope     []string      `required:"" sep:"none" help:"What the key may do; repeat the flag for more: runs:start, runs:read, runs:cancel, signals:send, hooks:resume, hooks:dispose, tokens:mint, ingress:admin, audit:read."`
	ExpiresIn time.Duration `placeholder:"DURATION" help:"How long the key is good for, such as 2160h; else until it is revoked."`
	RunID     string        `name:"run" help:"The only run that the key may act on."`
	HookID    string        `name:"hook" help:"The only hook of that run."`
	Signal    []string      `sep:"none" help:"The only name that the key may send; repeat the flag for more."`
}

// Run implements the command. The key goes to the standard output alone, so that a script can take it from there.
func (c apiKeyCreate) Run(ctx context.Context, in invocation) error {
	scopes, err := access.ParseScopes("scope", c.Scope)
	if err != nil {
		return flagRefusal(err)
	}
	if c.ExpiresIn < 0 {
		return &UsageError{text: "--expires-in must be more than 0"}
	}
	digester, err := c.digester()
	if err != nil {
		return err
	}
	return c.onDatabase(ctx, func(ctx context.Context, store *db.Store) error {
		var checks []db.KeyCheck
		for _, k := range digester.Checks() {
			checks = append(checks, db.KeyCheck{Kind: db.KeyKind(k.Kind), ID: k.ID, Check: k.Check[:]})
		}
		if err := store.CheckAccessKeys(ctx, checks); err != nil {
			return err
		}
		key, secret, err := access.NewKeys(store, digester, in.now, rand.Reader).Create(ctx, access.KeyRequest{
			Namespace: spec.Namespace(c.Namespace), Name: c.Name, Scopes: scopes, Run: spec.RunID(c.RunID), Hook: spec.HookID(c.HookID),
			Signals: c.Signal, Lifetime: c.ExpiresIn,
		})
		if err != nil {
			return flagRefusal(err)
		}
		if _, err := fmt.Fprintf(in.stderr, "API key %s of namespace %s; it is shown here and never again:\n", key.ID, key.Namespace); err != nil {
			return err
		}
		_, err = fmt.Fprintln(in.stdout, secret.Reveal())
		return err
	})
}

// keyFlags are the flags behind the fields of an access.KeyRequest.
var keyFlags = map[string]string{
	"namespace": "--namespace", "name": "--name", "scope": "--scope", "expires_in": "--expires-in", "run_id": "--run", "hook_id": "--hook",
	"signal": "--signal",
}

// flagRefusal makes a refusal of package access one of a flag.
func flagRefusal(err error) error {
	if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
		return &UsageError{text: keyFlags[bad.Field] + " " + bad.Rule}
	}
	return err
}

// apiKeyList lists keys.
type apiKeyList struct {
	databaseSetting
	Namespace string `help:"List the keys of one namespace only."`
}

// Run implements the command.
func (c apiKeyList) Run(ctx context.Context, in invocation) error {
	return c.onDatabase(ctx, func(ctx context.Context, store *db.Store) error {
		table := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tNAMESPACE\tNAME\tSTATE\tSCOPES\tONLY\tCREATED\tEXPIRES\tLAST USED")
		keys, now := access.NewKeys(store, nil, in.now, nil), in.now()
		for after := ""; ; {
			page, err := keys.List(ctx, spec.Namespace(c.Namespace), after, apiKeyPage)
			if err != nil {
				return err
			}
			for _, k := range page {
				printAPIKey(table, k, now)
			}
			if len(page) < apiKeyPage {
				return table.Flush()
			}
			after = page[len(page)-1].ID
		}
	})
}

func printAPIKey(w io.Writer, k access.APIKey, now time.Time) {
	state := "active"
	switch {
	case k.RevokedAt != nil:
		state = "revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		state = "expired"
	}
	var only []string
	if k.RunID != "" {
		only = append(only, "run="+string(k.RunID))
	}
	if k.HookID != "" {
		only = append(only, "hook="+string(k.HookID))
	}
	if k.Signals != nil {
		only = append(only, "signals="+strings.Join(k.Signals, ","))
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Namespace, k.Name, state, strings.Join(k.Scopes, " "),
		dashed(strings.Join(only, " ")), day(&k.CreatedAt), day(k.ExpiresAt), day(k.LastUsedAt))
}

func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func day(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// apiKeyRevoke ends a key.
type apiKeyRevoke struct {
	databaseSetting
	KeyID string `arg:"" name:"id" help:"ID of the key, key_…, as list shows it."`
}

// Run implements the command. It is idempotent.
func (c apiKeyRevoke) Run(ctx context.Context, in invocation) error {
	if !strings.HasPrefix(c.KeyID, "key_") {
		return &UsageError{text: "the argument must be the ID of a key, key_…, and not the key itself"}
	}
	return c.onDatabase(ctx, func(ctx context.Context, store *db.Store) error {
		key, err := access.NewKeys(store, nil, in.now, nil).Revoke(ctx, c.KeyID)
		if errors.Is(err, access.ErrKeyNotFound) {
			return &RefusedError{Verdict: engine.VerdictUnknown, Text: "there is no API key of this ID"}
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.stdout, "API key %s of namespace %s is revoked since %s\n", key.ID, key.Namespace, day(key.RevokedAt))
		return err
	})
}

// onDatabase does something with the database of the setting, which must have this program's schema.
func (s databaseSetting) onDatabase(ctx context.Context, do func(context.Context, *db.Store) error) error {
	if err := s.required(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, composeWithin)
	defer cancel()
	pool, err := pgxpool.New(ctx, s.DatabaseURL)
	if err != nil {
		return setting(settingDatabaseURL, "is not the URL of a PostgreSQL database")
	}
	defer pool.Close()
	if err := readyDatabase(ctx, pool, s.DatabaseURL); err != nil {
		return err
	}
	// Keys that are made and ended are in the audit trail in any case.
	return do(db.WithTrail(ctx, db.Trail{Method: "command"}), db.Open(pool, db.Config{Audit: true}))
}
