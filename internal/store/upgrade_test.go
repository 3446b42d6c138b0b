package store_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// oldRows are all rows of a database by table, with the columns that it has.
func oldRows(t *testing.T, db *sql.DB, database string, columns map[string][]string) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for table, names := range columns {
		fields := make([]string, len(names))
		for i, name := range names {
			fields[i] = "'" + name + "=' || COALESCE(CAST(" + name + " AS TEXT), 'NULL')"
			if !store.IsPostgres(database) { // whose bytes would end at the first zero
				fields[i] = "'" + name + "=' || quote(" + name + ")"
			}
		}
		for _, row := range texts(t, db, "SELECT "+strings.Join(fields, " || ' ' || ")+" FROM "+table) {
			rows[table] = append(rows[table], row[0])
		}
		slices.Sort(rows[table])
	}
	return rows
}

// oldColumns are the columns of every table that both engines have.
func oldColumns(t *testing.T, db *sql.DB, database string) map[string][]string {
	t.Helper()
	query := "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
	if !store.IsPostgres(database) {
		query = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c " +
			"WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
	}
	columns := map[string][]string{}
	for _, row := range texts(t, db, query) {
		if !ownTable(row[0]) {
			columns[row[0]] = append(columns[row[0]], row[1])
		}
	}
	return columns
}

// Every database that an earlier program has written gets the newest schema and keeps all of its rows.
func TestD3DatabasesOfEveryVersion(t *testing.T) {
	t.Parallel()
	newest, err := store.SchemaVersion()
	must(t, err)
	if versions := storetest.OldVersions(t); len(versions) < 11 || slices.Max(versions) != newest-1 {
		t.Errorf("there are databases of schemas %v, and %d comes before the newest: add it with tests/upgrade/make", versions, newest-1)
	}
	storetest.EachOld(t, func(t *testing.T, old storetest.Old) {
		raw, err := sql.Open(map[bool]string{true: "pgx", false: "sqlite"}[store.IsPostgres(old.Database)], old.Database)
		must(t, err)
		t.Cleanup(func() { _ = raw.Close() })
		if got := texts(t, raw, "SELECT MAX(version) FROM schema_version")[0][0]; got != fmt.Sprint(old.Version) {
			t.Fatalf("the file has schema %s", got)
		}
		columns := oldColumns(t, raw, old.Database)
		before := oldRows(t, raw, old.Database, columns)
		must(t, raw.Close())
		if len(before["runs"]) < 4 || len(before["events"]) < 20 || old.Version > 1 && len(before["deliveries"]) != 1 {
			t.Fatalf("%d runs, %d events, %d deliveries in the file", len(before["runs"]), len(before["events"]), len(before["deliveries"]))
		}
		s, err := store.Open(t.Context(), store.Options{Database: old.Database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		must(t, s.CheckSchema(t.Context()))
		after := oldRows(t, s.DB(), old.Database, columns)
		for table, rows := range before {
			for _, row := range rows {
				if !slices.Contains(after[table], row) {
					t.Errorf("%s: gone or changed: %.300s", table, row)
				}
			}
		}
	})
}
