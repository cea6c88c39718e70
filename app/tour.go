package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// approval is the example workflow that the tour shows.
const approval = "approval.hook"

// printTour says where everything is and what to try next, as lines to paste into a shell.
func printTour(w io.Writer, i *Instance, registrations []Registration) error {
	var out strings.Builder
	fmt.Fprintf(&out, "\nFlowgate runs: callbacks and API at %s, readiness at %s/readyz\n", i.URL(), i.AdminURL())
	if len(i.kept) > 0 {
		fmt.Fprintf(&out, "What survives a restart is in %s: %s\n", i.Dir(), strings.Join(i.kept, " and "))
	}
	out.WriteString("Ctrl-C stops it.\n")
	fmt.Fprintf(&out, "\nThe workflows of this program:\n  curl -sS %s/v1/workflows\n", i.URL())
	if slices.ContainsFunc(registrations, func(r Registration) bool { return r.Spec.Name == approval }) {
		fmt.Fprintf(&out, approvalTour, i.URL())
	}
	fmt.Fprintf(&out, "\nThe same with commands, in another terminal: export FLOWGATE_URL=%s, and see flowgate --help\n", i.URL())
	_, err := io.WriteString(w, out.String()+"\n")
	return err
}

// approvalTour asks for an approval and gives it.
const approvalTour = `
Ask for an approval, take its link, approve, and see how the run ended:
  curl -sS %[1]s/v1/runs -H 'Content-Type: application/json' \
    -d '{"workflow":"approval.hook","run_id":"trip-1","input":{"subject":"A trip to Lisbon"}}'
  LINK=$(curl -sSf --retry 5 --retry-all-errors -X POST %[1]s/v1/runs/trip-1/hooks/approval/token | sed 's/.*"url":"\([^"]*\)".*/\1/')
  curl -sS "$LINK" -H 'Content-Type: application/json' -d '{"approved":true,"reviewer":"ada"}'
  curl -sS '%[1]s/v1/runs/trip-1?wait=5s'
`
