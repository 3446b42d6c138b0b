package storetest

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// What tests/upgrade/make has kept: databases as programs of earlier versions left them.
//
//go:embed old
var oldFiles embed.FS

// Old is a database that an earlier program has written.
type Old struct {
	Version int // of its schema
	// Database is its setting. Nobody has opened it since.
	Database string
	// Made says what its program was asked to make: ids of runs and others by their names, and
	// keys and secrets, which are shown once.
	Made map[string]string
}

// EachOld runs fn with a database of every earlier schema that has landed, of each engine.
func EachOld(t *testing.T, fn func(t *testing.T, old Old)) {
	t.Helper()
	for _, version := range OldVersions(t) {
		t.Run(fmt.Sprintf("schema %d", version), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, database string) { fn(t, Old{version, database, oldMade(t, version, database)}) },
				func(t *testing.T) string {
					path := filepath.Join(t.TempDir(), "test.db")
					if err := os.WriteFile(path, oldFile(t, version, "sqlite"), 0o600); err != nil {
						t.Fatal(err)
					}
					return path
				},
				func(t *testing.T) string {
					database := EmptyPostgres(t)
					Exec(t, database, string(oldFile(t, version, "postgres")))
					return database
				})
		})
	}
}

// OldVersions are the schemas that there are databases of.
func OldVersions(t *testing.T) (versions []int) {
	t.Helper()
	entries, err := oldFiles.ReadDir("old")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		var version int
		if _, err := fmt.Sscanf(entry.Name(), "%d-sqlite.gz", &version); err == nil {
			versions = append(versions, version)
		}
	}
	return versions
}

func oldFile(t *testing.T, version int, engine string) []byte {
	t.Helper()
	packed, err := oldFiles.ReadFile(fmt.Sprintf("old/%04d-%s.gz", version, engine))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	file, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func oldMade(t *testing.T, version int, database string) (made map[string]string) {
	t.Helper()
	engine := "sqlite"
	if store.IsPostgres(database) {
		engine = "postgres"
	}
	text, err := oldFiles.ReadFile(fmt.Sprintf("old/%04d-%s.json", version, engine))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made
}
