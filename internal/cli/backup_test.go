package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// copying is a stage whose commands copy nothing and remember what they were asked.
func copying(t *testing.T, err error) (s *stage, asked *[]string) {
	t.Helper()
	s, asked = newStage(t), new([]string)
	note := func(progress app.Progress, words ...string) (app.Copied, error) {
		*asked = append(*asked, words...)
		progress("runs", 7)
		progress("events", 0)
		return app.Copied{Schema: 9, Tables: 2, Rows: 7, Outside: 3}, err
	}
	s.deps.Backup = func(_ context.Context, cfg config.Config, file string, p app.Progress) (app.Copied, error) {
		return note(p, "backup", cfg.DatabaseOrDefault(), filepath.Base(file))
	}
	s.deps.Restore = func(_ context.Context, cfg config.Config, file string, p app.Progress) (app.Copied, error) {
		return note(p, "restore", cfg.DatabaseOrDefault(), filepath.Base(file))
	}
	s.deps.MoveDatabase = func(_ context.Context, from, to string, p app.Progress) (app.Copied, error) {
		return note(p, "move", from, to)
	}
	return s, asked
}

func TestI1BackupAndRestore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "one.backup")
	for _, tc := range []struct {
		args []string
		want string
		said string
	}{
		{[]string{"backup", file, "--data-dir", "d"}, "backup d/lineshaft.db one.backup", "7 rows of 2 tables (schema version 9) are in " + file},
		{[]string{"restore", file, "--database", "postgres://u:secret@h/n"}, "restore postgres://u:secret@h/n one.backup", "are in postgres://u"},
		{[]string{"migrate-database", "--from", "a.db", "--to", "postgres://u:secret@h/n"}, "move a.db postgres://u:secret@h/n", "are in postgres://u"},
		{[]string{"backup", file, "-o", "json"}, "backup lineshaft-data/lineshaft.db one.backup", `"files_outside": 3`},
	} {
		s, asked := copying(t, nil)
		r := s.run(t.Context(), tc.args...)
		if r.code != shell.ExitOK || strings.Join(*asked, " ") != tc.want || !strings.Contains(r.out, tc.said) {
			t.Errorf("%v: exit %d, asked %q, said %q %q", tc.args, r.code, *asked, r.out, r.err)
		}
		if tells := strings.Contains(r.err, "the master key is not in a backup"); tells != (tc.args[0] == "restore") {
			t.Errorf("%v: %s", tc.args, r.err)
		}
		if strings.Contains(r.out+r.err, "secret") {
			t.Errorf("%v shows a password: %s", tc.args, r.out)
		}
	}
}

func TestI1BackupFails(t *testing.T) {
	t.Parallel()
	s, _ := copying(t, errors.New("disk full"))
	if r := s.run(t.Context(), "backup", filepath.Join(t.TempDir(), "x")); r.code != shell.ExitFailed || r.out != "" || !strings.Contains(r.err, "disk full") {
		t.Errorf("exit %d, %q %q", r.code, r.out, r.err)
	}
}

func TestI1BackupMistakes(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []mistake{
		{"no file", "backup", "needs", "lineshaft backup FILE"},
		{"file is there", "backup " + there, "already exists", "--force"},
		{"nothing to restore", "restore", "needs", "lineshaft restore FILE"},
		{"from nowhere", "migrate-database --to x", "both databases are required", "--from lineshaft-data/lineshaft.db"},
		{"words too many", "migrate-database a b", "does not know what to do with", "migrate-database"},
	} {
		t.Run(m.name, func(t *testing.T) { t.Parallel(); m.check(t) })
	}
}

// A refusal by the command itself is shown like one by a server: without codes for
// programs, and with what to do next.
func TestI1LocalRefusalsAreForPeople(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("open database: %w", lineshaft.Conflict("the database is in use already; restore into a new one")), "Error: the database is in use already\n  Restore into a new one.\n"},
		{lineshaft.Invalid("file", "the backup is damaged"), "Error: the backup is damaged\n  See `lineshaft restore --help`.\n"},
		{lineshaft.Unavailable(syscall.ECONNREFUSED, "the database does not answer; try again"), "Error: the database does not answer: connection refused\n  Try again.\n"},
	} {
		s, _ := copying(t, tc.err)
		if r := s.run(t.Context(), "restore", "x"); r.code != shell.ExitFailed || r.err != tc.want {
			t.Errorf("%v: exit %d\n%s", tc.err, r.code, r.err)
		}
	}
}
