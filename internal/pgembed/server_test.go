//go:build linux || darwin

package pgembed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRestartKeepsTheData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first := start(t, Config{Dir: dir, Durable: true})
	if first.Attached() || first.Dir() != dir {
		t.Fatalf("attached %v in %s, want a server started in %s", first.Attached(), first.Dir(), dir)
	}
	query(t, first.URL(), "create table kept as select 42 as n")
	for range 2 { // stopping again does nothing
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(folder(dir).pidfile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("postmaster.pid after Stop: %v, want none", err)
	}
	second := start(t, Config{Dir: dir, Durable: true})
	if got := query(t, second.URL(), "select n::text from kept"); got != "42" {
		t.Errorf("kept %q, want 42", got)
	}
	if second.URL() != first.URL() {
		t.Errorf("URL changed from %s to %s", first.URL(), second.URL())
	}
}

func TestKillLosesNothingDurable(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, Config{Dir: dir, Durable: true})
	query(t, s.URL(), "create table kept as select 7 as n")
	s.Kill()
	select {
	case <-s.Done():
	default:
		t.Error("Kill returned before the end of the server")
	}
	s = start(t, Config{Dir: dir, Durable: true})
	if got := query(t, s.URL(), "select n::text from kept"); got != "7" {
		t.Errorf("kept %q, want 7", got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		durable bool
		want    map[string]string
	}{
		{"durable", true, map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}},
		{"throw-away", false, map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{Dir: newDir(t), Durable: tt.durable, Params: []string{"max_connections=33"}})
			tt.want["listen_addresses"] = ""
			tt.want["max_connections"] = "33"
			for name, want := range tt.want {
				if got := query(t, s.URL(), "show "+name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

// The socket trusts everybody who reaches it, so its folder must be closed.
func TestSocketIsPrivate(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: newDir(t)})
	st, err := os.Stat(folder(s.Dir()).sock())
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o700 {
		t.Errorf("socket folder has mode %o, want 700", st.Mode().Perm())
	}
	if owner := st.Sys().(*syscall.Stat_t).Uid; owner == 0 {
		t.Error("the socket folder belongs to root: so would the server")
	}
}

func TestServerHasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"kernel": {}, "guarded": {guarded: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Dir = newDir(t)
			start(t, cfg)
			group, err := syscall.Getpgid(folder(cfg.Dir).pid())
			if err != nil {
				t.Fatal(err)
			}
			if group == syscall.Getpgrp() {
				t.Error("the server is in this process's group: Ctrl-C would reach it")
			}
		})
	}
}

func TestGuardPassesSignals(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Server) error{
		"stop": (*Server).Stop,
		"kill": func(s *Server) error { s.Kill(); return nil },
		"crash": func(s *Server) error { // postgres ends by itself: the shell must not stay
			return syscall.Kill(s.folder.pid(), syscall.SIGQUIT)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{Dir: newDir(t), guarded: true})
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.Done():
			case <-time.After(patience):
				t.Fatal("the guard lives on")
			}
			gone(t, s.Dir())
		})
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	owner := start(t, Config{Dir: dir})
	query(t, owner.URL(), "create table shared as select 1 as n")
	guest := start(t, Config{Dir: dir})
	if !guest.Attached() || guest.Done() != nil {
		t.Fatal("the second Start did not attach")
	}
	guest.Kill()
	if err := guest.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, owner.URL(), "select n::text from shared"); got != "1" {
		t.Errorf("after the guest's Stop the owner reads %q, want 1", got)
	}
}

// A Start that finds the server shutting down waits and starts its own.
func TestStartDuringShutdown(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first := start(t, Config{Dir: dir})
	stopped := make(chan error, 1)
	first.proc.signal(syscall.SIGINT)
	go func() { stopped <- first.Stop() }()
	second := start(t, Config{Dir: dir})
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if second.Attached() { // it may have answered one last probe
		second = start(t, Config{Dir: dir})
	}
	query(t, second.URL(), "select 1")
}

func TestTemplateIsCopied(t *testing.T) {
	t.Parallel()
	first := start(t, Config{Dir: newDir(t)})
	query(t, first.URL(), "create table model as select 5 as n")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	s := start(t, Config{Dir: newDir(t), Template: first.folder.data()})
	if got := query(t, s.URL(), "select n::text from model"); got != "5" {
		t.Errorf("the copy holds %q, want 5", got)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	base := newDir(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	theirs := filepath.Join(base, "theirs", "data", "photo.jpg")
	write(theirs, "not ours")
	write(filepath.Join(base, "old", "data", "PG_VERSION"), "9\n")
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no folder", Config{}, "Dir is empty"},
		{"long path", Config{Dir: filepath.Join(base, strings.Repeat("long", 30))}, "the limit is 100: choose a shorter Dir"},
		{"no binaries", Config{Dir: base, BinDir: base}, base + " (no program postgres)"},
		{"data of another version", Config{Dir: filepath.Join(base, "old")}, "was made by PostgreSQL 9"},
		{"folder of somebody else", Config{Dir: filepath.Join(base, "theirs")}, "is no PostgreSQL data directory"},
		{"unknown setting", Config{Dir: filepath.Join(base, "bad"), Params: []string{"nonsense=1"}}, `"nonsense"`},
		{"no template", Config{Dir: filepath.Join(base, "tpl"), Template: filepath.Join(base, "none")}, "Template: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(t.Context(), tt.cfg)
			if err == nil {
				s.Kill()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q does not say %q", err, tt.want)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(theirs); err != nil {
			t.Errorf("a file of somebody else is gone: %v", err)
		}
	})
}

func TestClosedFolderIsRefusedForRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's server runs under another account")
	}
	closed := filepath.Join(newDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{Dir: filepath.Join(closed, "db")})
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("error %v, want one of permission", err)
	}
	for _, want := range []string{closed + " is closed to the account", "use a folder such as /var/lib/flowgate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestCancelledStartLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if err := start(t, Config{Dir: dir}).Stop(); err != nil { // so that only postgres is left to start
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Config{Dir: dir}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	} else if err == nil {
		t.Fatal("started under a cancelled context")
	}
	gone(t, dir)
}
