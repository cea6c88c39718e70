//go:build linux || darwin

package pgembed

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAccountEntersByTheBitsThatApplyToIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	uid, gid := uint32(os.Getuid()), uint32(os.Getgid())
	for _, tt := range []struct {
		who  string
		acct account
		mode fs.FileMode
		want bool
	}{
		{"owner", account{uid: uid, gid: gid}, 0o700, true},
		{"owner", account{uid: uid, gid: gid}, 0o077, false},
		{"group", account{uid: uid + 1, gid: gid}, 0o070, true},
		{"group", account{uid: uid + 1, gid: gid}, 0o707, false},
		{"others", account{uid: uid + 1, gid: gid + 1}, 0o701, true},
		{"others", account{uid: uid + 1, gid: gid + 1}, 0o776, false},
	} {
		if err := os.Chmod(dir, tt.mode); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.acct.mayEnter(st); got != tt.want {
			t.Errorf("%s may enter a folder of mode %o: %v, want %v", tt.who, tt.mode, got, tt.want)
		}
	}
}
