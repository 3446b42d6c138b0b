package prepared

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// The errors that a caller tells apart.
var (
	// ErrDamaged is wrapped when a layer is not what was kept. It is gone then.
	ErrDamaged = errors.New("the prepared environment was damaged")
	// ErrNoRoom is wrapped when the disk, or the store, is full.
	ErrNoRoom = errors.New("there is no room for it")
	// ErrHeld is wrapped when a layer that is too old cannot make way for another.
	ErrHeld = errors.New("the one before is too old, but still in use")
)

// Config sets up a store.
type Config struct {
	// Dir is made if it is missing. No other process may use it.
	Dir string
	// MaxBytes bounds all layers together; the least recently used go first.
	MaxBytes int64
	// MaxAge is how old a layer gets, counted from the cold start that it goes back to.
	MaxAge time.Duration
	// Used names further layers that are in use, by any process; it may be nil.
	Used func() (map[string]bool, error)
	// Free removes what Used names a layer for, if nobody needs that; it may be nil.
	Free func(ctx context.Context, id string) error
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Warn gets trouble that nobody waits for; it may be nil.
	Warn func(error)
}

// Store has the layers of one worker. Its methods may be called at the same time.
type Store struct {
	config Config
	secret []byte

	mu     sync.Mutex
	layers map[string]*Layer
	bytes  int64
	making map[string][]*Turn // with those that end when the layer is complete, or given up
	// reserved are the bytes of those that are being made, by id.
	reserved map[string]int64
	turns    map[string]*Turn
	closed   bool
	idle     *sync.Cond // no layer is being completed

	finishing sync.WaitGroup
	// life is the context of what is done after Keep has returned.
	life    context.Context
	endLife context.CancelCauseFunc
}

// Facts are what is known of a layer.
type Facts struct {
	copied
	Group        string       `json:"group"`
	Repositories []Repository `json:"repositories,omitempty"`
	// Made is when the cold start was that it goes back to.
	Made time.Time `json:"made"`
	// Cost is how long the set-up of a cold start takes.
	Cost time.Duration `json:"cost"`
}

// Layer is a prepared tree that is kept.
type Layer struct {
	Facts

	store *Store
	id    string
	users int       // guarded by store.mu
	used  time.Time // guarded by store.mu

	checks
}

// Open reads what a store has and removes what an earlier process left: halves of
// layers, those that cannot be read, and those that are too old or too many.
func Open(ctx context.Context, config Config) (*Store, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Warn == nil {
		config.Warn = func(error) {}
	}
	if config.Used == nil {
		config.Used = func() (map[string]bool, error) { return nil, nil }
	}
	if config.Free == nil {
		config.Free = func(context.Context, string) error { return nil }
	}
	s := &Store{
		config: config, layers: map[string]*Layer{}, making: map[string][]*Turn{}, reserved: map[string]int64{}, turns: map[string]*Turn{},
	}
	s.life, s.endLife = context.WithCancelCause(context.WithoutCancel(ctx))
	s.idle = sync.NewCond(&s.mu)
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("prepared environments: %w", err)
	}
	return s, nil
}

// Remove removes a store that nobody uses, with what a killed process left mounted in it.
func Remove(ctx context.Context, dir string) error {
	if err := overlay.Clear(dir); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	return tree.Remove(ctx, dir)
}

func (s *Store) open(ctx context.Context) error {
	if err := errors.Join(s.clearMounts(ctx), tree.Remove(ctx, s.path("new"))); err != nil {
		return err
	}
	for _, dir := range []string{s.path("new"), s.path("layers")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if s.secret, err = readSecret(s.config.Dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.path("layers"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		l, err := s.read(entry.Name())
		if err != nil {
			if err := tree.Remove(ctx, s.path("layers", entry.Name())); err != nil {
				return err
			}
			continue
		}
		s.layers[l.id], s.bytes = l, s.bytes+l.Bytes
	}
	return s.evict(ctx, "", 0)
}

func (s *Store) newLayer(id string, facts Facts, read bool) *Layer {
	return &Layer{Facts: facts, store: s, id: id, checks: checks{looking: make(chan struct{}, 1), read: read}}
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.config.Dir}, parts...)...)
}

// layerID is the form of names that are ours.
var layerID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (s *Store) read(id string) (*Layer, error) {
	l := s.newLayer(id, Facts{}, false)
	name := s.path("layers", id, "layer.json")
	info, err := os.Stat(name)
	if err != nil || !layerID.MatchString(id) {
		return nil, errors.Join(ErrDamaged, err)
	}
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &l.Facts)
	}
	if err != nil || l.Print == "" {
		return nil, errors.Join(ErrDamaged, err)
	}
	l.used = info.ModTime()
	return l, nil
}

// Take gives the layer of a key, or nil. It stays until Release.
func (s *Store) Take(key Key) *Layer {
	return s.take(func(l *Layer) bool { return l.id == key.ID })
}

// TakeNearest gives the newest layer of another commit, or nil. It stays until Release.
func (s *Store) TakeNearest(key Key) *Layer {
	return s.take(func(l *Layer) bool { return l.Group == key.Group && l.id != key.ID })
}

func (s *Store) take(fits func(*Layer) bool) *Layer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *Layer
	for _, l := range s.layers {
		if fits(l) && !s.old(l) && (found == nil || l.used.After(found.used)) {
			found = l
		}
	}
	if found != nil {
		found.users++
		found.used = s.config.Now()
		// Only for the order after a restart.
		_ = os.Chtimes(s.path("layers", found.id, "layer.json"), found.used, found.used)
	}
	return found
}

func (s *Store) old(l *Layer) bool {
	return s.config.MaxAge > 0 && s.config.Now().Sub(l.Made) >= s.config.MaxAge
}

// Release ends a use.
func (l *Layer) Release() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.users--
}

// CopyTo copies the tree into an empty folder. On an error the caller removes what it
// left there.
func (l *Layer) CopyTo(ctx context.Context, dir string) error {
	found, err := copyTree(ctx, l.store.path("layers", l.id, "tree"), dir, l.store.config.MaxBytes)
	switch {
	case l.same(found, err):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("copy layer: %w", context.Cause(ctx))
	case full(err):
		return fmt.Errorf("copy layer: %w: %w", ErrNoRoom, err)
	}
	return errors.Join(fmt.Errorf("copy layer: %w", cmp.Or(err, ErrDamaged)), ErrDamaged, l.store.remove(ctx, l, true))
}

// full says that there is no room on the disk.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// begin takes an id for a layer that is to be made. One that is too old makes way for it, unless
// somebody is on top of it; workspaces with a snapshot make way too.
func (s *Store) begin(ctx context.Context, id string) error {
	used, err := s.config.Used()
	if err == nil && used[id] && s.unused(id) {
		if err = s.config.Free(ctx, id); err == nil {
			used, err = s.config.Used()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.layers[id]
	switch {
	case s.closed || s.making[id] != nil || l != nil && !s.old(l):
		return ErrTaken
	case l != nil && err != nil:
		return err
	case l != nil && (l.users > 0 || used[id]):
		return &NotKeptError{ErrHeld, "a run is on top of it, or a workspace without a snapshot that waits for a follow-up"}
	}
	s.making[id] = []*Turn{}
	return nil
}

// unused says that a layer is too old, and that no run uses it.
func (s *Store) unused(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.layers[id]
	return l != nil && s.old(l) && l.users == 0
}

func (s *Store) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.making[id] {
		s.endTurn(t)
	}
	delete(s.making, id)
	delete(s.reserved, id)
	s.idle.Broadcast()
}

// missing is what a disk lacks to have enough left for the runs after more is written: a twentieth, or
// 2 GB of a large one.
func missing(free, more, all uint64) int64 {
	return int64(more) + int64(min(all/20, 2<<30)) - int64(free)
}

// lacking is how many bytes and files the disk lacks to have some left for the runs after more are written.
func (s *Store) lacking(more int64, files int) (bytes int64, entries int, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.config.Dir, &st); err != nil {
		return 0, 0, fmt.Errorf("look at disk: %w", err)
	}
	block := uint64(st.Bsize)
	free, all := uint64(st.Bavail)*block, uint64(st.Blocks)*block //nolint:unconvert // the types depend on the system
	bytes = missing(free, uint64(max(more, 0)), all)
	if st.Files > 0 { // some disks count none
		entries = files + int(st.Files/20) - int(st.Ffree)
	}
	return bytes, entries, nil
}

// spare wants some of the disk to stay free, for the runs, after more bytes and files are written. If it has less
// than that, layers that nobody uses go, the least recently used first; none if all of them are not enough.
func (s *Store) spare(ctx context.Context, more int64, files int) error {
	for {
		bytes, entries, err := s.lacking(more, files)
		if err != nil || bytes <= 0 && entries <= 0 {
			return err
		}
		reason := &NotKeptError{ErrNoRoom, "the disk is nearly full"}
		if bytes <= 0 {
			reason.Why = "the disk can hardly have more files"
		}
		used, err := s.config.Used()
		if err != nil {
			return err
		}
		s.mu.Lock()
		victim := s.first(func(l *Layer) bool { return !used[l.id] })
		for _, l := range s.layers {
			if l.users == 0 && !used[l.id] {
				bytes, entries = bytes-l.Bytes, entries-l.Entries
			}
		}
		s.mu.Unlock()
		if victim == nil || bytes > 0 || entries > 0 {
			return reason
		}
		if err := s.remove(ctx, victim, false); err != nil {
			return err
		}
	}
}

// complete writes what is known of a layer, flushes all of it to the disk and gives it
// its name.
func (s *Store) complete(l *Layer, half string) error {
	if s.life.Err() != nil {
		return fmt.Errorf("complete layer: %w", context.Cause(s.life))
	}
	text, err := json.Marshal(l.Facts)
	if err != nil {
		return fmt.Errorf("complete layer: %w", err)
	}
	if err := os.WriteFile(filepath.Join(half, "layer.json"), text, 0o600); err != nil {
		return fmt.Errorf("complete layer: %w", err)
	}
	folder, err := os.Open(half)
	if err != nil {
		return fmt.Errorf("complete layer: %w", err)
	}
	if err := errors.Join(flush(folder), folder.Close()); err != nil {
		return fmt.Errorf("complete layer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(half, s.path("layers", l.id)); err != nil {
		return fmt.Errorf("complete layer: %w", err)
	}
	l.used = s.config.Now()
	s.layers[l.id], s.bytes = l, s.bytes+l.Bytes
	delete(s.reserved, l.id)
	return nil
}

// Sweep removes layers that are too old, also while nobody prepares anything.
func (s *Store) Sweep(ctx context.Context) error { return s.evict(ctx, "", 0) }

// evict removes layers that are too old, and the least recently used until there is
// room for that many more bytes of a layer that is being made, which are then reserved; none
// that is in use. If that is not enough, layers go that nobody needs but workspaces with a snapshot.
func (s *Store) evict(ctx context.Context, id string, more int64) error {
	asked := map[string]bool{} // layers that were to be freed
	for {
		used, err := s.config.Used()
		if err != nil {
			return err
		}
		s.mu.Lock()
		victim := s.first(func(l *Layer) bool { return !used[l.id] })
		fits := s.bytes+s.beingMade()+more <= s.config.MaxBytes
		enough := fits && (victim == nil || !s.old(victim))
		if victim == nil && !fits && more > 0 {
			victim = s.first(func(l *Layer) bool { return !asked[l.id] })
		}
		if enough && more > 0 {
			s.reserved[id] += more
		}
		s.mu.Unlock()
		switch {
		case enough || victim == nil && more == 0:
			return nil
		case victim == nil:
			return &NotKeptError{ErrNoRoom, "all others are in use or being made"}
		case used[victim.id]:
			asked[victim.id] = true
			err = s.config.Free(ctx, victim.id)
		default:
			err = s.remove(ctx, victim, false)
		}
		if err != nil {
			return err
		}
	}
}

// first is the layer that goes first of those that fit and have no users, or nil. The caller holds s.mu.
func (s *Store) first(fits func(*Layer) bool) (found *Layer) {
	for _, l := range s.layers {
		if l.users == 0 && fits(l) && (found == nil || s.before(l, found)) {
			found = l
		}
	}
	return found
}

// beingMade is how many bytes are reserved. The caller holds s.mu.
func (s *Store) beingMade() (sum int64) {
	for _, bytes := range s.reserved {
		sum += bytes
	}
	return sum
}

// before says which of two layers goes first.
func (s *Store) before(a, b *Layer) bool {
	if s.old(a) != s.old(b) {
		return s.old(a)
	}
	return a.used.Before(b.used)
}

// remove takes a layer out of the store at once and deletes its files. A layer in use is removed
// only if it is damaged: those that are copying it notice the damage as well.
func (s *Store) remove(ctx context.Context, l *Layer, damaged bool) error {
	s.mu.Lock()
	if s.layers[l.id] != l || l.users > 0 && !damaged {
		s.mu.Unlock()
		return nil
	}
	delete(s.layers, l.id)
	s.bytes -= l.Bytes
	gone := s.path("new", rand.Text())
	err := os.Rename(s.path("layers", l.id), gone)
	s.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove layer: %w", err)
	}
	if used, err := s.config.Used(); err != nil || used[l.id] {
		return err // what is on top of it has the rest at least; it goes at the next start
	}
	return tree.Remove(context.WithoutCancel(ctx), gone)
}

// Usage is how many layers there are, and how many bytes they take.
func (s *Store) Usage() (layers int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.layers), s.bytes
}

// errClosed is why a layer is given up that Close did not wait for.
var errClosed = errors.New("the store is closed")

// Close waits for layers that are being completed; no more are begun. When ctx ends they are
// given up.
func (s *Store) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.endLife(errClosed) })
	s.Wait()
	s.finishing.Wait() // all have begun: none is begun any more
	stop()
	s.endLife(errClosed)
	if err := s.clearMounts(context.WithoutCancel(ctx)); err != nil {
		s.config.Warn(err)
	}
}

// Wait returns when the layers that Keep has begun are complete.
func (s *Store) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.making) > 0 {
		s.idle.Wait()
	}
}
