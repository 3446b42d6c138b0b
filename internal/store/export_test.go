package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// DB is the pool that the store reads from.
func (s *Store) DB() *sql.DB { return s.db }

// Exec runs a statement of a test in the store's transaction.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.exec(ctx, query, args...)
}

// Send runs a statement of a test whose outcome nothing waits for, and which must change that
// many rows, unless that is 0.
func (tx *Tx) Send(ctx context.Context, rows int, what, query string, args ...any) error {
	return tx.sendFor(ctx, rows, what, query, args...)
}

// Query reads the rows of a test's statement, in the store's transaction.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (cursor, error) {
	return tx.q.query(ctx, query, args...)
}

// Each reads the rows of a test's statement outside of a transaction.
func (s *Store) Each(ctx context.Context, query string, fn func(scan func(...any) error) error) error {
	return s.each(ctx, query, nil, fn)
}

// Statement is a statement as the store sent it.
type Statement struct {
	Text string
	Args []any
}

// Recorder keeps the statements that pass through it.
type Recorder struct {
	// Before, if set, is called with each statement before it is sent.
	Before func(query string)
	inner  querier
	mu     sync.Mutex
	seen   []Statement
}

// Record keeps what the store reads from now on. Nobody else may use the store yet.
func (s *Store) Record() *Recorder {
	r := &Recorder{inner: s.q}
	s.q = r
	return r
}

// Record keeps what the transaction reads and writes from now on.
func (tx *Tx) Record() *Recorder {
	r := &Recorder{inner: tx.q}
	tx.q = r
	return r
}

// Take returns the statements since the last call.
func (r *Recorder) Take() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func (r *Recorder) keep(query string, args []any) {
	if r.Before != nil {
		r.Before(query)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, Statement{Text: query, Args: args})
}

func (r *Recorder) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r.keep(query, args)
	return r.inner.exec(ctx, query, args...)
}

func (r *Recorder) query(ctx context.Context, query string, args ...any) (cursor, error) {
	r.keep(query, args)
	return r.inner.query(ctx, query, args...)
}

// Translate is translate, for statements that tests send themselves.
func Translate(err error) error { return translate(err) }

// SetBudget makes pages short that look at more rows than this. Nobody else may
// use the store yet.
func (s *Store) SetBudget(rows int) { s.budget = rows }

// DeleteAttachments is deleteAttachments, for tests that stop between two steps.
func (tx *Tx) DeleteAttachments(ctx context.Context, runID string) error {
	return tx.deleteAttachments(ctx, runID)
}

// SetClock makes the store take this expression for the database's clock. Nobody
// else may use the store yet.
func (s *Store) SetClock(expression string) {
	d := *s.d
	d.now = expression
	s.d = &d
}

// MakeOld makes a database with the first migrations only, as an older binary did.
func MakeOld(ctx context.Context, database string, version int) (*sql.DB, error) {
	engine, driver := "sqlite", "sqlite"
	if IsPostgres(database) {
		engine, driver = "postgres", "pgx"
	}
	db, err := sql.Open(driver, database)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	texts, err := Migrations(engine)
	if err != nil {
		return nil, err
	}
	s := schemaConn{conn}
	if _, err := s.version(ctx); err != nil {
		return nil, err
	}
	for number := 1; number <= version; number++ {
		if err := s.apply(ctx, texts[number-1], number, time.UnixMicro(1)); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// SettleSome settles in a transaction that the test ends.
func (tx *Tx) SettleSome(ctx context.Context, limit int) (bool, error) {
	ids, err := tx.texts(ctx, "SELECT run_id FROM run_backlog LIMIT $1", limit)
	if err != nil {
		return false, err
	}
	return tx.settleChanged(ctx, append(ids, "none"), nil)
}

// SettleSizes is how many runs each write takes that settles all that is noted.
func (s *Store) SettleSizes(ctx context.Context) (sizes []int, err error) {
	ids, err := s.texts(ctx, "SELECT DISTINCT run_id FROM run_backlog")
	if err != nil {
		return nil, err
	}
	all, err := s.readCame(ctx, ids)
	for _, batch := range s.weigh(ids, all) {
		sizes = append(sizes, len(batch))
	}
	return sizes, err
}

// ChunkBytes is the size of a blob's rows.
const ChunkBytes = chunkBytes

// OpenAt opens a database with the schema of an older version.
func OpenAt(ctx context.Context, opts Options, version int) (*Store, error) {
	opts.upTo = version
	return Open(ctx, opts)
}

// OpenHasty opens a database without patience for tables that others hold.
func OpenHasty(ctx context.Context, opts Options, lock time.Duration, tries int) (*Store, error) {
	opts.patience = patience{lock: lock, pause: lock, tries: tries}
	return Open(ctx, opts)
}

// ForgetBodies empties what callbacks said about a run.
func (s *Store) ForgetBodies(ctx context.Context, runID string) error {
	return s.forgetBodies(ctx, runID)
}

// SettleSomeDeliveries settles a few deliveries, however new they are.
func (tx *Tx) SettleSomeDeliveries(ctx context.Context, limit int) error {
	ids, err := tx.unsettledDeliveries(ctx)
	if ids = ids[:min(len(ids), limit)]; err != nil || len(ids) == 0 {
		return err
	}
	return tx.settleDeliveries(ctx, ids)
}

// MostFits is how many stretches of logs are remembered.
const MostFits = mostFits

// RememberStretches measures so many, and asks for the first of them after each. It says whether that one and
// the second are still there, and how many are.
func RememberStretches(many int) (first, second bool, n int) {
	var f fits
	for i := range int64(many) {
		f.put(stretch{"run", i, i + 1, 1}, fit{i, i})
		f.get(stretch{"run", 0, 1, 1})
	}
	_, first = f.get(stretch{"run", 0, 1, 1})
	_, second = f.get(stretch{"run", 1, 2, 1})
	return first, second, len(f.known)
}

// Roomier is roomier.
func Roomier(n int) int { return roomier(n) }
