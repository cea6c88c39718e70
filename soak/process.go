package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
)

// process is one life of a process of the cluster.
type process struct {
	cmd     *exec.Cmd
	log     string // path
	fixed   bool   // of the fixed deployment
	url     atomic.Pointer[string]
	killed  atomic.Bool // by us
	running chan struct{}
	ended   chan struct{}
	err     error // how it ended; read it after ended
}

// launch starts a command of this program. What it logs goes to a file of its own.
func launch(ctx context.Context, log string, env []string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{
		cmd: exec.CommandContext(ctx, self, args...), log: log,
		running: make(chan struct{}), ended: make(chan struct{}),
	}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + filepath.Dir(log)}, env...)
	if _, err := p.cmd.StdinPipe(); err != nil { // open as long as we live
		return nil, err
	}
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = io.Discard
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	go p.watch(said, file)
	return p, nil
}

// watch keeps what the process says, finds where it listens, and sees it end.
func (p *process) watch(said io.Reader, file *os.File) {
	defer close(p.ended)
	defer file.Close()
	lines := bufio.NewReaderSize(said, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if _, failed := file.Write(line); failed != nil {
			fmt.Fprintln(os.Stderr, "soak: log of a process:", failed)
		}
		if p.url.Load() == nil {
			p.listen(line)
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
}

// listen takes the address from the line that says that the process runs.
func (p *process) listen(line []byte) {
	var said struct {
		Message string `json:"message"`
		Listen  string `json:"listen"`
	}
	if json.Unmarshal(line, &said) != nil || said.Message != "running" {
		return
	}
	url := "http://" + said.Listen
	p.url.Store(&url)
	close(p.running)
}

// lives says whether the process has said that it runs and has not ended.
func (p *process) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return p.url.Load() != nil && !p.killed.Load()
	}
}

// kill ends the process with SIGKILL, as a power cut would, and waits for its end.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended by itself, which ended tells
	<-p.ended
}
