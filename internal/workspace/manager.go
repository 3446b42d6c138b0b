package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/overlay"
)

// Limits bound what a workspace takes in and gives out. A zero field takes the
// default of DefaultLimits.
type Limits struct {
	// ArtifactBytes is the size of the largest artifact.
	ArtifactBytes int64
	// ArtifactFiles is how many artifacts are taken after one turn.
	ArtifactFiles int
	// TurnBytes is how large the artifacts of one turn may be together.
	TurnBytes int64
	// SnapshotBytes is the size of all files of a snapshot, before compression.
	SnapshotBytes int64
	// WholeBytes is how large a layer may be to be part of snapshots: a snapshot of a workspace on
	// top of a larger one has the difference alone.
	WholeBytes int64
	// Entries is the number of files, folders and links of a snapshot or in the artifacts folder.
	Entries int
}

// DefaultLimits are the published ones, with bounds for what has none.
func DefaultLimits() Limits {
	return Limits{
		ArtifactBytes: lineshaft.MaxArtifactBytes,
		ArtifactFiles: 1000,
		TurnBytes:     lineshaft.MaxRunArtifactBytes,
		SnapshotBytes: 512 << 20,
		WholeBytes:    512 << 20,
		Entries:       500_000,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.ArtifactBytes = cmp.Or(l.ArtifactBytes, d.ArtifactBytes)
	l.ArtifactFiles = cmp.Or(l.ArtifactFiles, d.ArtifactFiles)
	l.TurnBytes = cmp.Or(l.TurnBytes, d.TurnBytes)
	l.SnapshotBytes = cmp.Or(l.SnapshotBytes, d.SnapshotBytes)
	l.WholeBytes = cmp.Or(l.WholeBytes, d.WholeBytes)
	l.Entries = cmp.Or(l.Entries, d.Entries)
	return l
}

// Manager has the workspaces of one worker process. A second process must not
// use the same data directory. Its methods may be called at the same time.
type Manager struct {
	dir    string
	limits Limits

	moving sync.Mutex // while a workspace becomes another run's
	mu     sync.Mutex
	// held are the runs whose workspace is open, or being removed; the channel is
	// closed when that ends.
	held map[string]chan struct{}
}

// NewManager makes <data>/workspaces if need be.
func NewManager(dataDir string, limits Limits) (*Manager, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	dir := filepath.Join(abs, "workspaces")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as mounts are listed
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	return &Manager{dir: dir, limits: limits.withDefaults(), held: map[string]chan struct{}{}}, nil
}

// OpenRequest says whose workspace is wanted.
type OpenRequest struct {
	RunID string
	// Number is the number of the execution: a kept workspace is only valid when
	// the execution just before this one left it.
	Number int
	// Keep says that an earlier execution's folder may be used again. Otherwise
	// that folder is removed.
	Keep bool
	// From is another run whose folder becomes this run's, when the execution FromNumber
	// left it and this run has none of its own; empty is none.
	From       string
	FromNumber int
	// Preparing says that a folder that is not kept must be made ready first: until
	// Prepared is called no later execution takes it over.
	Preparing bool
	// Layer finds a layer that a kept folder is on top of; nil finds none.
	Layer func(id string) (Layer, bool)
}

// Open gives the run's workspace: the kept one or an empty one. It is held until
// Release; a second Open of the same run waits for that, because an execution
// that was cancelled may still be ending when the run continues.
func (m *Manager) Open(ctx context.Context, req OpenRequest) (*Workspace, error) {
	if !runID.MatchString(req.RunID) {
		return nil, fmt.Errorf("open workspace: run id %q cannot name a folder", req.RunID)
	}
	for {
		released, ok := m.hold(req.RunID)
		if ok {
			break
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, fmt.Errorf("open workspace: %w", context.Cause(ctx))
		}
	}
	w, err := m.open(ctx, req)
	if err != nil {
		m.letGo(req.RunID)
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return w, nil
}

// runID is what may name a folder; ids are opaque, so this is wider than those we make.
var runID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

func (m *Manager) open(ctx context.Context, req OpenRequest) (*Workspace, error) {
	w := &Workspace{manager: m, runID: req.RunID, home: filepath.Join(m.dir, req.RunID), limits: m.limits}
	old, err := readState(w.home)
	kept := err == nil && req.Keep && old.Number == req.Number-1 && !old.Preparing && isDir(w.Dir())
	if !kept && req.From != "" {
		if kept, err = m.adopt(ctx, req, w.home); err != nil {
			return nil, err
		}
		if w.adopted = kept; kept { // what the other run had taken is not this run's
			old, err = readState(w.home)
		}
		if err != nil {
			return nil, err
		}
	}
	if kept && !w.mountAgain(ctx, old.Layer, req.Layer) {
		if ctx.Err() != nil { // what was kept is still good
			return nil, context.Cause(ctx)
		}
		kept, w.adopted = false, false
	}
	if !kept {
		if err := removeHome(ctx, w.home); err != nil {
			return nil, err
		}
		old = state{}
	}
	made := false
	defer func() {
		if !made { // a mount that stays would keep the run from ever opening here
			_ = overlay.Unmount(w.Dir())
		}
	}()
	if err := os.MkdirAll(w.Dir(), 0o700); err != nil {
		return nil, err
	}
	w.kept = kept
	w.state = state{Number: req.Number, Artifacts: old.Artifacts, Layer: old.Layer, Preparing: req.Preparing && !kept}
	if w.root, err = os.OpenRoot(w.Dir()); err != nil {
		return nil, err
	}
	if err := w.writeState(); err != nil {
		_ = w.root.Close()
		return nil, err
	}
	made = true
	return w, nil
}

// adopt makes the folder that another run left this run's own, and says whether there was
// one. Moving it is one step: a later continuation of that run has its snapshot.
func (m *Manager) adopt(ctx context.Context, req OpenRequest, home string) (bool, error) {
	if !runID.MatchString(req.From) || req.From == req.RunID {
		return false, fmt.Errorf("run id %q cannot name a folder", req.From)
	}
	from := filepath.Join(m.dir, req.From)
	left := func() bool { // the state is written before the folder is let go
		old, err := readState(from)
		return err == nil && old.Number == req.FromNumber && !old.Preparing && isDir(filepath.Join(from, "work"))
	}
	for left() {
		released, ok := m.hold(req.From)
		if !ok { // it ends just now
			select {
			case <-released:
				continue
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}
		defer m.letGo(req.From)
		if !left() {
			return false, nil
		}
		if err := removeHome(ctx, home); err != nil {
			return false, err
		}
		m.moving.Lock()
		defer m.moving.Unlock()
		return true, os.Rename(from, home)
	}
	return false, nil
}

// hold takes the run's workspace, or gives what is closed when it may be tried again.
func (m *Manager) hold(id string) (released <-chan struct{}, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.held[id]; held != nil {
		return held, false
	}
	m.held[id] = make(chan struct{})
	return nil, true
}

func (m *Manager) letGo(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.held[id])
	delete(m.held, id)
}

func (m *Manager) isHeld(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held[id] != nil
}
