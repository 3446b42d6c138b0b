package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

//go:embed migrations
var migrations embed.FS

// schema is an engine's side of migrating: a lock and a transaction.
type schema interface {
	engine() string
	// version reads the newest applied migration, 0 for an empty database.
	version(ctx context.Context) (int, error)
	// apply runs one migration in a transaction that also records its number.
	apply(ctx context.Context, text string, number int, at time.Time) error
	// lock keeps other starting nodes out until the returned function is called.
	lock(ctx context.Context) (func() error, error)
}

const versionTable = `CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)`

// listsMigration is the one after which lists are settled.
const listsMigration = 15

// migrate brings the schema to a version, or with 0 to the newest this binary knows.
func migrate(ctx context.Context, s schema, now time.Time, upTo int) (err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return fmt.Errorf("lock schema: %w", err)
	}
	defer func() {
		if unlockErr := unlock(); err == nil {
			err = unlockErr
		}
	}()
	have, err := s.version(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	list, err := Migrations(s.engine())
	if err != nil {
		return err
	}
	if have > len(list) {
		return lineshaft.Conflict("the database has schema version %d, but this binary knows only %d: it was used by a newer lineshaft; "+
			"start that version or a newer one", have, len(list))
	}
	for number := have + 1; number <= cmp.Or(upTo, len(list)); number++ {
		text := list[number-1]
		if have == 0 && number == listsMigration {
			text += dropOldIndexes()
		}
		if err := s.apply(ctx, text, number, now); err != nil {
			return fmt.Errorf("migration %d: %w", number, err)
		}
	}
	return nil
}

// Migrations are the statements of an engine's migrations; the file 0007_x.sql is number 7.
func Migrations(engine string) ([]string, error) {
	dir := path.Join("migrations", engine)
	entries, err := fs.ReadDir(migrations, dir)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var texts []string
	for i, entry := range entries {
		number, err := strconv.Atoi(strings.SplitN(entry.Name(), "_", 2)[0])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", entry.Name(), i+1)
		}
		text, err := fs.ReadFile(migrations, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// SchemaVersion is the newest schema this binary knows.
func SchemaVersion() (int, error) {
	texts, err := Migrations("sqlite")
	return len(texts), err
}

// CheckSchema reports a schema that is not the one this binary knows.
func (s *Store) CheckSchema(ctx context.Context) error {
	want, err := SchemaVersion()
	if err != nil {
		return err
	}
	var have int
	if err := s.one(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have < want {
		return lineshaft.Conflict("the database has schema version %d; this binary needs %d: run lineshaft migrate", have, want)
	}
	return nil
}

type sqliteSchema struct{ schemaConn }

func (s sqliteSchema) engine() string { return "sqlite" }

// lock needs nothing: the lock file keeps every other process out.
func (s sqliteSchema) lock(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

// schemaConn is the connection that is migrated on, which the engines use alike.
type schemaConn struct{ conn *sql.Conn }

func (s schemaConn) version(ctx context.Context) (version int, err error) {
	if _, err := s.conn.ExecContext(ctx, versionTable); err != nil {
		return 0, translate(err)
	}
	row := s.conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version")
	return version, translate(row.Scan(&version))
}

func (s schemaConn) apply(ctx context.Context, text string, number int, at time.Time) error {
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)", number, at.UnixMicro()); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return translate(tx.Commit())
}
