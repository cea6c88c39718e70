package remote

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// Load says what a service is loaded with. Its defaults fit a workflow that flowgate dev registers.
type Load struct {
	Workflow string
	Signals  string // names, separated by commas; each run gets each of them once
	Payload  string // file; empty: of the default workflow
	Input    string // file; empty: no input
	Clients  int
	Runs     int
	Foreign  bool

	address        string
	payload, input []byte
}

const (
	defaultWorkflow = "billing.invoice-approval"
	defaultSignal   = "invoice.approved"
	defaultPayload  = `{"reviewer":"bench"}`
)

// maxRuns and maxClients bound what a service is asked to take.
const (
	maxRuns    = 100_000
	maxClients = 512
)

// Flags adds the flags to a set.
func (l *Load) Flags(flags *flag.FlagSet) {
	flags.StringVar(&l.Workflow, "workflow", defaultWorkflow, "with -url: the workflow to start")
	flags.StringVar(&l.Signals, "signal", defaultSignal, "with -url: the signals after which a run ends, separated by commas")
	flags.StringVar(&l.Payload, "payload", "", "with -url: file with the JSON of each signal (default "+defaultPayload+")")
	flags.StringVar(&l.Input, "input", "", "with -url: file with the JSON input of each run (default none)")
	flags.IntVar(&l.Clients, "clients", 64, "with -url: clients at once, 1 to 512")
	flags.IntVar(&l.Runs, "runs", 2000, "with -url: runs for each figure, 1 to 100,000")
	flags.BoolVar(&l.Foreign, "foreign", false, "with -url: load a host that is not this machine")
}

// Check reads the files and checks the rest, the URL included.
func (l *Load) Check(service string) (err error) {
	u, err := url.Parse(service)
	if err != nil || u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
		return errors.New("-url: must be http://host:port")
	}
	if l.address = u.Host; u.Port() == "" {
		l.address = net.JoinHostPort(u.Hostname(), "80")
	}
	if !l.Foreign && !loopback(u.Hostname()) {
		return fmt.Errorf("-url: %s is not this machine; to load it all the same, say -foreign", u.Hostname())
	}
	if l.Runs < 1 || l.Runs > maxRuns || l.Clients < 1 || l.Clients > maxClients {
		return fmt.Errorf("-runs must be 1 to %d, -clients 1 to %d", maxRuns, maxClients)
	}
	if l.Workflow == "" || len(l.names()) == 0 {
		return errors.New("-workflow and -signal: must not be empty")
	}
	if l.payload, err = readJSON("-payload", l.Payload, defaultPayload); err != nil {
		return err
	}
	l.input, err = readJSON("-input", l.Input, "")
	return err
}

func (l *Load) names() (names []string) {
	for name := range strings.SplitSeq(l.Signals, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func readJSON(name, file, otherwise string) ([]byte, error) {
	if file == "" {
		return []byte(otherwise), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("%s: %s is not JSON", name, file)
	}
	return text, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
