package prepared

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// Keep keeps a copy of a folder, in which nothing may run, as the layer of a key. When
// it returns the folder may be used; the layer is complete a little later. A layer that
// exists, or is being made, stays.
func (s *Store) Keep(ctx context.Context, key Key, dir string, facts Facts) error {
	if !s.begin(key.ID) {
		return nil
	}
	half := s.path("new", rand.Text())
	err := s.copyHalf(ctx, dir, half, &facts)
	if err != nil {
		err = errors.Join(err, tree.Remove(context.WithoutCancel(ctx), half))
		s.end(key.ID)
		return keepError(err)
	}
	go s.finish(context.WithoutCancel(ctx), key, half, facts, nil)
	return nil
}

func keepError(err error) error {
	if full(err) {
		err = fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return fmt.Errorf("keep layer: %w", err)
}

// copyHalf copies a folder to where it is a layer that is not complete.
func (s *Store) copyHalf(ctx context.Context, dir, half string, facts *Facts) error {
	err := errors.Join(s.evict(ctx, 0), s.spare(), os.MkdirAll(filepath.Join(half, "tree"), 0o700))
	if err == nil {
		facts.copied, err = copyTree(ctx, dir, filepath.Join(half, "tree"), s.config.MaxBytes)
	}
	if err == nil {
		err = s.spare()
	}
	return err
}

// finish completes a layer, after what is still to be done.
func (s *Store) finish(ctx context.Context, key Key, half string, facts Facts, before func(*Facts) error) {
	defer s.end(key.ID)
	var err error
	if before != nil {
		err = before(&facts)
	}
	if err == nil {
		facts.Group = key.Group
		err = s.complete(ctx, &Layer{Facts: facts, store: s, id: key.ID, checks: checks{read: true}}, half)
	}
	if err != nil {
		s.config.Warn(errors.Join(err, tree.Remove(ctx, half)))
	}
}

// KeepOver is Keep for a folder on top of a layer that the caller has taken. It gets
// what was written, and by whom: only that is copied before it returns, and the rest while
// the folder is used. It fails when what was written cannot be copied alone.
func (s *Store) KeepOver(ctx context.Context, key Key, base *Layer, written string, owner int, facts Facts) error {
	if !s.begin(key.ID) {
		return nil
	}
	view := s.path("views", rand.Text())
	m := overlay.Mount{Lower: base.Tree(), Store: filepath.Join(view, "store"), At: filepath.Join(view, "at"), Owner: owner}
	err := errors.Join(s.spare(), os.MkdirAll(m.At, 0o700), os.Mkdir(m.Store, 0o700))
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
	ctx = context.WithoutCancel(ctx)
	half := s.path("new", rand.Text())
	go s.finish(ctx, key, half, facts, func(facts *Facts) (err error) {
		defer base.Release()
		defer func() { err = errors.Join(err, overlay.Unmount(m.At), tree.Remove(ctx, view)) }()
		if err := errors.Join(s.anchorViews(), m.Mount(ctx)); err != nil {
			return err
		}
		return s.copyHalf(ctx, m.At, half, facts)
	})
	return nil
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

// clearViews ends and removes what KeepOver has left.
func (s *Store) clearViews(ctx context.Context) error {
	dir, err := filepath.EvalSymlinks(s.path("views")) // as mounts are listed
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = overlay.Clear(dir)
	}
	if err == nil {
		err = tree.Remove(ctx, dir)
	}
	return err
}
