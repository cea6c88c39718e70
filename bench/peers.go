package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flowgate-go/flowgate/bench/internal/measure"
	"github.com/flowgate-go/flowgate/bench/internal/report"
)

// peerRuns is how many runs each peer gets: they are an order of magnitude slower, so that less is as exact.
const (
	peerRuns      = 2000
	peerRunsQuick = 400
)

// peers is the program of bench/peers, compiled.
type peers struct {
	program, dir string
	runs         int
	jobs         string // of theirs, with commas between them; all when empty
}

// peerJobs are the jobs of theirs that stand beside what is measured of this engine: one alone if only that is.
func (o options) peerJobs() string {
	signals, steps := o.only["burst"] || o.only["trips"], o.only["steps"]
	switch {
	case signals && !steps:
		return "signal"
	case steps && !signals:
		return "steps"
	}
	return ""
}

// buildPeers compiles the module of the peers, which has dependencies of its own, into a folder.
func buildPeers(ctx context.Context, into string, runs int, jobs string) (*peers, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	p := &peers{
		runs: runs, jobs: jobs, program: filepath.Join(into, "peers"), dir: filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "bench", "peers"),
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.program, ".") //nolint:gosec // in a folder of ours
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s: %w: %s", p.dir, err, bytes.TrimSpace(out))
	}
	return p, nil
}

// measure runs the peers on a fresh database of the same server and takes their figures over.
func (p *peers) measure(ctx context.Context, b *measure.Bench) error {
	if err := b.Server.Settle(ctx); err != nil {
		return err
	}
	db, err := b.Server.Empty(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.program, //nolint:gosec // compiled above
		"-database", db.URL, "-runs", strconv.Itoa(p.runs), "-jobs", p.jobs, "-json")
	cmd.Dir, cmd.Stderr = p.dir, os.Stderr
	out, err := cmd.Output() // also when a peer failed
	if err != nil && len(out) == 0 {
		return fmt.Errorf("%s: %w", p.program, err)
	}
	return errors.Join(err, takePeers(out, b.Figures))
}

// takePeers reads {"peers":[{"name":…,"version":…,figures}]}.
func takePeers(out []byte, figures *report.Figures) error {
	var said struct {
		Peers []map[string]any `json:"peers"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return fmt.Errorf("the output of the peers: %w", err)
	}
	best := map[string]float64{} // of the rates that have a best peer
	for _, peer := range said.Peers {
		name, ok := peer["name"].(string)
		if !ok || name == "" || strings.Contains(name, ".") {
			return fmt.Errorf("a peer has the name %v", peer["name"])
		}
		for field, value := range peer {
			addPeer(figures, "peers."+name+"."+field, value)
		}
		figures.Note("%s %s: %s", name, text(peer, "version"), text(peer, "note"))
		if failed := text(peer, "error"); failed != "" {
			figures.LeaveOut(name, failed)
		}
		for figure, as := range bestOf {
			if speed, ok := number(peer, strings.Split(figure, ".")); ok && speed > best[as] {
				best[as] = speed
				figures.State(as, name)
			}
		}
	}
	if len(best) == 0 {
		return fmt.Errorf("none of %d peers has a rate", len(said.Peers))
	}
	for as, speed := range best {
		figures.Add(as+"_per_s", speed)
	}
	return nil
}

// bestOf says as what the greatest of a figure among the peers is told.
var bestOf = map[string]string{"burst_runs_per_s": "best_peer", "three_steps.per_s.64": "best_peer_three_steps"}

// number looks into nested objects.
func number(object map[string]any, path []string) (float64, bool) {
	for _, name := range path[:len(path)-1] {
		object, _ = object[name].(map[string]any)
	}
	v, ok := object[path[len(path)-1]].(float64)
	return v, ok
}

func text(peer map[string]any, field string) string {
	s, _ := peer[field].(string)
	return s
}

// addPeer takes numbers as figures, texts as facts, and what objects hold.
func addPeer(figures *report.Figures, name string, value any) {
	switch value := value.(type) {
	case float64:
		figures.Add(name, value)
	case string:
		figures.State(name, value)
	case map[string]any:
		for field, inner := range value {
			addPeer(figures, name+"."+field, inner)
		}
	}
}
