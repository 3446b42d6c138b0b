package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/lineshaft/lineshaft"
)

// schemaLock is the advisory lock that starting nodes take before they migrate.
const schemaLock = 0x6c696e6573686166 // "lineshaf"

// openPostgres opens the pool and migrates under an advisory lock.
func (s *Store) openPostgres(ctx context.Context, opts Options) error {
	config, err := pgx.ParseConfig(opts.Database)
	if err != nil {
		return fmt.Errorf("read database URL: %w (expected postgres://user:password@host:port/name)", redact(err))
	}
	s.d = postgresDialect()
	s.db = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settle))
	conns := opts.MaxConns
	if conns == 0 {
		conns = max(16, 8*runtime.NumCPU())
	}
	conns = max(conns, 2) // one is the listener's
	s.db.SetMaxOpenConns(conns)
	s.db.SetMaxIdleConns(conns)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	s.q = &pool{db: s.db, trips: &s.trips}
	s.w = pgWriter{s}
	if err := s.migratePostgres(ctx, opts.upTo, opts.patience); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// migratePostgres migrates on one connection: its lock would keep out a second.
func (s *Store) migratePostgres(ctx context.Context, upTo int, patience patience) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to database: %w", translate(err))
	}
	defer conn.Close()
	return migrate(ctx, postgresSchema{schemaConn{conn}, cmp.Or(patience, usualPatience)}, s.now(), upTo)
}

// settle fits a new connection to short statements that follow an index. Costs of
// spinning disks and incremental sorts tempt the planner to read all runs of a value
// and sort them; compiling a statement takes longer than any of ours runs.
func settle(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, "SET random_page_cost = 1.1; SET enable_incremental_sort = off; SET jit = off").ReadAll()
	return err
}

// redact drops the message of a URL parse error, which may quote the password.
func redact(err error) error {
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return errors.New("not a valid PostgreSQL URL")
	}
	return err
}

// pgWriter runs each unit of work as a transaction of its own: PostgreSQL groups
// the commits of concurrent transactions itself.
type pgWriter struct{ s *Store }

func (w pgWriter) stop() {}

// conflictRetries bounds how often work is redone after a deadlock.
const conflictRetries = 5

// run does the work, again after a deadlock, and on another connection when the pool's
// turns out to be dead before anything was done on it.
func (w pgWriter) run(ctx context.Context, work func(context.Context, *Tx) error) error {
	for conflicts, connections := 0, 1; ; {
		topics, lost, err := w.onConnection(ctx, work)
		switch {
		case err == nil:
			if len(topics) > 0 {
				w.s.wake(topics)
			}
			return nil
		case lost && connections < connectionTries:
			connections++
		case retryable(err):
			w.s.deadlocks.Add(1)
			if conflicts++; conflicts > conflictRetries {
				return err
			}
		default:
			return err
		}
	}
}

// roTx is a transaction that only reads.
type roTx struct{ tx *sql.Tx }

func (t roTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(t.tx.ExecContext(ctx, query, args...))
}

func (t roTx) query(ctx context.Context, query string, args ...any) (cursor, error) {
	return opened(t.tx.QueryContext(ctx, query, args...))
}

// patience is how a migration waits for a table that is in use. Once it has begun to
// wait, later readers of the table queue behind it, so it waits for moments only and
// lets the nodes of the older version continue in between.
type patience struct {
	lock, pause time.Duration
	tries       int
}

// usualPatience outlasts whatever a node does, but not a backup.
var usualPatience = patience{lock: time.Second, pause: 4 * time.Second, tries: 12}

type postgresSchema struct {
	schemaConn
	patience patience
}

func (s postgresSchema) engine() string { return "postgres" }

// apply tries again while someone holds a table.
func (s postgresSchema) apply(ctx context.Context, text string, number int, at time.Time) error {
	text = fmt.Sprintf("SET LOCAL lock_timeout = %d;\n", s.patience.lock.Milliseconds()) + text
	for try := 1; ; try++ {
		err := s.schemaConn.apply(ctx, text, number, at)
		if !tableInUse(err) {
			return err
		}
		if try >= s.patience.tries {
			return s.inUse(ctx, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.patience.pause):
		}
	}
}

// tableInUse says that lock_timeout has passed.
func tableInUse(err error) bool {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "55P03"
}

// inUse says what the migration waits for. The schema has not been changed.
func (s postgresSchema) inUse(ctx context.Context, cause error) error {
	held := lineshaft.Conflict("the schema cannot be brought up to date while something else holds the tables; look into pg_stat_activity " +
		"for long transactions (a dump, a forgotten session), end them, and start again")
	held.Cause = cause
	var backups int
	row := s.conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", backupName)
	if err := row.Scan(&backups); err == nil && backups > 0 {
		held.Message = "a backup of this database is running, and the schema cannot be brought up to date meanwhile; start again when it is done"
	}
	return held
}

func (s postgresSchema) lock(ctx context.Context) (func() error, error) {
	if _, err := s.conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(schemaLock)); err != nil {
		return nil, translate(err)
	}
	return func() error {
		_, err := s.conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(schemaLock))
		return translate(err)
	}, nil
}

// channel is the PostgreSQL notification channel of all nodes.
const channel = "lineshaft"

// Notify notifies the other nodes of topics, after the work is durable.
func (s *Store) Notify(ctx context.Context, payload string) error {
	if s.Engine() != "postgres" {
		return nil
	}
	_, err := s.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return translate(err)
}

// Listen calls fn for every notification until ctx ends or the connection breaks.
// On SQLite there are no other nodes: it only waits.
func (s *Store) Listen(ctx context.Context, ready func(), fn func(payload string)) error {
	if s.Engine() != "postgres" {
		ready()
		<-ctx.Done()
		return ctx.Err()
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "LISTEN "+channel); err != nil {
		return translate(err)
	}
	ready()
	err = conn.Raw(func(driverConn any) error {
		raw, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver connection %T", driverConn)
		}
		for {
			note, err := raw.Conn().WaitForNotification(ctx)
			if err != nil {
				return err
			}
			fn(note.Payload)
		}
	})
	return translate(err)
}
