package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// openSQLite opens the file, refuses a second server on it, and starts the writer.
func (s *Store) openSQLite(ctx context.Context, opts Options) error {
	if err := os.MkdirAll(filepath.Dir(opts.Database), 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	unlock, err := lockFile(ctx, opts.Database+".lock")
	if err != nil {
		return err
	}
	if err := private(opts.Database); err != nil {
		return errors.Join(err, unlock())
	}
	s.unlock, s.d = unlock, sqliteDialect()
	if err := s.startSQLite(ctx, opts); err != nil {
		return errors.Join(err, unlock())
	}
	return nil
}

// private makes the file readable for this user only. SQLite gives the same mode to
// the files it puts beside it.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("make database private: %w", err)
	}
	return nil
}

func (s *Store) startSQLite(ctx context.Context, opts Options) error {
	lite, err := sqliteDriver()
	if err != nil {
		return fmt.Errorf("find sqlite driver: %w", err)
	}
	dsn := "file:" + (&url.URL{Path: opts.Database}).EscapedPath()
	// The order matters: wait for locks before anything takes one, and make the
	// file a WAL file before the durability of its commits is set. The cache of the writer is
	// small: below 1 GB of database, a commit that split a page walks all of it.
	writes := sql.OpenDB(liteConnector{driver: lite, dsn: dsn, pragmas: []string{
		"busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "cache_size = -16384", "temp_store = MEMORY",
		fmt.Sprintf("wal_autocheckpoint = %d", mostLogPages),
	}})
	writes.SetMaxOpenConns(1)
	conn, err := writes.Conn(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("open database %s: %w", opts.Database, translate(err)), writes.Close())
	}
	g := newGroupCommit(s, conn, 0)
	if err := migrate(ctx, sqliteSchema{schemaConn{conn}}, s.now(), opts.upTo); err != nil {
		return errors.Join(err, conn.Close(), writes.Close())
	}
	tx := &Tx{reader: reader{q: g, d: s.d}}
	if err := tx.one(ctx, "SELECT COALESCE(MAX(txid), 0) FROM events WHERE txid > 0", nil, &g.last); err != nil {
		return errors.Join(err, conn.Close(), writes.Close())
	}
	s.db = sql.OpenDB(liteConnector{driver: lite, dsn: dsn, pragmas: []string{
		"busy_timeout = 5000", "query_only = 1", "cache_size = -8192", "temp_store = MEMORY",
	}})
	readers := opts.MaxConns
	if readers == 0 {
		readers = max(4, 2*runtime.NumCPU())
	}
	s.db.SetMaxOpenConns(readers + 1) // one of them for checkpoints
	s.db.SetMaxIdleConns(readers)
	beside, err := s.db.Conn(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("open database %s: %w", opts.Database, translate(err)), s.db.Close(), conn.Close(), writes.Close())
	}
	s.q = &pool{db: s.db, prepare: true, stmts: map[string]*sql.Stmt{}, trips: &s.trips}
	s.w = liteWriter{groupCommit: g, db: writes}
	go g.loop(context.WithoutCancel(ctx))
	go g.checkpoint(context.WithoutCancel(ctx), beside)
	return nil
}

// liteWriter closes the writer's pool after its loop has ended.
type liteWriter struct {
	*groupCommit
	db *sql.DB
}

func (w liteWriter) stop() {
	w.groupCommit.stop()
	if err := w.db.Close(); err != nil {
		w.store.log.Warn("close database writer", "err", err)
	}
}

// liteConnector opens connections and runs pragmas in the given order. (Pragmas in
// the driver's DSN are sorted by name.)
type liteConnector struct {
	driver  driver.Driver
	dsn     string
	pragmas []string
}

// Connect opens one connection.
func (c liteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	exec, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("sqlite driver has no ExecContext"), conn.Close())
	}
	for _, pragma := range c.pragmas {
		if _, err := exec.ExecContext(context.WithoutCancel(ctx), "PRAGMA "+pragma, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("pragma %s: %w", pragma, err), conn.Close())
		}
	}
	return conn, nil
}

// Driver returns the SQLite driver.
func (c liteConnector) Driver() driver.Driver { return c.driver }

// sqliteDriver finds the registered driver. A pool is the only way to ask for it.
func sqliteDriver() (driver.Driver, error) {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return nil, err
	}
	return db.Driver(), db.Close()
}
