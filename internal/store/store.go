package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft/internal/id"
)

// Options open a store.
type Options struct {
	// Database is a file path (SQLite) or a postgres:// URL.
	Database string
	// MaxConns bounds the PostgreSQL pool or the SQLite reader pool; 0 picks a default.
	MaxConns int
	// Now is the process's clock; nil means time.Now. Leases use the database's clock instead.
	Now func() time.Time
	// Wake is called with topics after the work that gave them is durable. It must not block.
	Wake   func(topics []string)
	Logger *slog.Logger
	// Blobs keeps the bytes of blobs outside of the database; nil keeps them in it.
	Blobs Blobs
	// upTo is the newest migration that is applied, for a backup of that schema; 0 is
	// all of them.
	upTo int
	// patience is how long a migration waits for tables in use; zero is as usual.
	patience patience
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	reader
	db     *sql.DB
	w      writer
	ids    *id.Source
	now    func() time.Time
	wake   func([]string)
	log    *slog.Logger
	blobs  Blobs // nil keeps them in rows
	unlock func() error
	close  sync.Once
	// fits are measured stretches of logs, which only grow.
	fits fits
	// budget is ScanBudget, or less in tests.
	budget int
	// upgrading says that runs of the previous version are still to be settled.
	upgrading atomic.Bool
	// dropAt is when to drop what their lists went by, in microseconds; 0 when that is done.
	dropAt atomic.Int64
	// stuck are the runs that could not be settled, to report each once.
	stuck sync.Map
	// deadlocks counts transactions that waited for each other and were redone.
	deadlocks atomic.Int64
	// trips counts how often the store waited for the database.
	trips atomic.Int64
}

// Trips is how often the store has waited for the database: round trips on PostgreSQL,
// statements on SQLite.
func (s *Store) Trips() int64 { return s.trips.Load() }

// Deadlocks is how many transactions had to be redone because they and others waited
// for each other. Nothing is lost by it, but each costs a second.
func (s *Store) Deadlocks() int64 { return s.deadlocks.Load() }

// writer runs units of work so that each is durable, or undone, when run returns.
type writer interface {
	run(ctx context.Context, work func(context.Context, *Tx) error) error
	stop()
}

// Open opens the database and brings its schema up to date.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wake == nil {
		opts.Wake = func([]string) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{now: opts.Now, wake: opts.Wake, log: opts.Logger, blobs: opts.Blobs, ids: id.New(opts.Now), unlock: func() error { return nil }, budget: ScanBudget}
	open := s.openSQLite
	if IsPostgres(opts.Database) {
		open = s.openPostgres
	}
	if err := open(ctx, opts); err != nil {
		return nil, err
	}
	below, err := s.listsBelow(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.upgrading.Store(below != "")
	return s, nil
}

// IsPostgres says whether a database setting names a PostgreSQL server.
func IsPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Engine is "sqlite" or "postgres".
func (s *Store) Engine() string { return s.d.name }

// NewID returns a new time-ordered id and its time.
func (s *Store) NewID() (string, time.Time) { return s.ids.Next() }

// Now is the store's clock.
func (s *Store) Now() time.Time { return s.now() }

// Write runs work as one transaction. When it returns nil the work is durable.
// Work may run again after a conflict with another node, so it must not change
// anything but the database and variables it sets again each time.
//
// When ctx ends before the work has begun, it is not done. Work that has begun is
// finished, and Write says how it went: work never runs after Write has returned.
func (s *Store) Write(ctx context.Context, work func(ctx context.Context, tx *Tx) error) error {
	return s.w.run(ctx, work)
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.one(ctx, "SELECT 1", nil, &one); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Close ends the writer after the work it holds and closes the pools.
func (s *Store) Close() error {
	var err error
	s.close.Do(func() {
		s.w.stop()
		err = s.db.Close()
		if unlockErr := s.unlock(); err == nil {
			err = unlockErr
		}
	})
	return err
}

// pool reads through a connection pool, preparing each statement once.
type pool struct {
	db    *sql.DB
	mu    sync.RWMutex
	stmts map[string]*sql.Stmt
	// prepare is off for PostgreSQL, whose driver keeps prepared statements itself.
	prepare bool
	trips   *atomic.Int64
}

// maxPrepared bounds the statements kept; list queries come in many shapes.
const maxPrepared = 512

func (p *pool) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.RLock()
	stmt := p.stmts[query]
	full := len(p.stmts) >= maxPrepared
	p.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := p.db.PrepareContext(ctx, positional(query))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.stmts[query]; other != nil {
		defer stmt.Close()
		return other, nil
	}
	p.stmts[query] = stmt
	return stmt, nil
}

func (p *pool) query(ctx context.Context, query string, args ...any) (cursor, error) {
	p.trips.Add(1)
	if !p.prepare {
		return opened(p.db.QueryContext(ctx, query, args...))
	}
	stmt, err := p.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return opened(p.db.QueryContext(ctx, query, args...))
	}
	return opened(stmt.QueryContext(ctx, args...))
}

func (p *pool) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(p.db.ExecContext(ctx, query, args...))
}
