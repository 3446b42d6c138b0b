package storetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// migrated is a SQLite file of the newest schema. Migrating takes many times as long
// as writing it, and a test run has a thousand databases.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "test.db")
	ctx := context.Background() //nolint:forbidigo // it does not belong to one test: the first one makes it for all
	s, err := store.Open(ctx, store.Options{Database: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	if err := intoOneFile(ctx, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// intoOneFile moves what is still in the file of the log into the database's own.
func intoOneFile(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, db.Close())
}

// SQLite makes a file of the newest schema for one test and returns its path.
func SQLite(t *testing.T) string {
	t.Helper()
	file, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
