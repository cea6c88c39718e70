package app

import (
	"context"
	"errors"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/flowgate-go/flowgate/app/internal/cli"
)

// commands is the command line. Commands of a group stand together in the help.
type commands struct {
	Help helpFlag `short:"h" help:"Show what a command does."`

	Dev     devCommand     `cmd:"" group:"run" help:"Run everything on this machine, with a PostgreSQL of its own, to try things out."`
	Serve   serveCommand   `cmd:"" group:"run" help:"Run a gateway, and the workflows and steps of this program if it has any."`
	Worker  workerCommand  `cmd:"" group:"run" help:"Run the workflows and steps of this program, without a gateway."`
	Migrate migrateCommand `cmd:"" group:"run" help:"Bring the database to the schema of this program."`
	Verify  verifyCommand  `cmd:"" group:"run" help:"Compare everything that is stored beside the events of runs with them."`
	Ingress struct {
		Test ingressTestCommand `cmd:"" help:"Say what would become of a captured webhook, changing nothing."`
	} `cmd:"" group:"run" help:"Look at sources of signed webhooks."`
	APIKey apiKeyCommands `cmd:"" group:"run" name:"apikey" help:"Act on API keys, in the database."`

	Workflow   cli.WorkflowCommands `cmd:"" group:"ask" help:"Workflows: list, interface."`
	Run        cli.RunCommands      `cmd:"" group:"ask" help:"Runs: start, get, list, history, explain, cancel, terminate, retry."`
	Signal     cli.SignalCommands   `cmd:"" group:"ask" help:"Signals: send, get."`
	Hook       cli.HookCommands     `cmd:"" group:"ask" help:"Hooks, which somebody outside answers: list, get, link, resume, dispose."`
	DeadLetter cli.LetterCommands   `cmd:"" group:"ask" name:"deadletter" help:"Steps and webhooks that were given up: list, get, replay, discard."`
	Audit      cli.AuditCommands    `cmd:"" group:"ask" help:"The audit trail: list."`
	Token      cli.TokenCommands    `cmd:"" group:"ask" help:"Credentials: exchange."`

	Completion cli.CompletionCommand `cmd:"" group:"about" help:"Print a script that completes commands in bash, zsh or fish."`
	Version    versionCommand        `cmd:"" group:"about" help:"Show the version of this program."`
	HelpOn     struct {
		Usage  usageCommand  `cmd:"" default:"1" hidden:""`
		Config configCommand `cmd:"" help:"List all settings and their defaults."`
	} `cmd:"" group:"about" name:"help" help:"Show this help; help config lists all settings."`
}

// groups are the headings of the help.
var groups = []kong.Group{
	{Key: "run", Title: "To run it:"},
	{Key: "ask", Title: "To ask a gateway that runs (FLOWGATE_URL, FLOWGATE_TOKEN):"},
	{Key: "about", Title: "About this program:"},
}

// errHelpShown ends the parse of a command line that asks for help.
var errHelpShown = errors.New("help was shown")

// helpFlag is kong's help flag without the exit of the process.
type helpFlag bool

// BeforeReset is called where the flag stands.
func (helpFlag) BeforeReset(parsed *kong.Context) error {
	if err := parsed.PrintUsage(false); err != nil {
		return err
	}
	return errHelpShown
}

// run parses the arguments and runs their command.
func run(ctx context.Context, args []string, in invocation) error {
	parser, err := newParser(in)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	switch {
	case errors.Is(err, errHelpShown):
		return nil
	case err != nil:
		return usage(err)
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return refusedBy(parsed.Run(in, cli.Env{Stdin: in.stdin, Stdout: in.stdout, Stderr: in.stderr, Now: in.now}))
}

func newParser(in invocation) (*kong.Kong, error) {
	return kong.New(&commands{},
		kong.Name("flowgate"),
		kong.Description("Durable workflows that wait for the outside world. Every flag that shows a name in capitals "+
			"may be set by that environment variable instead; the flag wins, and an empty variable counts as absent."),
		kong.NoDefaultHelp(), kong.Writers(in.stdout, in.stderr),
		// kong's own tag for the environment reads that of the process and repeats values in its errors.
		kong.Resolvers(fromEnvironment(in.getenv)), kong.ValueFormatter(helpWithSetting),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.ExplicitGroups(groups), kong.Help(printHelp),
	)
}

// usage words an error of the command line. An argument that nobody expected may be a secret that slipped out of its
// flag, so it is not repeated.
func usage(err error) error {
	if text := err.Error(); !strings.HasPrefix(text, "unexpected argument") {
		return &UsageError{text: text}
	}
	return &UsageError{text: "there is an argument that the command does not take"}
}

// settingTag names the environment variable of a flag.
const settingTag = "setting"

// fromEnvironment gives flags that are not set the value of their environment variable.
func fromEnvironment(getenv func(string) string) kong.ResolverFunc {
	return func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get(settingTag)
		if name == "" {
			return nil, nil
		}
		if value := getenv(name); value != "" {
			return value, nil
		}
		return nil, nil
	}
}

// helpWithSetting is the help of a flag with the name of its variable.
func helpWithSetting(value *kong.Value) string {
	if name := value.Tag.Get(settingTag); name != "" {
		return value.Help + " " + name
	}
	return value.Help
}

// flagOf is the flag of a setting: the same words in the other spelling.
func flagOf(setting string) string {
	return "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(setting, "FLOWGATE_"), "_", "-"))
}
