package prepared

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// Keep keeps a copy of a folder, in which nothing may run, as the layer of a key. When
// it returns the folder may be used; the layer is complete a little later. A layer that
// exists, or is being made, stays. Over, which may be nil, then gets what is kept, or why nothing
// is; it is not called after an error.
func (s *Store) Keep(ctx context.Context, key Key, dir string, facts Facts, over func(Facts, error)) error {
	if err := s.begin(ctx, key.ID); err != nil {
		report(over, facts, err)
		return nil
	}
	half := s.path("new", rand.Text())
	err := s.copyHalf(ctx, key.ID, dir, half, &facts)
	if err != nil {
		err = errors.Join(err, tree.Remove(context.WithoutCancel(ctx), half))
		s.end(key.ID)
		return keepError(err)
	}
	s.finishing.Go(func() { s.finish(key, half, facts, nil, over) }) //nolint:contextcheck // the run may end before: the life of the store bounds it
	return nil
}

// ErrTaken says that another run keeps the layer, has kept it, or that the store is closed.
var ErrTaken = errors.New("another run keeps it")

func report(over func(Facts, error), facts Facts, err error) {
	if over != nil {
		over(facts, err)
	}
}

func keepError(err error) error {
	if full(err) {
		err = fmt.Errorf("%w: %w", &NotKeptError{ErrNoRoom, "the disk is full"}, err)
	}
	return fmt.Errorf("keep layer: %w", err)
}

// copyHalf copies a folder to where it is a layer that is not complete. Its space is taken before:
// layers that are made at the same time fit together.
func (s *Store) copyHalf(ctx context.Context, id, dir, half string, facts *Facts) error {
	found, err := look(ctx, dir, false, s.config.MaxBytes)
	if err != nil {
		return err
	}
	if err := s.evict(ctx, id, found.Bytes); err != nil {
		return err
	}
	if err = errors.Join(s.spare(ctx, found.Bytes, found.Entries), os.MkdirAll(filepath.Join(half, "tree"), 0o700)); err == nil {
		facts.copied, err = copyTree(ctx, dir, filepath.Join(half, "tree"), found.Bytes)
	}
	if more := facts.Bytes - found.Bytes; err == nil && more > 0 { // for attributes
		err = s.evict(ctx, id, more)
	}
	if err == nil {
		err = s.spare(ctx, 0, 0)
	}
	return err
}

// finish completes a layer, after what is still to be done.
func (s *Store) finish(key Key, half string, facts Facts, before func(*Facts) error, over func(Facts, error)) {
	var err error
	if before != nil {
		err = before(&facts)
	}
	if err == nil {
		facts.Group = key.Group
		err = s.complete(s.newLayer(key.ID, facts, true), half)
	}
	if err != nil {
		s.config.Warn(errors.Join(err, tree.Remove(context.WithoutCancel(s.life), half)))
		err = keepError(err)
	}
	s.end(key.ID)
	report(over, facts, err)
}

// KeepOver is Keep for a folder on top of a layer that the caller has taken. It gets
// what was written, and by whom: only that is copied before it returns, and the rest while
// the folder is used. It fails when what was written cannot be copied alone.
func (s *Store) KeepOver(ctx context.Context, key Key, base *Layer, written string, owner int, facts Facts, over func(Facts, error)) error {
	if err := s.begin(ctx, key.ID); err != nil {
		report(over, facts, err)
		return nil
	}
	view := s.path("views", rand.Text())
	m := overlay.Mount{Lower: base.Tree(), Store: filepath.Join(view, "store"), At: filepath.Join(view, "at"), Owner: owner}
	size, err := bytesIn(ctx, written)
	if err == nil {
		err = s.evict(ctx, key.ID, size)
	}
	if err == nil {
		err = errors.Join(s.spare(ctx, size, 0), os.MkdirAll(m.At, 0o700), os.Mkdir(m.Store, 0o700))
	}
	if err == nil {
		err = overlay.CopyStore(ctx, written, m.Store)
	}
	if err != nil {
		err = errors.Join(err, tree.Remove(context.WithoutCancel(ctx), view))
		s.end(key.ID)
		return keepError(err)
	}
	s.mu.Lock()
	base.users++
	s.mu.Unlock()
	half := s.path("new", rand.Text())
	before := func(facts *Facts) (err error) { //nolint:contextcheck // the run may end before: the life of the store bounds it
		defer base.Release()
		defer func() {
			err = errors.Join(err, overlay.Unmount(m.At), tree.Remove(context.WithoutCancel(s.life), view))
		}()
		if err := errors.Join(s.anchorViews(), m.Mount(s.life)); err != nil {
			return err
		}
		return s.copyHalf(s.life, key.ID, m.At, half, facts)
	}
	s.finishing.Go(func() { s.finish(key, half, facts, before, over) }) //nolint:contextcheck // the run may end before: the life of the store bounds it
	return nil
}

// bytesIn is what a folder takes on the disk.
func bytesIn(ctx context.Context, dir string) (sum int64, err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = folder.Close() }()
	walker := tree.Walker{Visit: func(e *tree.Entry) error {
		sum += space(e.Info)
		return nil
	}}
	err = walker.Walk(ctx, folder)
	return sum, err
}

// anchorViews is for agents that start while a view is mounted: they must not hold it.
func (s *Store) anchorViews() error {
	dir, err := filepath.EvalSymlinks(s.path("views")) // as mounts are listed
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return overlay.Anchor(dir)
}

// clearMounts ends and removes what KeepOver and a try of overlays have left when they were killed.
func (s *Store) clearMounts(ctx context.Context) error {
	left, err := os.ReadDir(s.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, one := range left {
		// The folder itself may be a disk that somebody has mounted for this.
		if name := s.path(one.Name()); err == nil && (one.Name() == "views" || strings.Contains(one.Name(), "-check-")) {
			if err = overlay.Clear(name); err == nil {
				err = tree.Remove(ctx, name)
			}
		}
	}
	return err
}
