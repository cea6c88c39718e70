package cli

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCommand prints a script that completes commands and flags in a shell.
type CompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run implements the command.
func (c CompletionCommand) Run(env Env, parsed *kong.Context) error {
	var out strings.Builder
	places := placesOf(parsed.Model.Node)
	switch c.Shell {
	case "fish":
		fishScript(&out, parsed.Model.Name, places)
	case "zsh":
		fmt.Fprintf(&out, "#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", parsed.Model.Name)
		fallthrough
	default:
		bashScript(&out, parsed.Model.Name, places)
	}
	_, err := io.WriteString(env.Stdout, out.String())
	return err
}

// place is a command with what may follow it.
type place struct {
	path     string // the words that lead there, such as "run start"; empty for the program itself
	children []word
	flags    []word
}

type word struct{ text, help string }

// placesOf walks the command line's own model, so that nothing can be missing.
func placesOf(root *kong.Node) []place {
	var all []place
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		p := place{path: path}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				p.flags = append(p.flags, word{"--" + f.Name, f.Help})
			}
		}
		for _, child := range n.Children {
			if child.Hidden {
				continue
			}
			p.children = append(p.children, word{child.Name, child.Help})
			walk(child, strings.TrimPrefix(path+" "+child.Name, " "))
		}
		for _, arg := range n.Positional {
			for _, value := range arg.EnumSlice() {
				p.children = append(p.children, word{value, ""})
			}
		}
		sort.Slice(p.flags, func(i, j int) bool { return p.flags[i].text < p.flags[j].text })
		all = append(all, p)
	}
	walk(root, "")
	return all
}

// bashScript completes by the words before the cursor that are commands; flags and what else stands there are passed over.
func bashScript(out *strings.Builder, program string, places []place) {
	fmt.Fprintf(out, "_%[1]s() {\n  local cur=\"${COMP_WORDS[COMP_CWORD]}\" at=\"\" word words i\n", program)
	out.WriteString("  for ((i = 1; i < COMP_CWORD; i++)); do\n    word=\"${COMP_WORDS[i]}\"\n    case \"${at:+$at }$word\" in\n")
	var known []string
	for _, p := range places {
		if p.path != "" {
			known = append(known, `"`+p.path+`"`)
		}
	}
	fmt.Fprintf(out, "      %s) at=\"${at:+$at }$word\" ;;\n    esac\n  done\n  case \"$at\" in\n", strings.Join(known, " | "))
	for _, p := range places {
		fmt.Fprintf(out, "    \"%s\") words=\"%s\" ;;\n", p.path, strings.Join(texts(append(p.children, p.flags...)), " "))
	}
	fmt.Fprintf(out, "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _%[1]s %[1]s\n", program)
}

func fishScript(out *strings.Builder, program string, places []place) {
	var known []string
	for _, p := range places {
		if p.path != "" {
			known = append(known, fishQuote(p.path))
		}
	}
	fmt.Fprintf(out, "function __%[1]s_at\n  set -l at\n  for word in (commandline -opc)[2..-1]\n", program)
	fmt.Fprintf(out, "    if contains -- \"$at $word\" %[1]s; or contains -- \"$at$word\" %[1]s\n", strings.Join(known, " "))
	out.WriteString("      set at (string trim -- \"$at $word\")\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n")
	for _, p := range places {
		when := fmt.Sprintf("complete -c %s -n %s", program, fishQuote("__"+program+"_at "+fishQuote(p.path)))
		for _, c := range p.children {
			fmt.Fprintf(out, "%s -f -a %s -d %s\n", when, c.text, fishQuote(c.help))
		}
		for _, f := range p.flags {
			fmt.Fprintf(out, "%s -l %s -d %s\n", when, strings.TrimPrefix(f.text, "--"), fishQuote(f.help))
		}
	}
}

func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func texts(words []word) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.text
	}
	return all
}
