//go:build linux || darwin

package pgembed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the unprivileged account the server runs under when this process is root, which initdb and postgres refuse.
// A nil account means this process's own.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged returns nil for an ordinary user, and for root an account of the passwd file: initdb looks its name up.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("pgembed: PostgreSQL refuses to run as root, and this machine has no account postgres or nobody")
}

// credential is what a child process needs to become the account.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own gives one file or folder to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// ownTree gives a data directory to the account, with the modes PostgreSQL insists on.
func (a *account) ownTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return a.own(path)
	})
}

// reach checks that the account can walk down to path: root's home is closed, and PostgreSQL would only say
// "permission denied".
func (a *account) reach(path string) error {
	if a == nil {
		return nil
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.mayEnter(st) {
			return fmt.Errorf("pgembed: %s is closed to the account %s, under which PostgreSQL runs because this process is root; "+
				"use a folder such as /var/lib/flowgate instead of %s: %w", dir, a.name, path, fs.ErrPermission)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a *account) mayEnter(st fs.FileInfo) bool {
	bit := fs.FileMode(0o001)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		switch {
		case sys.Uid == a.uid:
			bit = 0o100
		case sys.Gid == a.gid:
			bit = 0o010
		}
	}
	return st.Mode()&bit != 0
}
