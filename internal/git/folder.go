package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lineshaft/lineshaft"
)

// folderPrefix marks the state of a folder that has no git.
const folderPrefix = "dir-"

// findLocal finds a local repository, also when only name.git exists.
func (c *Client) findLocal(a address) (address, error) {
	if a.kind != kindLocal {
		return a, nil
	}
	for _, path := range []string{a.text, a.text + ".git"} {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			a.text = path
			return a, nil
		}
	}
	return a, notFound(nil, "there is no repository at %s; check the address", a.shown)
}

// isRepository says whether a folder is a repository, bare or with a working tree.
func isRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, part)); err != nil {
			return false
		}
	}
	return true
}

func (c *Client) folderTree(ctx context.Context, a address, state string, keep func(string, int64) bool) (map[string]string, error) {
	files := map[string]string{}
	left := c.cfg.MaxBytes
	digest, err := c.readFolder(ctx, a, func(path string, info fs.FileInfo, r io.Reader) error {
		if !keep(path, info.Size()) {
			return nil
		}
		if left -= info.Size(); left < 0 || len(files) >= maxFiles {
			return tooMuch(c.cfg.MaxBytes)
		}
		text, err := io.ReadAll(r)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if digest != state {
		return nil, lineshaft.Unavailable(nil, "%s was changed while it was read; try again", a.shown)
	}
	return files, nil
}

// reader is offered a file, which it need not read to its end.
type reader func(path string, info fs.FileInfo, r io.Reader) error

// readFolder goes through a folder and returns the digest of its files; it leaves out links
// and everything else that is not a file.
func (c *Client) readFolder(ctx context.Context, a address, each reader) (digest string, err error) {
	root, err := os.OpenRoot(a.text)
	if err != nil {
		return "", notFound(err, "%s cannot be opened; check that the server may read it", a.shown)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	sum := sha256.New()
	left, files := c.cfg.MaxFetch, 0
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if entry.IsDir() && path != "." && !plainPath(path) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || !plainPath(path) {
			return nil
		}
		if files++; files > maxEntries {
			return tooMuch(c.cfg.MaxFetch)
		}
		size, err := readFile(root, path, sum, each)
		if left -= size; left < 0 {
			return oversize(c.cfg.MaxFetch)
		}
		return err
	})
	if err != nil {
		return "", explain(ctx, a, nil, err)
	}
	return folderPrefix + hex.EncodeToString(sum.Sum(nil)), nil
}

func readFile(root *os.Root, path string, sum hash.Hash, each reader) (size int64, err error) {
	file, err := root.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	size = info.Size()
	executable := info.Mode()&0o100 != 0
	_, _ = fmt.Fprintf(sum, "%d %q %d %t\n", len(path), path, size, executable)
	text := io.TeeReader(io.LimitReader(file, size), sum)
	if each != nil {
		if err := each(path, info, text); err != nil {
			return size, err
		}
	}
	_, err = io.Copy(io.Discard, text)
	return size, err
}

const watchPoll = 250 * time.Millisecond

func oversize(limit int64) error {
	return &lineshaft.Error{
		Code:    lineshaft.CodePayloadTooLarge,
		Message: fmt.Sprintf("the repository has more than %d MiB; use a smaller one", limit>>20),
	}
}

// watch ends the context when a folder grows too large: git itself sets no limit.
func watch(ctx context.Context, dir string, limit int64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pause := watchPoll
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			if sizeOf(dir) > limit {
				cancel(oversize(limit))
			}
			pause = max(watchPoll, 20*time.Since(began)) // large folders take long to walk
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// sizeOf sums the files below a folder. Those that vanish meanwhile do not count.
func sizeOf(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
