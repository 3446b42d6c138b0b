package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// The names inside a workspace that are ours, relative to it. Of these, a snapshot
// has only the conversations.
const (
	// PrivateDir holds what the platform and the agent hand each other.
	PrivateDir = lineshaft.PrivateFolder
	// ArtifactsDir is where an agent leaves files to be kept ($LINESHAFT_ARTIFACTS).
	ArtifactsDir = PrivateDir + "/artifacts"
	// SessionWord is in the names of files in PrivateDir in which harnesses keep their
	// conversations.
	SessionWord = "session"
)

// Workspace is one run's folder, held by one execution. Its methods are not for
// concurrent use, except Dir and Kept. The sandbox gives the folder to the agent's
// user when it starts one; what is written later belongs to that user at once, for
// the agent may live on.
type Workspace struct {
	manager *Manager
	runID   string
	home    string
	limits  Limits
	root    *os.Root
	state   state
	layer   Layer // that it is on top of
	kept    bool
	adopted bool
}

// Dir is the folder on the host that the agent works in.
func (w *Workspace) Dir() string { return filepath.Join(w.home, "work") }

// Kept says that the folder was left by the execution before this one, or by the run
// that this one continues.
func (w *Workspace) Kept() bool { return w.kept }

// Adopted says that the folder was left by another run.
func (w *Workspace) Adopted() bool { return w.adopted }

// Prepare makes the folders that are ours. Anything that an agent has put in their
// place is removed.
func (w *Workspace) Prepare() error {
	for _, name := range []string{PrivateDir, ArtifactsDir} {
		if err := w.ownDir(name); err != nil {
			return fmt.Errorf("prepare workspace: %w", err)
		}
	}
	return nil
}

// Prepared says that the folder is ready for an agent, and so for a later execution.
func (w *Workspace) Prepared() error {
	w.state.Preparing = false
	if err := w.writeState(); err != nil {
		return fmt.Errorf("note that workspace is prepared: %w", err)
	}
	return nil
}

func (w *Workspace) ownDir(name string) error {
	if info, err := w.root.Lstat(name); err == nil && !info.IsDir() {
		if err := w.root.Remove(name); err != nil {
			return err
		}
	}
	err := w.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := openDir(w.root, name)
	if err != nil {
		return err
	}
	return errors.Join(w.give(f), f.Close())
}

// give hands what was made in the workspace to the workspace's owner. It takes an open
// file, which no link can lead elsewhere. Only root can do so, and only
// root must: otherwise there is one user.
func (w *Workspace) give(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := w.root.Stat(".")
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// Place puts a file of the given name at the top of the workspace, over any file
// of that name, never through a link. More than limit bytes is an error and leaves
// nothing behind.
func (w *Workspace) Place(ctx context.Context, name string, content io.Reader, limit int64) error {
	if name == PrivateDir || name == "." || !filepath.IsLocal(name) || path.Base(name) != name {
		return fmt.Errorf("place file: %w", lineshaft.Invalid("attachments", "%q cannot be the name of a file in the workspace", name))
	}
	if err := w.put(ctx, name, content, limit); err != nil {
		return fmt.Errorf("place file %q: %w", name, err)
	}
	return nil
}

// WritePrivate puts a file into PrivateDir, over any file of that name, and returns
// its path on the host.
func (w *Workspace) WritePrivate(ctx context.Context, name string, content io.Reader) (string, error) {
	if err := w.ownDir(PrivateDir); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	full := path.Join(PrivateDir, path.Base(name))
	if err := w.put(ctx, full, content, lineshaft.MaxComposedBytes+1024); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return filepath.Join(w.Dir(), full), nil
}

// ReadPrivate returns what WritePrivate wrote, or what the agent made of it; a missing
// file is fs.ErrNotExist.
func (w *Workspace) ReadPrivate(name string) (string, error) {
	// A pipe that the agent put in its place must not block.
	f, err := w.root.OpenFile(path.Join(PrivateDir, path.Base(name)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("read %s: not a file: %w", name, errors.Join(err, fs.ErrNotExist))
	}
	text, err := io.ReadAll(io.LimitReader(f, lineshaft.MaxComposedBytes))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(text), nil
}

// PlaceNew puts a file at a path below the workspace, with the folders on the way,
// unless something exists there already.
func (w *Workspace) PlaceNew(ctx context.Context, name string, content io.Reader, limit int64) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("place %q: not inside the workspace", name)
	}
	if _, err := w.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("place %q: %w", name, err)
	}
	if err := w.put(ctx, name, content, limit); err != nil {
		return fmt.Errorf("place %q: %w", name, err)
	}
	return nil
}

// put writes beside the name and renames: a link that an agent left under the
// name is replaced, not followed.
func (w *Workspace) put(ctx context.Context, name string, content io.Reader, limit int64) (err error) {
	// A name of its own in the private folder: names beside the file may be too long,
	// or belong to someone.
	if err := w.ownDir(PrivateDir); err != nil {
		return err
	}
	temporary := PrivateDir + "/new-" + rand.Text()
	f, err := w.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.root.Remove(temporary))
		}
	}()
	n, err := io.Copy(f, io.LimitReader(content, limit+1))
	if err = errors.Join(err, w.give(f), f.Close()); err != nil {
		return err
	}
	if n > limit {
		return fmt.Errorf("larger than %d bytes", limit)
	}
	if info, err := w.root.Lstat(name); err == nil && info.IsDir() {
		if err := w.remove(ctx, name); err != nil {
			return err
		}
	}
	return w.root.Rename(temporary, name)
}

// Empty says that there is nothing worth keeping: no file besides our own, and no
// conversation.
func (w *Workspace) Empty() (bool, error) {
	names, err := readNames(w.root, ".")
	if err != nil {
		return false, fmt.Errorf("look into workspace: %w", err)
	}
	for _, name := range names {
		if name != PrivateDir {
			return false, nil
		}
	}
	kept, err := w.privateNames()
	if err != nil {
		return false, fmt.Errorf("look into workspace: %w", err)
	}
	for _, name := range kept {
		if isSession(PrivateDir + "/" + name) {
			return false, nil
		}
	}
	return true, nil
}

// ForgetSessions removes the conversations of agents that worked here before.
func (w *Workspace) ForgetSessions(ctx context.Context) error {
	names, err := w.privateNames()
	for _, name := range names {
		if full := PrivateDir + "/" + name; isSession(full) {
			err = errors.Join(err, w.remove(ctx, full))
		}
	}
	if err != nil {
		return fmt.Errorf("forget sessions: %w", err)
	}
	return nil
}

// privateNames lists our folder; an agent may have made something else of it.
func (w *Workspace) privateNames() ([]string, error) {
	info, err := w.root.Lstat(PrivateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return nil, nil
	case err != nil:
		return nil, err
	}
	return readNames(w.root, PrivateDir)
}

// Release ends the use of the workspace. It is kept until the given time; a zero
// time removes it now.
func (w *Workspace) Release(ctx context.Context, until time.Time) error {
	defer w.manager.letGo(w.runID)
	closeErr := w.root.Close()
	if w.state.Layer != "" { // the next execution may be another user's
		closeErr = errors.Join(closeErr, overlay.Unmount(w.Dir()))
	}
	if until.IsZero() {
		return errors.Join(closeErr, removeHome(ctx, w.home))
	}
	w.state.KeepUntil = until
	return errors.Join(closeErr, w.writeState())
}

// Stored says that a snapshot has all of the workspace: after Release it may go early.
func (w *Workspace) Stored() { w.state.Stored = true }

func (w *Workspace) writeState() error { return saveState(w.home, w.state) }

// errStop ends a walk early without an error.
var errStop = errors.New("stop")

// walk visits everything below dir, links and special files included. The folder
// itself may also be closed to its owner.
func (w *Workspace) walk(ctx context.Context, dir string, walker tree.Walker) error {
	top, err := openDir(w.root, dir)
	if errors.Is(err, fs.ErrPermission) {
		if err = w.root.Chmod(dir, 0o700); err == nil {
			top, err = openDir(w.root, dir)
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	walker.Depth, walker.Unlock = tree.MaxDepth, true
	return walker.Walk(ctx, top)
}

func (w *Workspace) remove(ctx context.Context, name string) error {
	parent, err := openDir(w.root, path.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	return tree.RemoveAt(ctx, parent, path.Base(name))
}
