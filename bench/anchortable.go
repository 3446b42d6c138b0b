package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// openAnchorTable makes the table of an anchor with its history.
func openAnchorTable(ctx context.Context, order anchorOrder) (anchorTable, error) {
	db, err := sql.Open(order.Driver, order.DSN)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range anchorSchemas()[order.Engine] {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), db.Close())
		}
	}
	if err := fillAnchor(ctx, db, order); err != nil {
		return nil, errors.Join(fmt.Errorf("fill: %w", err), db.Close())
	}
	if order.Engine == postgres {
		if err := db.Close(); err != nil {
			return nil, err
		}
		conn, err := pgx.Connect(ctx, order.DSN)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		return &pgAnchor{conn: conn, two: order.Kind == anchorTwo}, nil
	}
	return newLiteAnchor(ctx, db, order.Kind == anchorTwo)
}

// anchorSchemas make the tables: a time-ordered key, and a unique index that finds
// deliveries sent again.
func anchorSchemas() map[string][]string {
	return map[string][]string{
		sqlite: {
			"PRAGMA journal_mode = WAL", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -65536", "PRAGMA temp_store = MEMORY",
			"CREATE TABLE log (id TEXT NOT NULL PRIMARY KEY, webhook TEXT NOT NULL, identity TEXT NOT NULL, body BLOB NOT NULL)",
			"CREATE UNIQUE INDEX log_identity ON log (webhook, identity)",
			"CREATE TABLE started (id TEXT NOT NULL PRIMARY KEY, log_id TEXT NOT NULL, state TEXT NOT NULL, prompt TEXT NOT NULL)",
		},
		postgres: {
			"CREATE TABLE log (id UUID NOT NULL PRIMARY KEY, webhook TEXT NOT NULL, identity TEXT NOT NULL, body BYTEA NOT NULL)",
			"CREATE UNIQUE INDEX log_identity ON log (webhook, identity)",
			"CREATE TABLE started (id UUID NOT NULL PRIMARY KEY, log_id UUID NOT NULL, state TEXT NOT NULL, prompt TEXT NOT NULL)",
		},
	}
}

func fillAnchor(ctx context.Context, db *sql.DB, order anchorOrder) error {
	past := newPast()
	err := insertMany(ctx, db, order.Engine, "log (id, webhook, identity, body)", 4, order.History, func(i int) []any {
		return []any{past.id(i), webhookName(i % ingressHooks), past.identity(i), []byte("{}")}
	})
	if err != nil {
		return err
	}
	after := map[string][]string{
		sqlite:   {"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA synchronous = FULL"},
		postgres: {"VACUUM ANALYZE", "CHECKPOINT"},
	}
	for _, statement := range after[order.Engine] {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// startedPrompt is what the second row of an anchor holds besides its ids.
func startedPrompt() string { return strings.Repeat("Look at the delivery. ", 20) }

// liteAnchor writes to SQLite with statements that are prepared once.
type liteAnchor struct {
	db                       *sql.DB
	conn                     *sql.Conn
	begin, commit, log, more *sql.Stmt
	// prompt is the second row's prompt; empty when there is none.
	prompt string
}

func newLiteAnchor(ctx context.Context, db *sql.DB, two bool) (*liteAnchor, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	a := &liteAnchor{db: db, conn: conn}
	if two {
		a.prompt = startedPrompt()
	}
	for _, prepared := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&a.begin, "BEGIN IMMEDIATE"},
		{&a.commit, "COMMIT"},
		{&a.log, "INSERT INTO log (id, webhook, identity, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
		{&a.more, "INSERT INTO started (id, log_id, state, prompt) VALUES (?, ?, 'QUEUED', ?)"},
	} {
		if *prepared.stmt, err = conn.PrepareContext(ctx, prepared.text); err != nil { //nolint:sqlclosecheck // they end with the connection
			return nil, errors.Join(err, conn.Close(), db.Close())
		}
	}
	return a, nil
}

func (a *liteAnchor) write(ctx context.Context, rows []*anchorRow) error {
	if _, err := a.begin.ExecContext(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		if err := a.insert(ctx, row); err != nil {
			_, undo := a.conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, undo)
		}
	}
	_, err := a.commit.ExecContext(ctx)
	return err
}

func (a *liteAnchor) insert(ctx context.Context, row *anchorRow) error {
	if _, err := a.log.ExecContext(ctx, row.id, row.webhook, row.identity, row.body); err != nil {
		return err
	}
	if a.prompt == "" {
		return nil
	}
	_, err := a.more.ExecContext(ctx, row.id, row.id, a.prompt)
	return err
}

func (a *liteAnchor) close(context.Context) error { return errors.Join(a.conn.Close(), a.db.Close()) }

// pgAnchor writes to PostgreSQL, each batch in one statement.
type pgAnchor struct {
	conn *pgx.Conn
	two  bool
}

const (
	pgAnchorOne = `INSERT INTO log (id, webhook, identity, body)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[]) ON CONFLICT DO NOTHING`
	pgAnchorTwo = "WITH logged AS (" + pgAnchorOne + ` RETURNING id)
		INSERT INTO started (id, log_id, state, prompt) SELECT id, id, 'QUEUED', $5 FROM logged`
)

func (a *pgAnchor) write(ctx context.Context, rows []*anchorRow) error {
	ids, webhooks, identities := make([]string, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	bodies := make([][]byte, len(rows))
	for i, row := range rows {
		ids[i], webhooks[i], identities[i], bodies[i] = row.id, row.webhook, row.identity, row.body
	}
	args := []any{ids, webhooks, identities, bodies}
	statement := pgAnchorOne
	if a.two {
		statement, args = pgAnchorTwo, append(args, startedPrompt())
	}
	_, err := a.conn.Exec(ctx, statement, args...)
	return err
}

func (a *pgAnchor) close(ctx context.Context) error { return a.conn.Close(ctx) }
