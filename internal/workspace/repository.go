package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// history are the parts of a repository that come with a clone: its objects, and the
// names of them. The rest is settings.
var history = []string{"objects", "refs", "packed-refs", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "logs", "shallow"}

// FreshDir is where a clone without files may be put for TakeHistory, on the host.
func (w *Workspace) FreshDir(ctx context.Context) (string, error) {
	if err := errors.Join(w.ownDir(PrivateDir), w.remove(ctx, freshDir)); err != nil {
		return "", fmt.Errorf("make room for clone: %w", err)
	}
	return path.Join(w.Dir(), freshDir), nil
}

const freshDir = PrivateDir + "/fresh"

// TakeHistory gives the repository in a folder the history of the clone in FreshDir: what
// a host has taken back is gone, and nothing of the old history is read or trusted. Its
// settings, its index and its files stay as they are. Nothing may run in the workspace.
func (w *Workspace) TakeHistory(ctx context.Context, folder string) error {
	return w.take(ctx, folder, history)
}

// TakeNewer is TakeHistory for a clone that has newer objects alone: the old ones stay.
func (w *Workspace) TakeNewer(ctx context.Context, folder string) error {
	packs, err := readNames(w.root, path.Join(freshDir, ".git/objects/pack"))
	if err != nil {
		return fmt.Errorf("take history: %w", err)
	}
	parts := slices.Clone(history[1:]) // without all objects
	for _, name := range packs {
		parts = append(parts, path.Join("objects/pack", name))
	}
	return w.take(ctx, folder, parts)
}

// Whole says that the repository in a folder can have all objects that its branches lead to.
func (w *Workspace) Whole(folder string) bool {
	const most = 100 // more pack files make git slow: then the whole repository comes again
	packs := path.Join(folder, ".git/objects/pack")
	if info, err := w.root.Lstat(packs); err != nil || !info.IsDir() {
		return false
	}
	if names, err := readNames(w.root, packs); err != nil || len(names) > most {
		return false
	}
	for _, name := range []string{"shallow", "objects/info/alternates", "info/grafts"} {
		if _, err := w.root.Lstat(path.Join(folder, ".git", name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// take replaces parts of a repository by those of the clone in FreshDir.
func (w *Workspace) take(ctx context.Context, folder string, parts []string) error {
	old := path.Join(folder, ".git")
	for _, dir := range []string{folder, old} {
		if info, err := w.root.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("take history: %q is not a folder any more", dir), err)
		}
	}
	for _, name := range parts {
		if err := w.remove(ctx, path.Join(old, name)); err != nil {
			return fmt.Errorf("take history: %w", err)
		}
		err := w.root.Rename(path.Join(freshDir, ".git", name), path.Join(old, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take history: %w", err)
		}
	}
	if err := w.remove(ctx, freshDir); err != nil {
		return fmt.Errorf("take history: %w", err)
	}
	return nil
}

// Plain says that the repository in a folder has only the branch that a clone has, at the
// commit, checked out: nobody has made others, or stashed anything.
func (w *Workspace) Plain(folder, commit string) bool {
	dir := path.Join(folder, ".git")
	if info, err := w.root.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	head, err := w.readSmall(path.Join(dir, "HEAD"))
	branch, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	const longest = 1 << 10 // each part of it is a folder to look into
	if err != nil || !ok || len(branch) > longest {
		return false
	}
	at, err := w.readSmall(path.Join(dir, "refs/heads", branch))
	if err != nil || strings.TrimSpace(at) != commit {
		return false
	}
	packed, err := w.readSmall(path.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if strings.Contains(packed, " refs/heads/") || strings.Contains(packed, " refs/stash") {
		return false
	}
	names, err := readNames(w.root, path.Join(dir, "refs"))
	foreign := func(name string) bool { return name != "heads" && name != "remotes" && name != "tags" }
	if err != nil || slices.ContainsFunc(names, foreign) {
		return false
	}
	if names, err := readNames(w.root, path.Join(dir, "refs/remotes")); err != nil && !errors.Is(err, fs.ErrNotExist) || len(names) > 1 {
		return false // someone else's as well
	}
	// A branch may be in folders; then each of them has one name.
	for i, part := range strings.Split(branch, "/") {
		names, err := readNames(w.root, path.Join(append([]string{dir, "refs/heads"}, strings.Split(branch, "/")[:i]...)...))
		if err != nil || len(names) != 1 || names[0] != part {
			return false
		}
	}
	return true
}

// readSmall reads a regular file of at most a few megabytes.
func (w *Workspace) readSmall(name string) (string, error) {
	const most = 16 << 20
	info, err := w.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", errors.Join(err, errors.New("not a small file"))
	}
	f, err := w.root.OpenFile(name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}
