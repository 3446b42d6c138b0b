package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lineshaft/lineshaft"
)

// errNoRows is what a look-up that found nothing returns inside this package;
// exported methods turn it into a NotFound of their noun.
var errNoRows = sql.ErrNoRows

// translate turns a driver's error into one of ours, by its code. It is the only
// place that knows drivers' errors.
func translate(err error) error {
	if err == nil || errors.Is(err, errNoRows) {
		return err
	}
	if _, ours := errors.AsType[*lineshaft.Error](err); ours {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return translateSQLite(lite)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return translatePostgres(pg)
	}
	// Only broken connections are left, in many types: the database is unreachable.
	return lineshaft.Unavailable(fmt.Errorf("%w: %w", errBroken, err), "the database does not answer; try again")
}

// errBroken marks what a connection broke at, which another one may do.
var errBroken = errors.New("connection lost")

// connectionTries is how many connections of the pool something is tried on.
const connectionTries = 3

// broken says that a connection was lost, and not because its caller left. The database
// may have closed it long ago; and when writing a statement was slow and its caller
// left, pgx gives its time-out to the next statement of the connection.
func broken(ctx context.Context, err error) bool {
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return ctx.Err() == nil && errors.Is(err, errBroken) && !unconnected
}

func translateSQLite(err *sqlite.Error) error {
	switch err.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return &lineshaft.Error{Code: lineshaft.CodeConflict, Message: "it exists already", Cause: err}
	}
	switch err.Code() & 0xff { // the primary code; the rest is detail
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT:
		return lineshaft.Unavailable(err, "the database cannot write or read now; the operator should check disk space and permissions")
	}
	return &lineshaft.Error{Code: lineshaft.CodeInternal, Message: "internal error", Cause: err}
}

func translatePostgres(err *pgconn.PgError) error {
	switch {
	case err.Code == "23505":
		return &lineshaft.Error{Code: lineshaft.CodeConflict, Message: "it exists already", Cause: err}
	case err.Code == "22021": // a NUL or bytes that are not UTF-8, which SQLite would take
		return &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: "text must be UTF-8 without NUL characters", Cause: err}
	case retryable(err), tableInUse(err):
		return lineshaft.Unavailable(err, "the database was busy with the same rows; try again")
	case err.Code == "57P01": // the server, or its operator, has closed the connection
		return lineshaft.Unavailable(fmt.Errorf("%w: %w", errBroken, err), "the database does not answer; try again")
	case strings.HasPrefix(err.Code, "08"), strings.HasPrefix(err.Code, "53"), strings.HasPrefix(err.Code, "57"), strings.HasPrefix(err.Code, "58"):
		// connection, resources (disk full, too many connections), operator, system
		return lineshaft.Unavailable(err, "the database does not answer; try again")
	}
	return &lineshaft.Error{Code: lineshaft.CodeInternal, Message: "internal error", Cause: err}
}

// retryable says that PostgreSQL ended the transaction to break a deadlock or a
// serialization conflict: the same work may be done again.
func retryable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// IsNoRows says that a look-up found nothing, as opposed to an unreachable store.
func IsNoRows(err error) bool { return errors.Is(err, errNoRows) }

// LockedOut says that a transaction was given up for the locks of others, as opposed to an
// unreachable store.
func LockedOut(err error) bool { return retryable(err) || tableInUse(err) }
