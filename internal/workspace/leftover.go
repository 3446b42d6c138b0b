package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// Leftover is a workspace that nobody holds.
type Leftover struct {
	RunID string
	// Running says that its execution never ended here: the worker died meanwhile.
	Running bool
	// KeepUntil is when it may go; zero if that was never said.
	KeepUntil time.Time
}

// Leftovers lists the workspaces that nothing holds, by run id.
func (m *Manager) Leftovers(ctx context.Context) ([]Leftover, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	var found []Leftover
	for _, entry := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if m.isHeld(entry.Name()) || !entry.IsDir() || !runID.MatchString(entry.Name()) {
			continue
		}
		s, err := readState(filepath.Join(m.dir, entry.Name()))
		found = append(found, Leftover{
			RunID: entry.Name(), KeepUntil: s.KeepUntil, Running: err != nil || s.KeepUntil.IsZero(),
		})
	}
	return found, nil
}

// Adopt sets a time of removal for every workspace whose execution never ended, so that
// a worker that starts again can continue such a run but does not keep it for ever.
func (m *Manager) Adopt(ctx context.Context, until time.Time) ([]Leftover, error) {
	if err := m.Close(); err != nil { // of a process that was killed
		return nil, err
	}
	found, err := m.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l Leftover) bool { return !l.Running })
	for _, l := range found {
		home := filepath.Join(m.dir, l.RunID)
		s, _ := readState(home) // without a readable state nothing may be kept: the zero number fits no execution
		s.KeepUntil = until
		if err := saveState(home, s); err != nil {
			return found, fmt.Errorf("adopt workspace of run %s: %w", l.RunID, err)
		}
	}
	return found, nil
}

// Sweep removes what may go and says when the next one may; zero if none is kept.
func (m *Manager) Sweep(ctx context.Context, now time.Time) (next time.Time, err error) {
	found, err := m.Leftovers(ctx)
	if err != nil {
		return time.Time{}, err
	}
	var errs []error
	for _, l := range found {
		switch {
		case l.KeepUntil.IsZero():
		case !now.Before(l.KeepUntil):
			errs = append(errs, m.Remove(ctx, l.RunID))
		case next.IsZero() || l.KeepUntil.Before(next):
			next = l.KeepUntil
		}
	}
	return next, errors.Join(errs...)
}

// Remove deletes a run's workspace unless it is held.
func (m *Manager) Remove(ctx context.Context, id string) error {
	return m.removeIf(ctx, id, func(state) bool { return true })
}

func (m *Manager) removeIf(ctx context.Context, id string, fits func(state) bool) error {
	if !runID.MatchString(id) {
		return nil
	}
	if _, ok := m.hold(id); !ok {
		return nil
	}
	defer m.letGo(id)
	home := filepath.Join(m.dir, id)
	if s, _ := readState(home); !fits(s) { // one that cannot be read says nothing
		return nil
	}
	return removeHome(ctx, home)
}

// removeHome removes a workspace. What lets an execution take it over goes first: nobody continues with half
// of one if this process dies meanwhile.
func removeHome(ctx context.Context, home string) error {
	if err := os.Remove(stateFile(home)); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return tree.Remove(ctx, home)
}
