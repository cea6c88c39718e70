package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// firstTour stands under the help of the program itself.
const firstTour = `
A first tour, while "flowgate dev" runs in another terminal:
  flowgate workflow list
  flowgate run start approval.hook --run trip-1 -d '{"subject":"A trip to Lisbon"}'
  flowgate hook list
  flowgate hook resume trip-1 approval -d '{"approved":true,"reviewer":"ada"}'
  flowgate run get trip-1 --wait

A run that does not go on, and what it lacks:
  flowgate run list --status running
  flowgate run explain RUN
  flowgate workflow interface NAME
`

// printHelp is kong's help, with the tour where nobody asked for a certain command.
func printHelp(options kong.HelpOptions, parsed *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, parsed); err != nil {
		return err
	}
	if parsed.Selected() != nil {
		return nil
	}
	_, err := io.WriteString(parsed.Stdout, firstTour)
	return err
}

// usageCommand shows what --help shows.
type usageCommand struct{}

// Run implements the command.
func (usageCommand) Run(parsed *kong.Context) error {
	top, err := kong.Trace(parsed.Kong, nil)
	if err != nil {
		return err
	}
	return top.PrintUsage(false)
}

// configCommand lists all settings.
type configCommand struct{}

// Run implements the command.
func (configCommand) Run(in invocation, parsed *kong.Context) error {
	return printSettings(in.stdout, parsed.Model.Node)
}

// settingHelp is one setting as help shows it.
type settingHelp struct {
	flag     *kong.Flag
	commands []string
}

// printSettings lists every setting once, with the commands that know it. It reads the command line's own model, so
// nothing can be missing.
func printSettings(w io.Writer, root *kong.Node) error {
	var order []string
	known := map[string]*settingHelp{}
	for _, leaf := range root.Leaves(true) {
		for _, flag := range leaf.Flags {
			name := flag.Tag.Get(settingTag)
			if name == "" {
				continue
			}
			if known[name] == nil {
				known[name] = &settingHelp{flag: flag}
				order = append(order, name)
			}
			known[name].commands = append(known[name].commands, strings.TrimPrefix(leaf.Path(), root.Name+" "))
		}
	}
	var out strings.Builder
	out.WriteString("Settings are environment variables or flags; the flag wins, and an empty variable counts as absent.\n")
	for _, name := range order {
		s := known[name]
		fmt.Fprintf(&out, "\n%s\n    --%s; of %s\n    %s\n", name, s.flag.Name, strings.Join(s.commands, ", "), s.flag.Help)
		fmt.Fprintf(&out, "    Default: %s\n", defaultOf(s.flag))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func defaultOf(flag *kong.Flag) string {
	if flag.HasDefault {
		return flag.Default
	}
	if text := flag.Tag.Get("otherwise"); text != "" {
		return text
	}
	return "none"
}
