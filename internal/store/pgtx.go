package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// mostWaiting bounds the statements that wait for the next one.
	mostWaiting = 64
	// rollbackTime is how long a failed transaction may take to be undone; after that its
	// connection is closed, which undoes it as well.
	rollbackTime = 5 * time.Second
)

// pgTx is a transaction of PostgreSQL that waits for an answer only where one is needed:
// BEGIN, and statements whose outcome nothing depends on, go out with the next one that is
// read, or with COMMIT. The server runs them one after the other and stops at the first that
// fails, so nothing after it is done, least of all COMMIT.
type pgTx struct {
	s       *Store
	conn    *pgx.Conn
	begun   bool
	waiting []sent
	failed  error
}

// sent is a statement whose answer nobody waits for. If read is set, it gets the rows once
// they are there.
type sent struct {
	what, query string
	args        []any
	read        func(rowScan) error
}

// receive takes the answer to it.
func (s sent) receive(answers pgx.BatchResults) error {
	if s.read == nil {
		_, err := answers.Exec()
		return err
	}
	rows, _ := answers.Query() // the error is in the rows
	defer rows.Close()
	for rows.Next() {
		if err := s.read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// send keeps a statement for the next round trip. From that many rows on that it must
// change, another number is an error, which the server must find: COMMIT may be on its way.
func (t *pgTx) send(ctx context.Context, what, query string, args []any, rows int) error {
	if rows > 0 {
		query = fmt.Sprintf("WITH changed AS (%s RETURNING 1) SELECT 1 / CAST(COUNT(*) = $%d AS INTEGER) FROM changed", query, len(args)+1)
		args = append(slices.Clip(args), rows)
	}
	return t.wait(ctx, sent{what: what, query: query, args: args}, mostWaiting)
}

// wait keeps a statement, and sends what waits when that is so much.
func (t *pgTx) wait(ctx context.Context, s sent, most int) error {
	if t.waiting = append(t.waiting, s); len(t.waiting) < most {
		return t.failed
	}
	return t.await(ctx)
}

// await makes a round trip, if anything waits for one.
func (t *pgTx) await(ctx context.Context) error {
	if len(t.waiting) == 0 {
		return t.failed
	}
	answers, err := t.trip(ctx, sent{})
	if err == nil {
		err = t.note(answers.Close())
	}
	return err
}

// trip sends what waits and a statement, if there is one, and reads the answers but the last.
func (t *pgTx) trip(ctx context.Context, last sent) (pgx.BatchResults, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	b := &pgx.Batch{}
	if !t.begun {
		b.Queue("BEGIN")
	}
	for _, s := range t.waiting {
		b.Queue(s.query, s.args...)
	}
	if last.query != "" {
		b.Queue(last.query, last.args...)
	}
	t.s.trips.Add(1)
	answers := t.conn.SendBatch(ctx, b)
	if !t.begun {
		if _, err := answers.Exec(); err != nil {
			return nil, t.end(answers, "begin", err)
		}
		t.begun = true
	}
	for _, s := range t.waiting {
		if err := s.receive(answers); err != nil {
			return nil, t.end(answers, s.what, err)
		}
	}
	t.waiting = t.waiting[:0]
	return answers, nil
}

// end gives up on the answers after one that was an error.
func (t *pgTx) end(answers pgx.BatchResults, what string, err error) error {
	_ = answers.Close() // it repeats the error
	return t.note(fmt.Errorf("%s: %w", what, translate(err)))
}

// note keeps the first error, as one of ours: the server refuses everything after it, also what
// hides it, and the work may have passed over it.
func (t *pgTx) note(err error) error {
	err = translate(err)
	if t.failed == nil {
		t.failed = err
	}
	return err
}

func (t *pgTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	answers, err := t.trip(ctx, sent{query: query, args: args})
	if err != nil {
		return 0, err
	}
	tag, err := answers.Exec()
	if closed := answers.Close(); err == nil {
		err = closed
	}
	return tag.RowsAffected(), t.note(err)
}

func (t *pgTx) query(ctx context.Context, query string, args ...any) (cursor, error) {
	answers, err := t.trip(ctx, sent{query: query, args: args})
	if err != nil {
		return nil, err
	}
	rows, _ := answers.Query() // the error is in the rows
	return &pgRows{Rows: rows, answers: answers, tx: t}, nil
}

func (t *pgTx) commit(ctx context.Context) error {
	if !t.begun && len(t.waiting) == 0 {
		return t.failed
	}
	answers, err := t.trip(ctx, sent{query: "COMMIT"})
	if err != nil {
		return err
	}
	tag, err := answers.Exec()
	if closed := answers.Close(); err == nil {
		err = closed
	}
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("the database answers %s", tag)
	}
	if err != nil {
		return translate(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// rollback undoes a transaction. Its caller may have left.
func (t *pgTx) rollback(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Close(ctx)
	}
}

// pgRows are the rows of the last statement of a round trip.
type pgRows struct {
	pgx.Rows

	answers pgx.BatchResults
	tx      *pgTx
}

func (r *pgRows) Close() error {
	r.Rows.Close()
	return r.tx.note(r.answers.Close())
}

func (r *pgRows) Err() error { return r.tx.note(r.Rows.Err()) }

func (r *pgRows) Columns() ([]string, error) {
	var names []string
	for _, field := range r.FieldDescriptions() {
		names = append(names, field.Name)
	}
	return names, nil
}

// onConnection does work as one transaction on a connection of the pool. Lost says that the
// connection was lost before anything was done on it.
func (w pgWriter) onConnection(ctx context.Context, work func(context.Context, *Tx) error) (topics []string, lost bool, err error) {
	conn, err := w.s.db.Conn(ctx)
	if err != nil {
		err = translate(err)
		return nil, broken(ctx, err), err
	}
	defer conn.Close()
	err = conn.Raw(func(driverConn any) error {
		raw, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected driver connection %T", driverConn)
		}
		q := &pgTx{s: w.s, conn: raw.Conn()}
		tx := &Tx{reader: reader{q: q, d: w.s.d}, store: w.s}
		err := protect(ctx, work, tx)
		if lost = !q.begun && broken(ctx, q.failed); err == nil {
			err = q.commit(ctx)
		}
		if err != nil {
			q.rollback(ctx)
		}
		topics = tx.topics
		return err
	})
	return topics, lost, err
}
