package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// Layer is a prepared tree that a workspace can be on top of. Nothing in it may change.
type Layer struct {
	ID, Dir string
	// Owner is the user that its files belong to in the workspace.
	Owner int
	// Bytes is what it takes on the disk, Commits what its repositories have checked out,
	// by folder.
	Bytes   int64
	Commits map[string]string
}

// MountLayer puts the workspace, which must be empty, on top of a layer: all files appear
// at once, and only what is written takes space. The layer is needed for as long as the workspace
// is: see [Manager.Layers]. On an error the workspace is empty, and its own.
func (w *Workspace) MountLayer(ctx context.Context, l Layer) error {
	w.state.Layer = l.ID
	err := errors.Join(w.writeState(), w.root.Close())
	if err == nil {
		err = w.mount(ctx, l)
	}
	if err != nil {
		err = errors.Join(err, w.unmount(ctx))
	}
	var rootErr error
	w.root, rootErr = os.OpenRoot(w.Dir())
	if err = errors.Join(err, rootErr); err != nil {
		return fmt.Errorf("put workspace on layer: %w", err)
	}
	return nil
}

func (w *Workspace) mount(ctx context.Context, l Layer) error {
	w.manager.mu.Lock()
	err := overlay.Anchor(w.manager.dir)
	w.manager.mu.Unlock()
	if err != nil {
		return err
	}
	w.layer = l
	return overlay.Mount{Lower: l.Dir, Store: w.written(), At: w.Dir(), Owner: l.Owner}.Mount(ctx)
}

// written is where the files are that are not the layer's.
func (w *Workspace) written() string { return filepath.Join(w.home, "written") }

// Written is the folder with what was written, if the workspace is on top of a layer; otherwise it is
// empty, since everything was written.
func (w *Workspace) Written() string {
	if w.state.Layer == "" {
		return ""
	}
	return filepath.Join(w.written(), "upper")
}

// unmount takes the workspace off its layer, and what was written away.
func (w *Workspace) unmount(ctx context.Context) error {
	w.state.Layer = ""
	return errors.Join(overlay.Unmount(w.Dir()), tree.Remove(ctx, w.written()), w.writeState())
}

// leaveLayer makes the workspace an empty folder of its own, if it is on top of a layer.
func (w *Workspace) leaveLayer(ctx context.Context) error {
	if w.state.Layer == "" {
		return nil
	}
	err := errors.Join(w.root.Close(), w.unmount(ctx))
	var rootErr error
	w.root, rootErr = os.OpenRoot(w.Dir())
	return errors.Join(err, rootErr)
}

// mountAgain puts a workspace that was kept on top of its layer, and says whether it could.
func (w *Workspace) mountAgain(ctx context.Context, id string, find func(id string) (Layer, bool)) bool {
	if id == "" {
		return true
	}
	if find == nil {
		return false
	}
	l, ok := find(id)
	return ok && w.mount(ctx, l) == nil // otherwise its snapshot is used
}

// Layers are the ids of the layers that workspaces are on top of, kept ones included.
func (m *Manager) Layers() (map[string]bool, error) {
	ids := map[string]bool{}
	err := m.onLayers(func(_ string, s state) { ids[s.Layer] = true })
	return ids, err
}

// Free removes the workspaces on top of a layer, if each of them was let go and has a snapshot.
func (m *Manager) Free(ctx context.Context, layer string) error {
	var runs []string
	free := true
	err := m.onLayers(func(run string, s state) {
		if s.Layer == layer {
			runs, free = append(runs, run), free && s.Stored
		}
	})
	if err != nil || !free {
		return err
	}
	for _, run := range runs {
		err = errors.Join(err, m.removeIf(ctx, run, func(s state) bool { return s.Stored })) // it may be open by now
	}
	return err
}

// onLayers visits the workspaces that are on top of a layer.
func (m *Manager) onLayers(visit func(run string, s state)) error {
	m.moving.Lock() // one that moves meanwhile might not be listed
	defer m.moving.Unlock()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	for _, entry := range entries {
		s, err := readState(filepath.Join(m.dir, entry.Name()))
		_, unread := errors.AsType[*fs.PathError](err)
		if unread && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("list workspaces: %w", err) // it may be on top of any of them
		}
		if err == nil && s.Layer != "" {
			visit(entry.Name(), s)
		}
	}
	return nil
}

// Close ends what is mounted for workspaces, of which none may be open.
func (m *Manager) Close() error { return overlay.Clear(m.dir) }
