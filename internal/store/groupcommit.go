package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
)

// A batch takes at most this many callers and, once it has begun, no new ones after
// this time: nobody waits long behind others.
const (
	maxBatch     = 256
	maxBatchTime = 10 * time.Millisecond
)

// groupCommit is SQLite's only writer. Callers' work runs in savepoints of one
// transaction, so a batch costs one fsync; a caller that fails rolls back its own
// savepoint only.
//
// Nothing here uses a caller's context: a context that ends inside a statement
// makes the driver interrupt it, and SQLite may then roll back the whole
// transaction with other callers' rows in it.
type groupCommit struct {
	store *Store
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	queue chan *unit
	quit  chan struct{}
	done  chan struct{}
	last  int64 // number of the newest transaction
	// ripe asks for a checkpoint, of which long says that the log needs the rest as well.
	// asked is when that was, and commits how many there have been since.
	ripe         chan struct{}
	checkpointed chan struct{}
	long         atomic.Bool
	asked        time.Time
	commits      int
	// batchTime is maxBatchTime, or more in tests that must not depend on the clock.
	batchTime time.Duration
	// between, when set by a test, runs after a batch's first caller was taken and
	// before others are: it can fill the queue and so force a batch.
	between func()
}

// unit is one caller's work.
type unit struct {
	ctx     context.Context
	work    func(context.Context, *Tx) error
	done    chan error
	topics  []string
	err     error
	retried bool
	// begun is set by the writer, or by a caller that gives up before that: the first
	// of them decides whether the work is done at all.
	begun atomic.Bool
}

// begin says whether to do the work: not when its caller has gone.
func (u *unit) begin() bool {
	if !u.begun.CompareAndSwap(false, true) {
		return false
	}
	if err := u.ctx.Err(); err != nil {
		u.done <- err
		return false
	}
	return true
}

func newGroupCommit(s *Store, conn *sql.Conn, last int64) *groupCommit {
	return &groupCommit{
		store: s, conn: conn, last: last, batchTime: maxBatchTime, stmts: map[string]*sql.Stmt{},
		queue: make(chan *unit, maxBatch), quit: make(chan struct{}), done: make(chan struct{}),
		ripe: make(chan struct{}), checkpointed: make(chan struct{}),
	}
}

// run hands work to the writer and waits for the commit.
func (g *groupCommit) run(ctx context.Context, work func(context.Context, *Tx) error) error {
	u := &unit{ctx: ctx, work: work, done: make(chan error, 1)}
	select {
	case g.queue <- u:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.quit:
		return lineshaft.Unavailable(nil, "the server is stopping; try again")
	}
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
		if u.begun.CompareAndSwap(false, true) {
			return ctx.Err() // nobody will do it any more
		}
		return g.outcome(u) // it is being done: soon it is known how that went
	case <-g.done:
		return g.outcome(u)
	}
}

// outcome waits for a unit that the writer has taken. The loop may have answered
// just before it ended.
func (g *groupCommit) outcome(u *unit) error {
	select {
	case err := <-u.done:
		return err
	case <-g.done:
	}
	select {
	case err := <-u.done:
		return err
	default:
		return lineshaft.Unavailable(nil, "the server is stopping; try again")
	}
}

func (g *groupCommit) stop() {
	close(g.quit)
	<-g.done
}

// loop serves batches until stop is called and the queue is empty.
func (g *groupCommit) loop(ctx context.Context) {
	defer close(g.done)
	var waiting []*unit // callers of a lost transaction, to be tried again
	for {
		var first *unit
		if len(waiting) > 0 {
			first, waiting = waiting[0], waiting[1:]
		} else if first = g.next(); first == nil {
			g.finish(ctx)
			return
		}
		again := g.batch(ctx, first, &waiting)
		waiting = append(waiting, again...)
	}
}

// finish brings the log into the file, which nothing else does at the end: a copy of
// the file of a stopped server is then complete.
func (g *groupCommit) finish(ctx context.Context) {
	close(g.ripe)
	<-g.checkpointed
	_, err := g.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	g.forget() // SQLite keeps a connection open for as long as it has a statement
	if err := errors.Join(err, g.conn.Close()); err != nil {
		g.store.log.WarnContext(ctx, "close database writer", "err", err)
	}
}

func (g *groupCommit) next() *unit {
	select {
	case u := <-g.queue:
		return u
	case <-g.quit:
		select {
		case u := <-g.queue:
			return u
		default:
			return nil
		}
	}
}

// batch runs first and all other waiting callers in one transaction. It returns the
// callers to try again because the transaction was lost.
func (g *groupCommit) batch(ctx context.Context, first *unit, waiting *[]*unit) []*unit {
	if g.between != nil {
		g.between()
	}
	g.last = max(g.last+1, g.store.now().UnixMicro())
	if err := g.control(ctx, "BEGIN IMMEDIATE"); err != nil {
		first.done <- translate(err)
		return nil
	}
	var members []*unit
	began := time.Now()
	for u := first; u != nil; u = g.another(first, waiting, len(members), began) {
		if !u.retried && !u.begin() {
			continue
		}
		members = append(members, u)
		if len(members) == 1 {
			if !g.alone(ctx, u) {
				return nil
			}
			continue
		}
		if !g.member(ctx, u) {
			return g.lost(ctx, members, u)
		}
	}
	if err := g.control(ctx, "COMMIT"); err != nil {
		_ = g.control(ctx, "ROLLBACK")
		for _, u := range members {
			u.done <- translate(fmt.Errorf("commit: %w", err))
		}
		return nil
	}
	g.announce(members)
	g.shorten(ctx)
	return nil
}

// another picks the next caller for a running batch, or nil to close it. Callers of
// a lost transaction are tried again among themselves: a new one might lose it again.
func (g *groupCommit) another(first *unit, waiting *[]*unit, taken int, began time.Time) *unit {
	if taken >= maxBatch || time.Since(began) > g.batchTime {
		return nil
	}
	if first.retried {
		if len(*waiting) == 0 {
			return nil
		}
		u := (*waiting)[0]
		*waiting = (*waiting)[1:]
		return u
	}
	select {
	case u := <-g.queue:
		return u
	default:
		return nil
	}
}

// alone runs the first caller of a batch. It needs no savepoint: if it fails, nobody
// else's work is undone with it. It returns false when the batch is over.
func (g *groupCommit) alone(ctx context.Context, u *unit) bool {
	g.do(ctx, u)
	if u.err == nil {
		return true
	}
	_ = g.control(ctx, "ROLLBACK") // SQLite may have done it already
	u.done <- u.err
	return false
}

// do runs one caller's work.
func (g *groupCommit) do(ctx context.Context, u *unit) {
	q := &untilFailure{g: g}
	tx := &Tx{reader: reader{q: q, d: g.store.d}, store: g.store, number: g.last}
	u.err = protect(ctx, u.work, tx)
	u.topics = tx.topics
	if u.err == nil {
		u.err = translate(q.failed)
	}
}

// member runs one caller in a savepoint. It returns false when the transaction is gone.
func (g *groupCommit) member(ctx context.Context, u *unit) bool {
	if err := g.control(ctx, "SAVEPOINT member"); err != nil {
		u.err = translate(err)
		return false
	}
	g.do(ctx, u)
	if u.err != nil {
		if err := g.control(ctx, "ROLLBACK TO member"); err != nil {
			return false
		}
	}
	return g.control(ctx, "RELEASE member") == nil
}

// lost handles a transaction that SQLite ended on its own (disk full, I/O error): the
// caller at whose statement it happened gets the error, the others are tried again.
func (g *groupCommit) lost(ctx context.Context, members []*unit, culprit *unit) []*unit {
	_ = g.control(ctx, "ROLLBACK")
	var again []*unit
	for _, u := range members {
		switch {
		case u != culprit && !u.retried && u.err == nil:
			u.retried = true
			again = append(again, u)
		case u.err != nil:
			u.done <- u.err
		default:
			u.done <- lineshaft.Unavailable(nil, "the database cannot write now; the operator should check disk space and permissions")
		}
	}
	return again
}

func (g *groupCommit) announce(members []*unit) {
	var topics []string
	for _, u := range members {
		if u.err == nil {
			topics = append(topics, u.topics...)
		}
	}
	if len(topics) > 0 {
		g.store.wake(topics)
	}
	for _, u := range members {
		u.done <- u.err
	}
}

// protect turns a panic of the work into an error: the other callers of the batch
// must not pay for it.
func protect(ctx context.Context, work func(context.Context, *Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("work panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return work(ctx, tx)
}

// untilFailure refuses statements, and then the commit, after one that failed, as
// PostgreSQL does: SQLite may have ended the transaction, and later statements would be
// durable at once.
type untilFailure struct {
	g      *groupCommit
	failed error
}

func (q *untilFailure) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	if q.failed == nil {
		n, q.failed = q.g.exec(ctx, query, args...)
	}
	return n, q.failed
}

func (q *untilFailure) query(ctx context.Context, query string, args ...any) (rows cursor, err error) {
	if q.failed == nil {
		rows, q.failed = q.g.query(ctx, query, args...)
	}
	return rows, q.failed
}

func (g *groupCommit) control(ctx context.Context, statement string) error {
	_, err := g.exec(ctx, statement)
	return err
}

func (g *groupCommit) exec(ctx context.Context, query string, args ...any) (int64, error) {
	g.store.trips.Add(1)
	stmt, err := g.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return 0, err
	}
	return affected(stmt.ExecContext(ctx, args...))
}

func (g *groupCommit) query(ctx context.Context, query string, args ...any) (cursor, error) {
	g.store.trips.Add(1)
	stmt, err := g.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	return opened(stmt.QueryContext(ctx, args...))
}

func (g *groupCommit) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := g.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := g.conn.PrepareContext(ctx, positional(query))
	if err != nil {
		return nil, err
	}
	if len(g.stmts) >= maxPrepared {
		g.forget()
	}
	g.stmts[query] = stmt
	return stmt, nil
}

// forget drops all prepared statements: rarer than once in many thousand writes,
// and simpler than keeping track of use.
func (g *groupCommit) forget() {
	var errs error
	for query, stmt := range g.stmts {
		errs = errors.Join(errs, stmt.Close())
		delete(g.stmts, query)
	}
	if errs != nil {
		g.store.log.Warn("close prepared statements", "err", errs)
	}
}
