package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
)

// A server that was restored must not name a key file that is not there.
func TestD4BannerOfARestoredServer(t *testing.T) {
	t.Parallel()
	was := settings(t)
	var first bytes.Buffer
	if err := start(t, was, options(t, &first)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "one.backup")
	if _, err := app.Backup(t.Context(), was, file, nil); err != nil {
		t.Fatal(err)
	}
	is := settings(t)
	if _, err := app.Restore(t.Context(), is, file, nil); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(was.DataDir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(is.DataDir, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := start(t, is, options(t, &out)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "the one that this database already had") || !strings.Contains(text, "Bearer $LINESHAFT_API_KEY") || strings.Contains(text, "$(cat") {
		t.Errorf("after a restore:\n%s", text)
	}
	if !strings.Contains(first.String(), "$(cat "+was.AdminKeyFile()) {
		t.Errorf("at the first start:\n%s", first.String())
	}
}

// A backup takes the place of a file and of nothing else.
func TestD4BackupReplacesFilesOnly(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	var out bytes.Buffer
	if err := start(t, cfg, options(t, &out)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "one.backup")
	pipe, link, sub := filepath.Join(folder, "pipe"), filepath.Join(folder, "link"), filepath.Join(folder, "sub")
	for _, err := range []error{syscall.Mkfifo(pipe, 0o600), os.Symlink(file, link), os.Mkdir(sub, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{pipe, link, sub} {
		before, err := os.Lstat(target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Backup(t.Context(), cfg, target, nil); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			t.Errorf("%s: %v", target, err)
		}
		if after, err := os.Lstat(target); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s is now %v, %v", target, after, err)
		}
	}
	for range 2 { // also over its own
		if _, err := app.Backup(t.Context(), cfg, file, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// What a killed backup left is removed by the next to the same file; what another is
// writing, or what is of another file, is not.
func TestD4KilledBackupsAreSwept(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	var out bytes.Buffer
	if err := start(t, cfg, options(t, &out)).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	hour := time.Now().Add(-time.Hour)
	part := func(name string, at time.Time) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	left := part("one.backup.part-1", hour)
	keep := []string{part("one.backup.part-2", hour), part("one.backup.part-3", time.Now()), part("other.backup.part-1", hour), part("one.backup.old", hour)}
	writing, err := os.Open(keep[0])
	if err != nil {
		t.Fatal(err)
	}
	defer writing.Close()
	if err := syscall.Flock(int(writing.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Backup(t.Context(), cfg, filepath.Join(folder, "one.backup"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was left is there")
	}
	for _, path := range keep {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
