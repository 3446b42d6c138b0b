package certificate

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

const (
	// itemPrefix begins the names of settings that hold what an ACME client keeps.
	itemPrefix = store.SealedPrefix + "acme/"
	lockPrefix = "acme/"
	// lockLease is how long others wait for a node that was killed; its holder extends
	// it three times as often.
	lockLease = 15 * time.Second
	// lockPoll is how often a waiting node asks.
	lockPoll = 250 * time.Millisecond
	// maxItems is far more than 100 names have.
	maxItems = 10_000
)

var (
	_ certmagic.Storage   = (*storage)(nil)
	_ certmagic.TryLocker = (*storage)(nil)
)

// storage keeps accounts, keys, certificates and challenges in the database, so that
// all nodes share them and a backup has them. Everything is sealed under the master
// key. Locks are leases: that of a killed node ends by itself.
type storage struct {
	store *store.Store
	vault *vault.Vault
	log   *slog.Logger

	mu   sync.Mutex
	held map[string]heldLock
}

// heldLock is a lock of this process: its holder's name in the store, and what ends
// the goroutine that extends it.
type heldLock struct {
	holder string
	end    func()
}

func newStorage(s *store.Store, v *vault.Vault, log *slog.Logger) *storage {
	return &storage{store: s, vault: v, log: log, held: map[string]heldLock{}}
}

// Store implements certmagic.Storage.
func (s *storage) Store(ctx context.Context, key string, value []byte) error {
	name := itemPrefix + key
	sealed, err := s.vault.Seal(name, value)
	if err != nil {
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.PutSetting(ctx, name, sealed) })
}

// Load implements certmagic.Storage.
func (s *storage) Load(ctx context.Context, key string) ([]byte, error) {
	return load(ctx, s.store, s.vault, key)
}

// reader is the part of a store that has settings.
type reader interface {
	GetSetting(ctx context.Context, name string) (string, error)
}

func load(ctx context.Context, r reader, v *vault.Vault, key string) ([]byte, error) {
	sealed, err := r.GetSetting(ctx, itemPrefix+key)
	if err != nil {
		return nil, err
	}
	if sealed == "" {
		return nil, fs.ErrNotExist
	}
	return v.Open(itemPrefix+key, sealed)
}

// Delete implements certmagic.Storage.
func (s *storage) Delete(ctx context.Context, key string) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSettings(ctx, itemPrefix+key) })
}

// Exists implements certmagic.Storage.
func (s *storage) Exists(ctx context.Context, key string) bool {
	_, err := s.Stat(ctx, key)
	return err == nil
}

// List implements certmagic.Storage.
func (s *storage) List(ctx context.Context, folder string, recursive bool) ([]string, error) {
	list, err := s.store.ListSettings(ctx, itemPrefix+folder+"/", "", maxItems)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, setting := range list { // by name, so that those of one folder are together
		key := strings.TrimPrefix(setting.Name, itemPrefix)
		below, _, deeper := strings.Cut(key[len(folder)+1:], "/")
		if deeper && !recursive {
			key = folder + "/" + below
		}
		if len(keys) == 0 || keys[len(keys)-1] != key {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fs.ErrNotExist
	}
	return keys, nil
}

// Stat implements certmagic.Storage.
func (s *storage) Stat(ctx context.Context, key string) (certmagic.KeyInfo, error) {
	sealed, err := s.store.GetSetting(ctx, itemPrefix+key)
	if err != nil {
		return certmagic.KeyInfo{}, err
	}
	if sealed != "" {
		return certmagic.KeyInfo{Key: key, Size: int64(len(sealed)), IsTerminal: true}, nil
	}
	below, err := s.store.ListSettings(ctx, itemPrefix+key+"/", "", 1)
	if err == nil && len(below) == 0 {
		err = fs.ErrNotExist
	}
	return certmagic.KeyInfo{Key: key}, err
}

// Lock implements certmagic.Locker.
func (s *storage) Lock(ctx context.Context, name string) error {
	for {
		taken, err := s.TryLock(ctx, name)
		if taken || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// TryLock implements certmagic.TryLocker.
func (s *storage) TryLock(ctx context.Context, name string) (bool, error) {
	holder := id.Secret(9) // another one each time: two goroutines of a process are two
	taken, err := s.take(ctx, name, holder)
	if !taken || err != nil {
		return false, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.extend(life, name, holder)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = heldLock{holder: holder, end: func() { end(); <-over }}
	return true, nil
}

func (s *storage) take(ctx context.Context, name, holder string) (taken bool, err error) {
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		taken, err = tx.TakeLease(ctx, lockPrefix+name, holder, lockLease)
		return err
	})
	return taken, err
}

// extend keeps a lock until ctx ends. One that was lost is not missed: its new owner
// looks first whether the work is done.
func (s *storage) extend(ctx context.Context, name, holder string) {
	tick := time.NewTicker(lockLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if taken, err := s.take(ctx, name, holder); ctx.Err() == nil && (err != nil || !taken) {
			s.log.DebugContext(ctx, "acme: lock not extended", "lock", name, "err", err)
		}
	}
}

// Unlock implements certmagic.Locker.
func (s *storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	lock, ok := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("lock %s is not held", name)
	}
	lock.end()
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.EndLease(ctx, lockPrefix+name, lock.holder)
	})
}
