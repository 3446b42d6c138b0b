package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// ownTable names the tables that differ by design: the full-text index is each
// engine's own kind of table, and SQLite keeps its parts in tables beside it.
func ownTable(name string) bool {
	return name == "run_search" || strings.HasPrefix(name, "run_search_")
}

// plain brings a type or a condition of either engine into one form.
func plain(text string) string {
	text = strings.NewReplacer("::text", "", "(", "", ")", "", " ", "", "\n", "", `"`, "").Replace(strings.ToLower(text))
	return strings.ReplaceAll(text, "blob", "bytea")
}

func texts(t *testing.T, db *sql.DB, query string, args ...any) [][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var all [][]string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		dest := make([]any, len(columns))
		for i := range cells {
			dest[i] = &cells[i]
		}
		must(t, rows.Scan(dest...))
		row := make([]string, len(columns))
		for i, cell := range cells {
			row[i] = cell.String
		}
		all = append(all, row)
	}
	must(t, rows.Err())
	return all
}

// schemaLines describes a schema: a line for each column and each index.
func schemaLines(t *testing.T, s *store.Store) []string {
	t.Helper()
	lines := liteLines
	if s.Engine() == "postgres" {
		lines = pgLines
	}
	found := map[string]bool{}
	for _, line := range lines(t, s.DB()) {
		found[line] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func columnLine(table, column, kind string, nullable bool) string {
	return fmt.Sprintf("%s.%s %s null=%v", table, column, plain(kind), nullable)
}

func indexLine(table string, columns []string, unique bool, where string) string {
	return fmt.Sprintf("%s (%s) unique=%v where %s", table, strings.Join(columns, ", "), unique, plain(where))
}

func liteLines(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var lines []string
	for _, table := range texts(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
		name := table[0]
		if ownTable(name) {
			continue
		}
		for _, column := range texts(t, db, "SELECT name, type, \"notnull\", pk FROM pragma_table_info($1)", name) {
			lines = append(lines, columnLine(name, column[0], column[1], column[2] == "0"))
			if column[1] == "INTEGER" && column[3] == "1" { // the row's own number, which needs no index
				lines = append(lines, indexLine(name, column[:1], true, ""))
			}
		}
		for _, index := range texts(t, db, "SELECT l.name, l.\"unique\", m.sql FROM pragma_index_list($1) l LEFT JOIN sqlite_master m ON m.name = l.name", name) {
			var columns []string
			for _, column := range texts(t, db, "SELECT name FROM pragma_index_info($1)", index[0]) {
				columns = append(columns, column[0])
			}
			_, where, _ := strings.Cut(index[2], " WHERE ")
			lines = append(lines, indexLine(name, columns, index[1] == "1", where))
		}
	}
	return lines
}

func pgLines(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var lines []string
	for _, column := range texts(t, db, `SELECT table_name, column_name, data_type, is_nullable, collation_name FROM information_schema.columns
		WHERE table_schema = current_schema()`) {
		if ownTable(column[0]) {
			continue
		}
		lines = append(lines, columnLine(column[0], column[1], column[2], column[3] == "YES"))
		if column[2] == "text" && column[4] != "C" {
			t.Errorf("%s.%s is not sorted as bytes", column[0], column[1])
		}
	}
	for _, index := range texts(t, db, `SELECT c.relname, i.indisunique, COALESCE(pg_get_expr(i.indpred, i.indrelid), ''),
		(SELECT string_agg(a.attname, ',' ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place)
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema()`) {
		if !ownTable(index[0]) {
			lines = append(lines, indexLine(index[0], strings.Split(index[3], ","), index[1] == "true", index[2]))
		}
	}
	return lines
}

func TestD1SchemasAreTheSame(t *testing.T) {
	t.Parallel()
	open := func(database string) *store.Store {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	pg := schemaLines(t, open(storetest.EmptyPostgres(t)))
	lite := schemaLines(t, open(filepath.Join(t.TempDir(), "test.db")))
	if len(lite) < 100 {
		t.Fatalf("only %d lines: %v", len(lite), lite)
	}
	for _, line := range lite {
		own := strings.HasPrefix(line, "run_list.number ") || strings.HasPrefix(line, "run_list (number) ") // of its index of words
		if !own && !slices.Contains(pg, line) {
			t.Errorf("only in SQLite: %s", line)
		}
	}
	for _, line := range pg {
		if !slices.Contains(lite, line) {
			t.Errorf("only in PostgreSQL: %s", line)
		}
	}
}

// The lists in the schema's checks are those of the domain.
func TestStatesOfTheSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		try := func(state lineshaft.RunState) error {
			n := newRun(s)
			n.Head.State = state
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertRun(ctx, n, nil) })
		}
		for _, state := range lineshaft.RunStates() {
			must(t, try(state))
		}
		for _, state := range []lineshaft.RunState{"", "queued", "DONE", "SUCCEEDED "} {
			if err := try(state); err == nil {
				t.Errorf("state %q was stored", state)
			}
		}
	})
}

func TestArtifactTypesOfTheSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		try := func(kind lineshaft.ArtifactType) error {
			uid, _ := s.NewID()
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, run)
				if err != nil {
					return err
				}
				return tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: uid, Type: kind})
			})
		}
		for _, kind := range lineshaft.ArtifactTypes() {
			must(t, try(kind))
		}
		if err := try("PAINTING"); err == nil {
			t.Error("an unknown type was stored")
		}
	})
}

// The words that the schema takes are those of the domain.
func TestWordsOfTheSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, c := range map[string]struct {
			good, bad []string
			insert    func(ctx context.Context, tx *store.Tx, word string) error
		}{
			"agent type": {
				[]string{"CUSTOM", "FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY"},
				[]string{"", "MAIN", "custom"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					a := newAgent(s, rowID(s), "a")
					a.Type = lineshaft.AgentType(word)
					return tx.PutAgent(ctx, a)
				},
			},
			"factory mode": {
				[]string{"managed", "repository"},
				[]string{"", "MANAGED"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					f := newFactory(s, "")
					f.Mode = lineshaft.FactoryMode(word)
					return tx.InsertFactory(ctx, f)
				},
			},
			"auth mode": {
				[]string{"token", "url_token", "signature"},
				[]string{"", "none"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					w := newWebhook(s, rowID(s), "w")
					w.AuthMode = lineshaft.AuthMode(word)
					return tx.PutWebhook(ctx, w)
				},
			},
			"secret kind": {
				[]string{"managed", "webhook"},
				[]string{"", "file"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					return tx.InsertSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: rowID(s), Kind: lineshaft.SecretKind(word), Access: lineshaft.AccessRuns}})
				},
			},
			"secret access": {
				[]string{"granted", "runs"},
				[]string{"", "all"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					return tx.InsertSecret(ctx, store.Secret{Secret: lineshaft.Secret{Name: rowID(s), Kind: lineshaft.SecretManaged, Access: lineshaft.SecretAccess(word)}})
				},
			},
			"delivery status": {
				[]string{"accepted", "duplicate", "rejected_auth", "rejected_invalid_json", "rejected_too_large"},
				[]string{"", "lost"},
				func(ctx context.Context, tx *store.Tx, word string) error {
					d := newDelivery(s, "w")
					d.Status = lineshaft.DeliveryStatus(word)
					return tx.InsertDeliveries(ctx, []store.NewDelivery{d})
				},
			},
		} {
			try := func(word string) error {
				return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return c.insert(ctx, tx, word) })
			}
			for _, word := range c.good {
				if err := try(word); err != nil {
					t.Errorf("%s %q: %v", name, word, err)
				}
			}
			for _, word := range c.bad {
				if err := try(word); lineshaft.CodeOf(err) != lineshaft.CodeInternal {
					t.Errorf("%s %q: %v", name, word, err)
				}
			}
		}
	})
}
