//go:build linux || darwin

package pgembed

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unpack checks a tarball against npm's integrity string, then extracts its regular files into dir and nowhere else.
func unpack(path, dir, integrity string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != integrity {
		return fmt.Errorf("the archive's hash is %s, not %s", got, integrity)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // refuses to leave dir
	if err != nil {
		return err
	}
	defer root.Close()
	return extract(tar.NewReader(z), root)
}

func extract(files *tar.Reader, root *os.Root) error {
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		if err := write(root, head.Name, fs.FileMode(head.Mode)&0o755|0o444, files); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, mode fs.FileMode, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
