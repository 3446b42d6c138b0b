package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// backupOf writes a backup of a database that may be open.
func backupOf(t *testing.T, database string) ([]byte, store.BackupSummary) {
	t.Helper()
	snapshot, err := store.OpenReadOnly(t.Context(), database)
	must(t, err)
	var file bytes.Buffer
	found, err := snapshot.Backup(t.Context(), &file, nil)
	must(t, err)
	must(t, snapshot.Close())
	return file.Bytes(), found
}

func restoreInto(t *testing.T, database string, file []byte) (store.BackupSummary, error) {
	t.Helper()
	return store.Restore(t.Context(), store.Options{Database: database}, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(file)), nil
	}, nil)
}

// odd has rows that a careless copy changes: quotes, markup, long numbers, bytes.
func odd(t *testing.T, s *store.Store) (runID string) {
	t.Helper()
	runID = insertRun(t, s, func(n *store.NewRun) {
		n.Title = `"quoted" <b>&amp;</b> \u0041 ünï ` + "\u2028\r\n\t"
		n.Body.Prompt = strings.Repeat("long ", 50_000)
	})
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO blobs (id, size, run_id, created_at, expires_at) VALUES ('b1', 9007199254740993, $1, 1, 0), ('away', 7, $1, 1, 0)", runID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO blob_chunks (blob_id, number, data) VALUES ('b1', 0, $1), ('b1', 1, $2)", []byte{0, 255, '\n', '"', 128}, []byte{})
		return err
	})
	return runID
}

// storedTables lists tables with their columns, in the engine's own words.
func storedTables(t *testing.T, s *store.Store) []string {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 6) <> 'sqlite' AND substr(name, 1, 10) <> 'run_search'"
	if s.Engine() == "postgres" {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'run_search'"
	}
	var names []string
	for _, row := range texts(t, s.DB(), query) {
		if row[0] != "schema_version" {
			names = append(names, row[0])
		}
	}
	slices.Sort(names)
	return names
}

// sameRows compares two databases row by row, whatever their engines.
func sameRows(t *testing.T, was, is *store.Store, except ...string) {
	t.Helper()
	names := storedTables(t, was)
	if other := storedTables(t, is); !slices.Equal(names, other) {
		t.Fatalf("tables %v, then %v", names, other)
	}
	for _, table := range names {
		if slices.Contains(except, table) {
			continue
		}
		rows := func(s *store.Store) []string {
			var lines []string
			for _, row := range texts(t, s.DB(), "SELECT * FROM "+table) {
				lines = append(lines, strings.Join(row, "\x00"))
			}
			slices.Sort(lines)
			return lines
		}
		if a, b := rows(was), rows(is); !slices.Equal(a, b) {
			t.Errorf("%s differs: %d rows, then %d", table, len(a), len(b))
		}
	}
}

// A backup of either engine fills a database of either engine, row by row.
func TestD4BackupRestoresOnBothEngines(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, from string) {
		was, err := store.Open(t.Context(), store.Options{Database: from})
		must(t, err)
		t.Cleanup(func() { _ = was.Close() })
		runID := odd(t, was)
		file, found := backupOf(t, from) // while the store is open
		if found.Outside != 1 || found.Rows < 5 || found.Engine != was.Engine() {
			t.Fatalf("summary %+v", found)
		}
		storetest.EachEmpty(t, func(t *testing.T, to string) {
			back, err := restoreInto(t, to, file)
			must(t, err)
			if back.Rows != found.Rows || back.Tables != found.Tables {
				t.Fatalf("restored %+v of %+v", back, found)
			}
			is, err := store.Open(t.Context(), store.Options{Database: to})
			must(t, err)
			defer is.Close()
			except := []string{"run_list", "run_backlog"} // what lists look at
			if is.Engine() == "postgres" {
				except = append(except, "events") // their transactions have other numbers
			}
			sameRows(t, was, is, except...)
			if n := texts(t, is.DB(), "SELECT id FROM run_list"); len(n) != 1 || n[0][0] != runID || len(texts(t, is.DB(), "SELECT * FROM run_backlog")) != 0 {
				t.Fatalf("settled: %v, want %s", n, runID)
			}
		})
	})
}

// A copy shows one moment: no write during the copy is half in it.
func TestD4BackupIsOneMoment(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		defer s.Close()
		insertRun(t, s, nil)
		snapshot, err := store.OpenReadOnly(t.Context(), database)
		must(t, err)
		defer snapshot.Close()
		seen := map[string]int64{}
		var file bytes.Buffer
		_, err = snapshot.Backup(t.Context(), &file, func(table string, rows int64) {
			seen[table] = rows
			insertRun(t, s, nil) // after each table
		})
		must(t, err)
		if seen["runs"] != 1 || seen["events"] != 1 || seen["run_bodies"] != 1 {
			t.Fatalf("runs %d, events %d, bodies %d: not of one moment", seen["runs"], seen["events"], seen["run_bodies"])
		}
	})
}

// A file that was cut off or changed is refused, and leaves nothing in the way of a
// second try.
func TestD4DamagedBackupRestoresNothing(t *testing.T) {
	t.Parallel()
	from := storetest.SQLite(t)
	s, err := store.Open(t.Context(), store.Options{Database: from})
	must(t, err)
	odd(t, s)
	must(t, s.Close())
	file, _ := backupOf(t, from)
	plain := unzip(t, file)
	damaged := map[string][]byte{
		"nothing":         {},
		"another file":    []byte("PK\x03\x04 this is no backup"),
		"half":            file[:len(file)/2],
		"last byte":       file[:len(file)-1],
		"without end":     zipped(t, plain[:bytes.LastIndex(plain[:len(plain)-1], []byte("\n"))+1]),
		"a changed row":   zipped(t, bytes.Replace(plain, []byte("long long"), []byte("lang long"), 1)),
		"a lost row":      zipped(t, without(plain, []byte(`["b1",0,`))),
		"a row twice":     zipped(t, twice(plain, []byte(`["b1",0,`))),
		"more after it":   zipped(t, append(slices.Clone(plain), "[1]\n"...)),
		"a hostile table": zipped(t, bytes.Replace(plain, []byte(`"name":"blobs"`), []byte(`"name":"blobs; DROP TABLE runs"`), 1)),
		"no such table":   zipped(t, bytes.Replace(plain, []byte(`"name":"blobs"`), []byte(`"name":"nobody"`), 1)),
		"schema's table":  zipped(t, bytes.Replace(plain, []byte(`"name":"blobs"`), []byte(`"name":"schema_version"`), 1)),
		"no such column":  zipped(t, bytes.Replace(plain, []byte(`"columns":["id",`), []byte(`"columns":["nobody",`), 1)),
		"a column twice":  zipped(t, bytes.Replace(plain, []byte(`"columns":["id",`), []byte(`"columns":["id","id",`), 1)),
		"many columns":    zipped(t, bytes.Replace(plain, []byte(`"columns":["id",`), []byte(`"columns":["id",`+strings.Repeat(`"id",`, 40_000)), 1)),
		"many values":     zipped(t, bytes.Replace(plain, []byte(`["b1",0,`), []byte(`["b1",0,`+strings.Repeat("1,", 1<<20)), 1)),
		"a deep value":    zipped(t, bytes.Replace(plain, []byte(`["b1",0,`), []byte(`["b1",[[1]],`), 1)),
		"a fraction":      zipped(t, bytes.Replace(plain, []byte(`["b1",0,`), []byte(`["b1",0.5,`), 1)),
		"two rows a line": zipped(t, bytes.Replace(plain, []byte(`["b1",0,`), []byte(`["b1"]["b1",0,`), 1)),
		"newer format":    zipped(t, bytes.Replace(plain, []byte(`"version":1`), []byte(`"version":9`), 1)),
		"newer schema":    zipped(t, bytes.Replace(plain, []byte(`"schema":`), []byte(`"schema":9`), 1)),
	}
	folder := t.TempDir()
	to := filepath.Join(folder, "new", "folder", "to.db")
	for name, bad := range damaged {
		_, err := restoreInto(t, to, bad)
		if err == nil {
			t.Fatalf("%s: restored", name)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Fatalf("%s: leaves %v, %v", name, left, err)
		}
		if code := lineshaft.CodeOf(err); code != lineshaft.CodeInvalidRequest && code != lineshaft.CodeConflict {
			t.Errorf("%s: %v is not an answer to a person", name, err)
		}
	}
	_, err = restoreInto(t, to, file)
	must(t, err)
}

// A failed restore removes what it made, and nothing that was there before.
func TestD4FailedRestoreKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	from := storetest.SQLite(t)
	file, _ := backupOf(t, from)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "master.key"), []byte("k"), 0o600))
	empty := filepath.Join(folder, "empty.db")
	s, err := store.Open(t.Context(), store.Options{Database: empty})
	must(t, err)
	must(t, s.Close())
	for _, to := range []string{empty, filepath.Join(folder, "new.db")} {
		if _, err := restoreInto(t, to, file[:len(file)-1]); err == nil {
			t.Fatalf("%s: restored", to)
		}
	}
	for name, want := range map[string]bool{"master.key": true, "empty.db": true, "new.db": false, "new.db.lock": false} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestD4RestoreRefusesDatabaseInUse(t *testing.T) {
	t.Parallel()
	from := storetest.SQLite(t)
	file, _ := backupOf(t, from)
	storetest.EachDatabase(t, func(t *testing.T, to string) {
		s, err := store.Open(t.Context(), store.Options{Database: to})
		must(t, err)
		runID := insertRun(t, s, nil)
		must(t, s.Close())
		_, err = restoreInto(t, to, file)
		wantCode(t, err, lineshaft.CodeConflict)
		s, err = store.Open(t.Context(), store.Options{Database: to})
		must(t, err)
		defer s.Close()
		if rows := texts(t, s.DB(), "SELECT id FROM runs"); len(rows) != 1 || rows[0][0] != runID {
			t.Fatalf("runs %v, want the one that was there", rows)
		}
	})
}

// A backup of an older version is brought to this schema.
func TestD4OldBackupIsMigrated(t *testing.T) {
	t.Parallel()
	newest, err := store.SchemaVersion()
	must(t, err)
	storetest.EachEmpty(t, func(t *testing.T, from string) {
		old, err := store.OpenAt(t.Context(), store.Options{Database: from}, newest-1)
		must(t, err)
		must(t, old.Close())
		file, found := backupOf(t, from)
		if found.Schema != newest-1 {
			t.Fatalf("schema %d, want %d", found.Schema, newest-1)
		}
		to := filepath.Join(t.TempDir(), "to.db")
		_, err = restoreInto(t, to, file)
		must(t, err)
		s, err := store.Open(t.Context(), store.Options{Database: to})
		must(t, err)
		defer s.Close()
		must(t, s.CheckSchema(t.Context()))
	})
}

// A backup of the previous version, or one made while its lists were settled, is
// restored with settled lists (D-4).
func TestD4BackupWhileListsAreUpgraded(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		old, err := store.OpenAt(t.Context(), store.Options{Database: database}, 14)
		must(t, err)
		for range 3 {
			insertRun(t, old, nil)
		}
		must(t, old.Close())
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		insertRun(t, s, nil)
		must(t, s.Close())
		file, _ := backupOf(t, database)
		target := filepath.Join(t.TempDir(), "restored.db")
		must(t, second(restoreInto(t, target, file)))
		restored, err := store.Open(t.Context(), store.Options{Database: target})
		must(t, err)
		t.Cleanup(func() { _ = restored.Close() })
		listed, noted := texts(t, restored.DB(), "SELECT id FROM run_list"), texts(t, restored.DB(), "SELECT run_id FROM run_backlog")
		left := texts(t, restored.DB(), "SELECT value FROM settings WHERE name = 'lists/below'")
		if len(listed) != 4 || len(noted)+len(left) > 0 {
			t.Errorf("%d runs are settled, %v noted, %v left; want 4 and none", len(listed), noted, left)
		}
	})
}

// Followers of the state stream continue where they were, although another server
// counts transactions again.
func TestD4RestoredPositionsStay(t *testing.T) {
	t.Parallel()
	from := storetest.SQLite(t)
	s, err := store.Open(t.Context(), store.Options{Database: from})
	must(t, err)
	insertRun(t, s, nil)
	insertRun(t, s, nil)
	seen, err := s.ListStateChanges(t.Context(), store.StatePosition{}, 10)
	must(t, err)
	at := seen[len(seen)-1].Position
	unseen := insertRun(t, s, nil)
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE events SET txid = txid + 4000000000 WHERE txid > 0"); err != nil {
			return err
		}
		at.Txid += 4_000_000_000
		_, err := tx.EnsureSetting(ctx, "somebody's place", at.Encode())
		return err
	})
	must(t, s.Close())
	file, _ := backupOf(t, from)
	storetest.EachEmpty(t, func(t *testing.T, to string) {
		_, err := restoreInto(t, to, file)
		must(t, err)
		is, err := store.Open(t.Context(), store.Options{Database: to})
		must(t, err)
		defer is.Close()
		text, err := is.GetSetting(t.Context(), "somebody's place")
		must(t, err)
		place, err := store.DecodePosition(text)
		must(t, err)
		var runs []string
		eventually(t, "the restored changes are settled", func() bool {
			rest, err := is.ListStateChanges(t.Context(), place, 10)
			must(t, err)
			runs = nil
			for _, change := range rest {
				runs = append(runs, change.Event.RunID)
			}
			return len(runs) > 0
		})
		if !slices.Equal(runs, []string{unseen}) {
			t.Fatalf("after the place: %v, want %s", runs, unseen)
		}
	})
}

func unzip(t *testing.T, file []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(file))
	must(t, err)
	plain, err := io.ReadAll(r)
	must(t, err)
	return plain
}

func zipped(t *testing.T, plain []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := w.Write(plain)
	must(t, err)
	must(t, w.Close())
	return file.Bytes()
}

// lineAt finds the line that begins as given.
func lineAt(plain, begins []byte) (from, to int) {
	from = bytes.Index(plain, append([]byte("\n"), begins...)) + 1
	return from, from + bytes.IndexByte(plain[from:], '\n') + 1
}

func without(plain, begins []byte) []byte {
	from, to := lineAt(plain, begins)
	return slices.Concat(plain[:from], plain[to:])
}

func twice(plain, begins []byte) []byte {
	from, to := lineAt(plain, begins)
	return slices.Concat(plain[:to], plain[from:to], plain[to:])
}
