package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// fillStep is how many runs one statement makes.
	fillStep = 50_000
	// fillBegan is when the first run was created, in milliseconds; another follows
	// every fillEvery.
	fillBegan = 1_735_689_600_000
	fillEvery = 20_000
)

// fillID is the id of run number i: a UUID of version 7 that carries its time.
func fillID(i int) string {
	h := fmt.Sprintf("%012x", fillBegan+int64(i)*fillEvery)
	return fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], i)
}

// fillCreated and fillUpdated are the times of run number i.
func fillCreated(i int) time.Time { return time.UnixMilli(fillBegan + int64(i)*fillEvery).UTC() }

func fillUpdated(i int) time.Time {
	return fillCreated(i).Add(time.Duration(i*104729%3607) * time.Second)
}

// fillDatabase returns a database with that many ended runs. It is made once.
func (s *session) fillDatabase(ctx context.Context, engine string, runs int) (*database, error) {
	key := fmt.Sprintf("%s-%d", engine, runs)
	if db := s.filled[key]; db != nil {
		return db, nil
	}
	db, err := s.newDatabase(ctx, engine, "filled")
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(ctx, store.Options{Database: db.url}) // for the schema
	if err != nil {
		return nil, fmt.Errorf("make schema: %w", err)
	}
	if err := opened.Close(); err != nil {
		return nil, fmt.Errorf("make schema: %w", err)
	}
	err = db.with(ctx, func(ctx context.Context, raw *sql.DB) error { return s.fill(ctx, raw, engine, runs) })
	if err != nil {
		return nil, fmt.Errorf("fill database: %w", err)
	}
	s.filled[key] = db
	return db, nil
}

// fill writes the runs without the indexes, which are made afterwards: sorting is
// much faster than a million random insertions into each.
func (s *session) fill(ctx context.Context, db *sql.DB, engine string, runs int) error {
	d := fillDialects()[engine]
	for _, statement := range d.before {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	indexes, err := secondaryIndexes(ctx, db, d.indexes)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if _, err := db.ExecContext(ctx, "DROP INDEX "+index.name); err != nil {
			return fmt.Errorf("drop index %s: %w", index.name, err)
		}
	}
	s.progress.stepf("fill %s with %s runs", engine, thousands(int64(runs)))
	for from := 0; from < runs; from += fillStep {
		until := min(from+fillStep, runs)
		for _, statement := range d.statements() {
			if _, err := db.ExecContext(ctx, statement, from, until); err != nil {
				return fmt.Errorf("insert: %w\n%s", err, statement)
			}
		}
		s.progress.at(until, runs)
	}
	for _, statement := range d.settled() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("settle: %w\n%s", err, statement)
		}
	}
	after := d.after
	for i, index := range indexes {
		s.progress.stepf("index %s: %s, %d of %d", engine, index.name, i+1, len(indexes))
		if _, err := db.ExecContext(ctx, index.definition); err != nil {
			return fmt.Errorf("make index %s: %w", index.name, err)
		}
	}
	for _, statement := range after {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// index is one that can be made again.
type index struct{ name, definition string }

func secondaryIndexes(ctx context.Context, db *sql.DB, query string) (found []index, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list indexes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var i index
		if err := rows.Scan(&i.name, &i.definition); err != nil {
			return nil, fmt.Errorf("list indexes: %w", err)
		}
		found = append(found, i)
	}
	if len(found) == 0 {
		return nil, errors.New("list indexes: there are none")
	}
	return found, rows.Err()
}

// fillDialect is what differs between the engines.
type fillDialect struct {
	before, after []string
	// indexes lists those of the filled tables that are not part of a constraint.
	indexes string
	// hex12 writes a number as 12 hexadecimal digits.
	hex12 string
	// search makes the search entries of texts; SQLite's know a run by its number in run_list.
	search, number, numberOf string
	// began and every are fillBegan and fillEvery, or those of recent runs.
	began, every int64
	// factory names the factory of a run by its number from 0 to 4.
	factory string
}

// fillFactory is the name of a factory that does not exist.
const fillFactory = "'factory' || CAST(works / 5 AS TEXT)"

const filledTables = "('runs', 'run_bodies', 'run_tags', 'executions', 'events', 'run_search', 'run_list')"

func fillDialects() map[string]fillDialect {
	return map[string]fillDialect{
		sqlite: {
			before:  []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144", "PRAGMA temp_store = MEMORY"},
			after:   []string{"PRAGMA wal_checkpoint(TRUNCATE)"},
			indexes: "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN " + filledTables + " ORDER BY name",
			hex12:   "printf('%%012x', %s)",
			search:  "INSERT INTO run_search (rowid, words) SELECT (SELECT rowid FROM runs WHERE runs.id = d.id), %s FROM d",
			number:  "number, ", numberOf: "rowid, ",
			began: fillBegan, every: fillEvery, factory: fillFactory,
		},
		postgres: {
			before: []string{"SET synchronous_commit = off", "SET maintenance_work_mem = '256MB'"},
			// As the server itself does in time.
			after: []string{"VACUUM ANALYZE", "CHECKPOINT"},
			indexes: `SELECT i.indexname, i.indexdef FROM pg_indexes i WHERE i.schemaname = current_schema() AND i.tablename IN ` + filledTables + `
				AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname) ORDER BY 1`,
			hex12:  "lpad(to_hex(%s), 12, '0')",
			search: "INSERT INTO run_search (run_id, words) SELECT id, array_to_tsvector(string_to_array(%s, ' ')) FROM d",
			began:  fillBegan, every: fillEvery, factory: fillFactory,
		},
	}
}

// id writes the id of the run whose number is an SQL expression, as fillID does.
func (d fillDialect) id(number string) string {
	h := fmt.Sprintf(d.hex12, fmt.Sprintf("%d + (%s) * %d", d.began, number, d.every))
	return "substr(" + h + ", 1, 8) || '-' || substr(" + h + ", 9, 4) || '-7000-8000-' || " + fmt.Sprintf(d.hex12, "CAST("+number+" AS BIGINT)")
}

// dice gives each run some numbers from 0 to 99 that have nothing to do with each
// other or with its age.
func dice() string {
	var out strings.Builder
	for k, name := range []string{"outcome", "origin", "person", "agent", "model", "place", "talent", "plan", "works", "family", "host", "team", "urgent", "made"} {
		prime := []int{10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093, 10099, 10103, 10111, 10133}[k]
		fmt.Fprintf(&out, ", ((i * %d + %d) %% %d) %% 100 AS %s", 7919+2*k, 31*k, prime, name)
	}
	return out.String()
}

// numbered begins a statement with the runs $1 to $2, exclusively, as the table d.
func (d fillDialect) numbered() string {
	created := fmt.Sprintf("(%d + i * %d) * 1000", d.began, d.every)
	return `WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2),
d AS (SELECT i, ` + d.id("i") + ` AS id, ` + created + ` AS created, ` + created + ` + i * 104729 % 3607 * 1000000 AS updated` + dice() + ` FROM n)
`
}
