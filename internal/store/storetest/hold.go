package storetest

import (
	"database/sql"
	"testing"
	"time"
)

// Held is what nobody else can have in PostgreSQL, such as a table, so that a test can decide
// what happens between two statements.
type Held struct {
	t  *testing.T
	db *sql.DB
	tx *sql.Tx
}

// Hold takes a table until Release: nobody else can read or write it.
func Hold(t *testing.T, database, table string) *Held {
	t.Helper()
	return HoldBy(t, database, "LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
}

// HoldBy takes what a statement locks until Release.
func HoldBy(t *testing.T, database, statement string, args ...any) *Held {
	t.Helper()
	h := &Held{t: t, db: connect(t, database)}
	tx, err := h.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	h.tx = tx
	h.Change(statement, args...)
	return h
}

// Change runs a statement, which others see after Release.
func (h *Held) Change(statement string, args ...any) {
	h.t.Helper()
	if _, err := h.tx.ExecContext(h.t.Context(), statement, args...); err != nil {
		h.t.Fatal(err)
	}
}

// Waiting returns once someone waits for it.
func (h *Held) Waiting() { h.WaitingUntil(1, nil) }

// WaitingUntil returns once so many wait for it, or when over is closed.
func (h *Held) WaitingUntil(many int, over <-chan struct{}) {
	h.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for waiting := 0; waiting < many; {
		row := h.db.QueryRowContext(h.t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
		if err := row.Scan(&waiting); err != nil {
			h.t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-over:
			return
		case <-limit:
			h.t.Fatalf("%d wait for it, want %d", waiting, many)
		}
	}
}

// Release lets the others have the table, with what was changed.
func (h *Held) Release() {
	h.t.Helper()
	if err := h.tx.Commit(); err != nil {
		h.t.Fatal(err)
	}
}
