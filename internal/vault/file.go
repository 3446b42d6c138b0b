package vault

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxKeyText is far above any spelling of a key.
const maxKeyText = 4096

// keyFromFile reads the key in path, and makes it first if it is missing and
// create is set.
func keyFromFile(path string, create bool) (Key, error) {
	key, err := readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if !create {
		return Key{}, fmt.Errorf("%w; restore the file, or, if there never was one, make it: (umask 077; openssl rand -base64 32 > %s)", err, path)
	}
	if err := createKeyFile(path); err != nil {
		return Key{}, fmt.Errorf("make key file %s: %w", path, err)
	}
	return readKeyFile(path) // not the key just made: another server may have been first
}

// readKeyFile follows links: mounted secrets are links. What counts is the mode
// of the file that was opened.
func readKeyFile(path string) (Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Key{}, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return Key{}, fmt.Errorf("key file %s is not a regular file; name the file that holds the key", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Key{}, err
	}
	defer func() { _ = f.Close() }() // only read
	if info, err = f.Stat(); err != nil {
		return Key{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Key{}, fmt.Errorf("key file %s is open to others (mode %04o); run: chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyText+1))
	if err != nil {
		return Key{}, err
	}
	defer clear(text)
	key, err := ParseKey(string(text))
	if err == nil && len(text) > maxKeyText {
		err = errKeyText // more follows that was not read
	}
	if err != nil {
		return Key{}, fmt.Errorf("key file %s: %w; restore it from a backup, or delete it if no secret was stored yet", path, err)
	}
	return key, nil
}

// createKeyFile puts a new random key at path unless something is there by then.
// The name appears with its full content or not at all, and is on the disk
// before any value can be sealed: a key lost after that would lose the values.
func createKeyFile(path string) error {
	dir := filepath.Dir(path)
	if err := makeFolder(dir); err != nil {
		return err
	}
	temp, err := writeTempKey(dir, filepath.Base(path))
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }() // a second name of the key, or a key nobody uses
	// Unlike a rename, a link never replaces the key of a server that was faster.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; make the file by hand: (umask 077; openssl rand -base64 32 > %s)", err, path)
	}
	return syncFolder(dir)
}

// writeTempKey writes a new key to a file of its own in dir, to the disk.
func writeTempKey(dir, base string) (name string, err error) {
	f, err := os.CreateTemp(dir, "."+base+".*.tmp") // mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	raw := make([]byte, keyBytes)
	defer clear(raw)
	_, _ = rand.Read(raw) // never fails: without randomness the program ends
	if _, err := f.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n"); err != nil {
		return "", err
	}
	return f.Name(), f.Sync()
}

// makeFolder is os.MkdirAll that also puts the new names on the disk.
func makeFolder(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return err
	}
	if err := makeFolder(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// syncFolder puts the names in dir on the disk. File systems that cannot do that
// for a folder say so with EINVAL; there is nothing more to be done on them.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
