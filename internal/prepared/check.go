package prepared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/lineshaft/lineshaft/internal/overlay"
)

// How says how a run gets the files of a layer.
type How string

// The ways, the best first.
const (
	// Overlay shows the layer itself, and takes what the run writes elsewhere.
	Overlay How = "overlay"
	// Reflink copies names, and shares blocks until they are written to.
	Reflink How = "reflink"
	// Copy copies everything.
	Copy How = "copy"
)

// Best is the best way in a folder, and why a better one does not work; empty when it is the best.
func Best(ctx context.Context, dir string) (how How, why string) {
	err := overlay.Check(ctx, dir)
	if err == nil {
		return Overlay, ""
	}
	why = "no overlay: " + err.Error()
	if err := tryShare(dir); err != nil {
		return Copy, why + "; no reflinks: " + err.Error()
	}
	return Reflink, why
}

// tryShare says why files in a folder cannot share blocks.
func tryShare(dir string) error {
	from, err := os.CreateTemp(dir, "share-check-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(from.Close(), os.Remove(from.Name())) }()
	to, err := os.CreateTemp(dir, "share-check-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(to.Close(), os.Remove(to.Name())) }()
	if _, err := from.WriteString("shared"); err != nil {
		return err
	}
	if !share(to, from) {
		return errors.New("the file system has none")
	}
	return nil
}

// checks are the looks at one layer. Callers that ask while a look is under way share the next one.
type checks struct {
	mu    sync.Mutex
	begun int

	looking chan struct{} // has an element while somebody looks
	ended   int           // guarded by looking
	found   error         // of the last one; guarded by looking
	read    bool          // its contents were read, or written, by this process; guarded by looking
}

// Check compares the tree with what was kept: names, modes, sizes, times and targets each
// time, contents once in the life of this process. Only root, or a failing disk, can change contents
// without changing a time; the next process finds that out. A damaged layer is then removed.
func (l *Layer) Check(ctx context.Context) error {
	l.mu.Lock()
	want := l.begun + 1
	l.mu.Unlock()
	select {
	case l.looking <- struct{}{}:
		defer func() { <-l.looking }()
	case <-ctx.Done():
		return fmt.Errorf("check layer: %w", context.Cause(ctx))
	}
	if l.ended >= want {
		return l.found
	}
	l.mu.Lock()
	l.begun++
	number := l.begun
	l.mu.Unlock()
	found, err := look(ctx, l.Tree(), !l.read, l.store.config.MaxBytes)
	if ctx.Err() != nil { // nobody else may rely on it
		return fmt.Errorf("check layer: %w", context.Cause(ctx))
	}
	l.ended, l.found = number, nil
	if l.read = l.read || err == nil; !l.same(found, err) {
		l.found = errors.Join(fmt.Errorf("check layer: %w", cmp.Or(err, ErrDamaged)), ErrDamaged, l.store.remove(ctx, l, true))
	}
	return l.found
}

// same says that a look, or a copy, found what was kept.
func (l *Layer) same(found copied, err error) bool {
	return err == nil && found.Print == l.Print && (found.Content == "" || l.Content == "" || found.Content == l.Content)
}

// ID names the layer for Find.
func (l *Layer) ID() string { return l.id }

// Tree is the folder with its files. Nobody may change anything there.
func (l *Layer) Tree() string { return l.store.path("layers", l.id, "tree") }

// Commits are what the repositories of the layer have checked out, by folder.
func (l *Layer) Commits() map[string]string {
	commits := map[string]string{}
	for _, r := range l.Repositories {
		commits[r.Folder] = r.Commit
	}
	return commits
}

// Find gives a layer that is named by Config.Used, or nil when it no longer exists.
func (s *Store) Find(id string) *Layer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layers[id]
}

// TakeID is Take for a layer by its id, of any age.
func (s *Store) TakeID(id string) *Layer {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.layers[id]
	if l != nil {
		l.users++
		l.used = s.config.Now()
	}
	return l
}
