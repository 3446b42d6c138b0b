package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// querier is what reads and writes go through: the reader pool, the writer's
// connection, or a PostgreSQL transaction.
type querier interface {
	// exec returns the number of rows that were changed.
	exec(ctx context.Context, query string, args ...any) (int64, error)
	query(ctx context.Context, query string, args ...any) (cursor, error)
}

// cursor goes through the rows of a query.
type cursor interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
	Columns() ([]string, error)
}

// opened makes a cursor of rows; without them there is none.
func opened(rows *sql.Rows, err error) (cursor, error) {
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Tx is a unit of work inside Store.Write. It must not be used after the
// function it was given to has returned.
type Tx struct {
	reader
	store  *Store
	number int64 // SQLite's stand-in for a transaction number
	topics []string
}

// Wake announces topic to waiting readers once the work is durable.
func (tx *Tx) Wake(topic string) { tx.topics = append(tx.topics, topic) }

func (tx *Tx) newID() string { return tx.store.ids.NewString() }

// reader has the look-ups that work both inside and outside a transaction.
type reader struct {
	q querier
	d *dialect
}

// one scans the first row of a query; errNoRows if there is none.
func (r reader) one(ctx context.Context, query string, args []any, dest ...any) error {
	rows, err := r.begin(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.there {
		return errNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return fmt.Errorf("scan: %w", err) // the row is here: it is not the database that fails
	}
	return translate(rows.Close())
}

// look is one for what may not be there: false says so. The error says what was done.
func (r reader) look(ctx context.Context, what, query string, args []any, dest ...any) (found bool, err error) {
	err = r.one(ctx, query, args, dest...)
	if errors.Is(err, errNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	return true, nil
}

// must is one for a thing that is to be there.
func (r reader) must(ctx context.Context, thing, name, query string, args []any, dest ...any) error {
	found, err := r.look(ctx, "read "+thing+" "+name, query, args, dest...)
	if err == nil && !found {
		return lineshaft.NotFound(thing, name)
	}
	return err
}

// exists says whether a query of a number has a row. The error says what was done.
func (r reader) exists(ctx context.Context, what, query string, args ...any) (bool, error) {
	var one int
	return r.look(ctx, what, query, args, &one)
}

// each calls fn for every row of a query, until fn fails. fn scans.
func (r reader) each(ctx context.Context, query string, args []any, fn func(scan rowScan) error) error {
	rows, err := r.begin(ctx, query, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for there := rows.there; there; there = rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return translate(rows.Err())
}

// rowScan puts the columns of a row into the given places.
type rowScan = func(...any) error

// collect reads every row of a query. The error says what was done.
func collect[T any](ctx context.Context, r reader, what, query string, args []any, read func(rowScan) (*T, error)) ([]T, error) {
	var found []T
	err := r.each(ctx, query, args, func(scan rowScan) error {
		one, err := read(scan)
		if err == nil {
			found = append(found, *one)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return found, nil
}

// find reads the one row of a query, or says that there is no such thing.
func find[T any](ctx context.Context, r reader, thing, name, query string, args []any, read func(rowScan) (*T, error)) (*T, error) {
	return only(collect(ctx, r, "read "+thing, query, args, read)).orNotFound(thing, name)
}

// single is the result of a look-up of one thing.
type single[T any] struct {
	found []T
	err   error
}

func only[T any](found []T, err error) single[T] { return single[T]{found, err} }

func (s single[T]) orNotFound(thing, name string) (*T, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case len(s.found) == 0:
		return nil, lineshaft.NotFound(thing, name)
	}
	return &s.found[0], nil
}

// pairs reads a query of two columns, each first one once.
func pairs[K comparable, V any](ctx context.Context, r reader, what, query string, args []any) (map[K]V, error) {
	found := map[K]V{}
	err := r.each(ctx, query, args, func(scan rowScan) error {
		var key K
		var value V
		err := scan(&key, &value)
		found[key] = value
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return found, nil
}

// begunRows are the rows of a query whose first row has been read, if it has one.
type begunRows struct {
	cursor

	there bool
}

// begin starts a query and goes to its first row. Outside of a transaction, where
// statements only read, it takes another connection when the pool's turns out to be dead.
func (r reader) begin(ctx context.Context, query string, args []any) (begunRows, error) {
	_, pooled := r.q.(*pool)
	for tries := 1; ; tries++ {
		rows, err := r.q.query(ctx, query, args...)
		if err == nil {
			there := rows.Next()
			if err = rows.Err(); there || err == nil {
				return begunRows{rows, there}, nil
			}
			_ = rows.Close() // now: the next try takes another connection
		}
		if err = translate(err); !pooled || tries == connectionTries || !broken(ctx, err) {
			return begunRows{}, err
		}
	}
}

func (r reader) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	var found []string
	err := r.each(ctx, query, args, func(scan rowScan) error {
		var text string
		err := scan(&text)
		found = append(found, text)
		return err
	})
	return found, err
}

// do runs a statement. The error says what was done.
func (tx *Tx) do(ctx context.Context, what, query string, args ...any) error {
	_, err := tx.count(ctx, what, query, args...)
	return err
}

// count runs a statement and says how many rows it changed. The error says what was done.
func (tx *Tx) count(ctx context.Context, what, query string, args ...any) (int64, error) {
	n, err := tx.exec(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}

// send runs a statement whose outcome nothing depends on, before the next that is read:
// PostgreSQL gets them together. If it fails, so does what comes after it, or the commit.
func (tx *Tx) send(ctx context.Context, what, query string, args ...any) error {
	return tx.sendFor(ctx, 0, what, query, args...)
}

// sendFor is send for a statement that must change that many rows, unless that is 0.
func (tx *Tx) sendFor(ctx context.Context, rows int, what, query string, args ...any) error {
	if t, ok := tx.q.(*pgTx); ok {
		return t.send(ctx, what, query, args, rows)
	}
	n, err := tx.exec(ctx, query, args...)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case rows > 0 && int(n) != rows:
		return fmt.Errorf("%s: %d of %d rows changed", what, n, rows)
	}
	return nil
}

// ask reads the rows of a query some time before the next that is read, or Await: PostgreSQL
// gets them together.
func (tx *Tx) ask(ctx context.Context, what, query string, args []any, read func(rowScan) error) error {
	if t, ok := tx.q.(*pgTx); ok {
		return t.wait(ctx, sent{what, query, args, read}, mostWaiting)
	}
	if err := tx.each(ctx, query, args, read); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Await waits for what was asked for.
func (tx *Tx) Await(ctx context.Context) error {
	if t, ok := tx.q.(*pgTx); ok {
		return t.await(ctx)
	}
	return nil
}

// change runs a statement about one thing, which must exist.
func (tx *Tx) change(ctx context.Context, what, thing, name, query string, args ...any) error {
	n, err := tx.count(ctx, what, query, args...)
	if err == nil && n == 0 {
		return lineshaft.NotFound(thing, name)
	}
	return err
}

// exec runs a statement and returns the number of rows it changed.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := tx.q.exec(ctx, query, args...)
	return n, translate(err)
}

// values builds the rows of a VALUES list with numbered parameters.
type values struct {
	text strings.Builder
	args []any
	rows int
}

// typed adds one row whose parameters are cast, for lists on their own: PostgreSQL
// cannot guess their types there.
func (v *values) typed(types []string, parts ...any) {
	if v.rows > 0 {
		v.text.WriteString(", ")
	}
	v.rows++
	v.text.WriteByte('(')
	for i, part := range parts {
		if i > 0 {
			v.text.WriteString(", ")
		}
		v.args = append(v.args, part)
		v.text.WriteString("CAST($" + strconv.Itoa(len(v.args)) + " AS " + types[i] + ")")
	}
	v.text.WriteByte(')')
}

// list writes ($n, $n+1, …) for the given values, appending them to args. The last is there
// several times: a prepared statement for each number of values would be too many to keep.
func list[T any](args *[]any, items []T) string {
	var text strings.Builder
	text.WriteByte('(')
	for i := range roomier(len(items)) {
		if i > 0 {
			text.WriteString(", ")
		}
		*args = append(*args, items[min(i, len(items)-1)])
		text.WriteString("$" + strconv.Itoa(len(*args)))
	}
	text.WriteByte(')')
	return text.String()
}

func encode(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(text), nil
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(m int64) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m).UTC()
}

// null stores an empty text as NULL, which keeps it out of partial indexes.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
