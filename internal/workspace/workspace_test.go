package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(fewDescriptors); dir != "" {
		os.Exit(removeWithFew(dir))
	}
	goleak.VerifyTestMain(m)
}

// manager makes a Manager in a fresh data directory.
func manager(t *testing.T, limits Limits) *Manager {
	t.Helper()
	m, err := NewManager(t.TempDir(), limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t *testing.T, m *Manager, req OpenRequest) *Workspace {
	t.Helper()
	w, err := m.Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	return w
}

func workspace(t *testing.T, limits Limits) *Workspace {
	t.Helper()
	return open(t, manager(t, limits), OpenRequest{RunID: "run-1", Number: 1})
}

func write(t *testing.T, w *Workspace, name, content string) {
	t.Helper()
	full := filepath.Join(w.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, w *Workspace, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestX4OpenKeepsOrClears(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		req  OpenRequest
		kept bool
	}{
		{"next execution", OpenRequest{RunID: "run-1", Number: 2, Keep: true}, true},
		{"not asked to keep", OpenRequest{RunID: "run-1", Number: 2}, false},
		{"another worker was in between", OpenRequest{RunID: "run-1", Number: 3, Keep: true}, false},
		{"same execution again", OpenRequest{RunID: "run-1", Number: 1, Keep: true}, false},
		{"another run", OpenRequest{RunID: "run-2", Number: 2, Keep: true}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, Limits{})
			first := open(t, m, OpenRequest{RunID: "run-1", Number: 1})
			write(t, first, "notes.txt", "kept")
			if err := first.Release(t.Context(), time.Unix(100, 0)); err != nil {
				t.Fatal(err)
			}
			second := open(t, m, test.req)
			if second.Kept() != test.kept {
				t.Errorf("kept = %v, want %v", second.Kept(), test.kept)
			}
			if empty, err := second.Empty(); err != nil || empty == test.kept {
				t.Errorf("empty = %v, %v", empty, err)
			}
		})
	}
}

// The execution that a cancel ends may hold the folder a little longer than the
// control plane thinks.
func TestX4OpenWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, Limits{})
		w := open(t, m, OpenRequest{RunID: "run-1", Number: 1})
		if err := m.Remove(t.Context(), "run-1"); err != nil {
			t.Fatal(err)
		}
		write(t, w, "still", "here")
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Open(impatient, OpenRequest{RunID: "run-1", Number: 2}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("open of a held workspace: %v", err)
		}
		opened := make(chan *Workspace)
		go func() {
			second, err := m.Open(t.Context(), OpenRequest{RunID: "run-1", Number: 2, Keep: true})
			if err != nil {
				t.Error(err)
			}
			opened <- second
		}()
		synctest.Wait()
		if err := w.Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if second := <-opened; !second.Kept() {
			t.Error("the folder was not kept")
		}
	})
}

func TestX4RunIDCannotLeaveTheDataDirectory(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/etc", "-x", "a\x00b", strings.Repeat("a", 200)} {
		if w, err := m.Open(t.Context(), OpenRequest{RunID: id, Number: 1}); err == nil {
			t.Errorf("id %q opened %s", id, w.Dir())
		}
	}
}

func TestX4ReleaseWithoutTimeRemoves(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, "deep/locked/file", "x")
	if err := os.Chmod(filepath.Join(w.Dir(), "deep/locked"), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestX4SweepRemovesAfterIdleTime(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	start := time.Unix(1000, 0)
	for id, keep := range map[string]time.Duration{"early": time.Minute, "late": time.Hour} {
		w := open(t, m, OpenRequest{RunID: id, Number: 1})
		if err := w.Release(t.Context(), start.Add(keep)); err != nil {
			t.Fatal(err)
		}
	}
	held := open(t, m, OpenRequest{RunID: "held", Number: 1})
	next, err := m.Sweep(t.Context(), start)
	if err != nil || !next.Equal(start.Add(time.Minute)) {
		t.Errorf("next = %v, %v", next, err)
	}
	next, err = m.Sweep(t.Context(), start.Add(time.Minute))
	if err != nil || !next.Equal(start.Add(time.Hour)) {
		t.Errorf("next = %v, %v", next, err)
	}
	left, err := m.Leftovers(t.Context())
	if err != nil || len(left) != 1 || left[0].RunID != "late" {
		t.Errorf("left over %+v, %v", left, err)
	}
	if !isDir(held.Dir()) {
		t.Error("a workspace in use was swept")
	}
}

// A worker that was killed finds what it left, can continue with it, and does not
// keep it for ever.
func TestX3LeftoversAfterRestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	before, err := NewManager(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, open(t, before, OpenRequest{RunID: "running", Number: 4}), "work.txt", "half done")
	ended := open(t, before, OpenRequest{RunID: "ended", Number: 1})
	if err := ended.Release(t.Context(), time.Unix(50, 0)); err != nil {
		t.Fatal(err)
	}

	after, err := NewManager(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Unix(900, 0)
	found, err := after.Adopt(t.Context(), until)
	if err != nil || len(found) != 1 || found[0].RunID != "running" || !found[0].Running {
		t.Fatalf("adopted %+v, %v", found, err)
	}
	if next, err := after.Sweep(t.Context(), time.Unix(100, 0)); err != nil || !next.Equal(until) {
		t.Errorf("next = %v, %v", next, err)
	}
	w := open(t, after, OpenRequest{RunID: "running", Number: 5, Keep: true})
	if got := read(t, w, "work.txt"); got != "half done" {
		t.Errorf("work.txt holds %q", got)
	}
}

func TestX4UnreadableStateIsNotKept(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	w := open(t, m, OpenRequest{RunID: "run-1", Number: 1})
	write(t, w, "a", "b")
	if err := w.Release(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stateFile(w.home), []byte("{tor"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := m.Adopt(t.Context(), time.Unix(2, 0)); err != nil || len(found) != 1 {
		t.Errorf("adopted %+v, %v", found, err)
	}
	if again := open(t, m, OpenRequest{RunID: "run-1", Number: 2, Keep: true}); again.Kept() {
		t.Error("a folder of unknown origin was kept")
	}
}

func TestR2PlaceAttachments(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	outside := filepath.Join(t.TempDir(), "host.txt")
	if err := os.WriteFile(outside, []byte("host"), 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, outside, filepath.Join(w.Dir(), "link.txt"))
	symlink(t, outside, filepath.Join(w.Dir(), "fresh.txt.lineshaft-new"))
	write(t, w, "folder/inner", "x")
	for _, name := range []string{"plain.txt", "link.txt", "folder", "fresh.txt", "event-payload.json"} {
		if err := w.Place(t.Context(), name, strings.NewReader("new "+name), 100); err != nil {
			t.Errorf("place %s: %v", name, err)
		} else if got := read(t, w, name); got != "new "+name {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "host" {
		t.Errorf("a file of the host was written through a link: %q, %v", raw, err)
	}
	if info, err := os.Lstat(filepath.Join(w.Dir(), "link.txt")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is still there: %v, %v", info, err)
	}
}

func TestR2PlaceRefuses(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	for _, name := range []string{"", ".", "..", "../up", "a/b", "/abs", PrivateDir} {
		if err := w.Place(t.Context(), name, strings.NewReader("x"), 10); err == nil {
			t.Errorf("%q was placed", name)
		}
	}
	if err := w.Place(t.Context(), "big", strings.NewReader("12345678901"), 10); err == nil {
		t.Error("a file over the limit was placed")
	}
	broken := errors.New("cut off")
	if err := w.Place(t.Context(), "half", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(broken)), 10); !errors.Is(err, broken) {
		t.Errorf("place from a broken source: %v", err)
	}
	if empty, err := w.Empty(); err != nil || !empty {
		t.Errorf("something was left behind: empty = %v, %v", empty, err)
	}
}

// An agent that puts a link in the place of our folder must not make us write elsewhere.
func TestX5PrivateFolderReplacedByLink(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	host := t.TempDir()
	if err := os.RemoveAll(filepath.Join(w.Dir(), PrivateDir)); err != nil {
		t.Fatal(err)
	}
	symlink(t, host, filepath.Join(w.Dir(), PrivateDir))
	name, err := w.WritePrivate(t.Context(), "prompt.md", strings.NewReader("secret prompt"))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(name); err != nil || string(raw) != "secret prompt" {
		t.Errorf("%s holds %q, %v", name, raw, err)
	}
	if entries, err := os.ReadDir(host); err != nil || len(entries) != 0 {
		t.Errorf("the host's folder holds %v, %v", entries, err)
	}
	if err := w.Prepare(); err != nil {
		t.Error(err)
	}
}

func TestX8PlaceNew(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	place := func(name, content string) error { return w.PlaceNew(t.Context(), name, strings.NewReader(content), 10) }
	if err := place(".agents/skills/a/SKILL.md", "first"); err != nil {
		t.Fatal(err)
	}
	if err := place(".agents/skills/a/SKILL.md", "second"); err != nil || read(t, w, ".agents/skills/a/SKILL.md") != "first" {
		t.Errorf("what was there became %q, %v", read(t, w, ".agents/skills/a/SKILL.md"), err)
	}
	for _, name := range []string{"../out", "/etc/out", "a/../../out"} {
		if err := place(name, "x"); err == nil {
			t.Errorf("%s was placed", name)
		}
	}
	if err := place("large", "more than ten"); err == nil {
		t.Error("a large file was placed")
	}
	outside := t.TempDir()
	symlink(t, outside, filepath.Join(w.Dir(), "link"))
	if err := place("link/x", "x"); err == nil {
		t.Error("a file was placed through a link that leads out")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside there are %v, %v", entries, err)
	}
}
