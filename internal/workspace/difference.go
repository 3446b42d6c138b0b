package workspace

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// Base is what the workspace of a snapshot was on top of. Such a snapshot has the
// difference alone.
type Base struct {
	// Layer names it at the worker that took the snapshot.
	Layer string `json:"layer"`
	// Commits are what its repositories had checked out, by folder.
	Commits map[string]string `json:"commits,omitempty"`
	// Removed are the names that the workspace no longer has.
	Removed []string `json:"removed,omitempty"`
}

// BaseError is what Restore returns for a snapshot that needs the base to be there first.
type BaseError struct{ Base Base }

// Error says what kind of snapshot it is.
func (e *BaseError) Error() string { return "the snapshot is the difference to a prepared environment" }

// baseFile is the first entry of such a snapshot.
const (
	baseFile = PrivateDir + "/base.json"
	maxBase  = 16 << 20
)

// difference separates what a workspace has of its own from what its layer has.
type difference struct {
	layer   Layer
	base    map[string]tree.Info
	written map[string]bool
	seen    map[string]bool // of base
	// upper is the folder that has the whole difference; empty when a comparison must find it.
	upper string
}

// newDifference is nil for a workspace that is not on top of a layer, or on one so small
// that a whole snapshot is better: it needs nothing else.
func (w *Workspace) newDifference(ctx context.Context) (*difference, error) {
	if w.state.Layer == "" || w.layer.Bytes <= w.limits.WholeBytes {
		return nil, nil
	}
	if d, err := w.plainDifference(ctx); d != nil || err != nil {
		return d, err
	}
	d := &difference{layer: w.layer, base: map[string]tree.Info{}, written: map[string]bool{}, seen: map[string]bool{}}
	err := walkAll(ctx, w.layer.Dir, w.limits.Entries, func(e *tree.Entry) { d.base[e.Path()] = e.Info })
	if err == nil {
		err = walkAll(ctx, w.Written(), w.limits.Entries, func(e *tree.Entry) { d.written[e.Path()] = true })
	}
	return d, err
}

// plainDifference reads the difference from what was written, in time proportional to that.
// It is nil when a folder was moved, or a file with several names was written to: then
// everything must be compared.
func (w *Workspace) plainDifference(ctx context.Context) (*difference, error) {
	d := &difference{layer: w.layer, upper: w.Written()}
	plain := !overlay.Indexed(w.written())
	err := walkAll(ctx, d.upper, w.limits.Entries, func(e *tree.Entry) {
		plain = plain && overlay.KindOf(filepath.Join(d.upper, e.Path()), e.Info.Mode) != overlay.Moved
	})
	if !plain || err != nil {
		return nil, err
	}
	return d, nil
}

// gone notes what an entry of upper takes away from the layer, and says that this is all.
func (d *difference) gone(m *Measured, name string, mode fs.FileMode) bool {
	if d == nil || d.upper == "" {
		return false
	}
	kind := overlay.KindOf(filepath.Join(d.upper, name), mode)
	if kind == overlay.Gone || kind == overlay.Opaque {
		if _, err := os.Lstat(filepath.Join(d.layer.Dir, name)); err == nil {
			m.removed = append(m.removed, name)
		}
	}
	return kind == overlay.Gone
}

// walkSnapshot walks what a snapshot may have.
func (w *Workspace) walkSnapshot(ctx context.Context, d *difference, walker tree.Walker) error {
	walker.Entries = w.limits.Entries + ownEntries
	if d == nil || d.upper == "" {
		return w.walk(ctx, ".", walker)
	}
	top, err := os.Open(d.upper)
	if err != nil {
		return err
	}
	defer func() { _ = top.Close() }()
	walker.Depth = tree.MaxDepth
	return walker.Walk(ctx, top)
}

func walkAll(ctx context.Context, dir string, most int, visit func(*tree.Entry)) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	n := 0
	walker := tree.Walker{Visit: func(e *tree.Entry) error {
		if n++; n > most {
			return fmt.Errorf("%w: more than %d files", ErrTooLarge, most)
		}
		visit(e)
		return nil
	}}
	return walker.Walk(ctx, folder)
}

// same says that an entry belongs to the layer, and not to the workspace: it was not written,
// nor did a folder that was moved bring it here, nor may it have changed by another name.
func (d *difference) same(name string, info tree.Info) bool {
	if d == nil || d.upper != "" {
		return false
	}
	old, ok := d.base[name]
	if !ok {
		return false
	}
	d.seen[name] = true
	if d.written[name] || old.Mode != info.Mode {
		return false
	}
	return info.Mode.IsDir() || old.Inode == info.Inode && old.Links == 1 && old.Size == info.Size && old.Modified.Equal(info.Modified)
}

// removed are the names of the layer that were not seen, without what is below others.
func (d *difference) removed() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(d.base)) {
		skip, _ := ours(name, d.base[name].Mode)
		if parent := path.Dir(name); !skip && !d.seen[name] && (parent == "." || d.seen[parent]) {
			names = append(names, name)
		}
	}
	return names
}

// pack writes what the rest of the archive is the difference to.
func (d *difference) pack(archive *tar.Writer, removed []string) error {
	text, err := json.Marshal(Base{Layer: d.layer.ID, Commits: d.layer.Commits, Removed: removed})
	if err == nil && len(text) > maxBase {
		err = ErrTooLarge
	}
	if err == nil {
		err = archive.WriteHeader(&tar.Header{
			Name: baseFile, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(text)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		})
	}
	if err == nil {
		_, err = archive.Write(text)
	}
	return err
}

// RestoreOn is Restore for a workspace that has the base of the snapshot.
func (w *Workspace) RestoreOn(ctx context.Context, from io.Reader) error {
	return w.restore(ctx, from, true)
}

// takeBase reads what an archive is the difference to, and makes way for the rest.
func (w *Workspace) takeBase(ctx context.Context, archive io.Reader, there bool) error {
	var base Base
	if err := json.NewDecoder(io.LimitReader(archive, maxBase)).Decode(&base); err != nil {
		return err
	}
	if !there {
		return &BaseError{base}
	}
	for _, name := range base.Removed {
		clean, err := safeName(name)
		if err == nil {
			err = w.remove(ctx, clean)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// makeWay removes what the base has at the place of an entry; of folders one becomes the other.
func (w *Workspace) makeWay(ctx context.Context, header *tar.Header) (there bool, err error) {
	info, err := w.root.Lstat(header.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir() && header.Typeflag == tar.TypeDir:
		return true, w.root.Chmod(header.Name, 0o700)
	}
	return false, w.remove(ctx, header.Name)
}
