//go:build linux || darwin

package pgembed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// create makes the data directory under another name and renames it when it is complete, so that a killed initdb never
// looks finished.
func (f folder) create(ctx context.Context, cfg Config, bin string, acct *account) error {
	if err := os.RemoveAll(f.fresh()); err != nil {
		return err
	}
	if err := os.Mkdir(f.fresh(), 0o700); err != nil {
		return err
	}
	var err error
	if cfg.Template != "" {
		err = f.copyTemplate(cfg.Template, acct)
	} else {
		err = f.initdb(ctx, bin, acct, cfg.Durable)
	}
	if err != nil {
		return err
	}
	// only an empty folder gives way: anything else there is not ours to delete
	if err := os.Remove(f.data()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pgembed: %s exists and is no PostgreSQL data directory: %w", f.data(), err)
	}
	return os.Rename(f.fresh(), f.data())
}

func (f folder) copyTemplate(template string, acct *account) error {
	if err := os.CopyFS(f.fresh(), os.DirFS(template)); err != nil {
		return fmt.Errorf("pgembed: Template: %w", err)
	}
	return acct.ownTree(f.fresh())
}

func (f folder) initdb(ctx context.Context, bin string, acct *account, durable bool) error {
	if err := acct.own(f.fresh()); err != nil {
		return err
	}
	args := []string{
		"-D", f.fresh(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions",
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	var out bytes.Buffer
	cmd := command(ctx, f, acct, filepath.Join(bin, "initdb"), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = stopFast
	setPdeathsig(cmd.SysProcAttr, syscall.SIGTERM) // on which initdb ends its own children
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	<-p.done
	if p.err != nil {
		return fmt.Errorf("pgembed: initdb: %w: %s", p.err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// dataMajor is the major version that made the data directory, or 0 when there is none yet.
func (f folder) dataMajor() (int, error) {
	b, err := os.ReadFile(filepath.Join(f.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// prepare makes the data directory on a first start, and refuses one that another major version made.
func (f folder) prepare(ctx context.Context, cfg Config, bin string, acct *account) error {
	have, err := f.dataMajor()
	if err != nil {
		return err
	}
	if have == 0 {
		return f.create(ctx, cfg, bin, acct)
	}
	major, err := majorVersion(ctx, bin)
	if err != nil {
		return err
	}
	if major != have {
		return fmt.Errorf("pgembed: %s was made by PostgreSQL %d, but %s holds version %d: "+
			"use binaries of version %d, or another Dir", f.data(), have, bin, major, have)
	}
	return nil
}
