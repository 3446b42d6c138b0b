package prepared

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// The test binary is also the process that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "work" {
		os.Exit(workUntilKilled(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dir string, change ...func(*Config)) *Store {
	t.Helper()
	config := Config{Dir: dir, MaxBytes: 1 << 30, MaxAge: time.Hour}
	for _, set := range change {
		set(&config)
	}
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func key(t *testing.T, s *Store, r Recipe) Key {
	t.Helper()
	k, err := s.Key(r)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// recipe is one of many.
func recipe(commit string) Recipe {
	return Recipe{Environment: "e 1", Repositories: []Repository{{URL: "u", Folder: "f", Commit: commit}}, Commands: []string{"make"}}
}

// fill makes a tree with everything that a layer keeps.
func fill(t *testing.T, dir string) string {
	t.Helper()
	for name, text := range map[string]string{
		"a/b/c": "deep", "a/tool": "#!/bin/sh", "empty-file": "", "big": strings.Repeat("0123456789", 100_000),
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	err := errors.Join(
		os.Chmod(filepath.Join(dir, "a/tool"), 0o755), os.Symlink("../nowhere", filepath.Join(dir, "a/link")),
		os.Link(filepath.Join(dir, "big"), filepath.Join(dir, "a/same")), os.Mkdir(filepath.Join(dir, "void"), 0o700),
		os.Chtimes(filepath.Join(dir, "a/b/c"), old, old), os.Chmod(filepath.Join(dir, "a/b"), 0o555),
		os.Chtimes(filepath.Join(dir, "a/b"), old, old),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Remove(context.Background(), dir) }) // read-only folders stop others
	return dir
}

// describe lists everything of a tree that a copy must have.
func describe(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	first := map[uint64]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		_, _ = fmt.Fprintf(&all, "%s %s %d", name, info.Mode(), info.ModTime().UnixNano())
		switch stat, _ := info.Sys().(*syscall.Stat_t); {
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all.WriteString(" -> " + to)
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if first[stat.Ino] == "" {
				first[stat.Ino] = name
			}
			_, _ = fmt.Fprintf(&all, " %d %x is %s", stat.Nlink, text[:min(len(text), 40)], first[stat.Ino])
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func folderFor(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			_ = tree.Remove(context.Background(), filepath.Join(dir, entry.Name()))
		}
	})
	return dir
}

func TestX14LayerIsTheTree(t *testing.T) {
	t.Parallel()
	source := fill(t, t.TempDir())
	want := describe(t, source)
	dir := folderFor(t)
	s := open(t, dir)
	k := key(t, s, recipe("1"))
	if s.Take(k) != nil {
		t.Fatal("there is a layer before any was kept")
	}
	facts := Facts{Made: time.Now(), Cost: time.Minute, Repositories: recipe("1").Repositories}
	if err := s.Keep(t.Context(), k, source, facts, nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	if got := describe(t, source); got != want {
		t.Errorf("keeping changed the tree to\n%s", got)
	}
	for range 2 { // also in a process after this one
		l := s.Take(k)
		if l == nil {
			t.Fatal("the layer is not there")
		}
		to := folderFor(t)
		if err := l.CopyTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		l.Release()
		if got := describe(t, to); got != want {
			t.Errorf("the copy is\n%s\nwant\n%s", got, want)
		}
		if l.Cost != time.Minute || len(l.Repositories) != 1 || l.Entries != 9 {
			t.Errorf("facts are %+v", l.Facts)
		}
		s.Close(t.Context())
		s = open(t, dir)
	}
	if layers, bytes := s.Usage(); layers != 1 || bytes < 1_000_000 {
		t.Errorf("%d layers of %d bytes", layers, bytes)
	}
}

// everything that goes into a tree is in its key.
func TestX14KeyHasEverything(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	base := func() Recipe {
		return Recipe{
			Environment: "e 1", Repositories: []Repository{{URL: "u", Folder: "f", Commit: "c", Refs: "r"}}, Commands: []string{"a", "b"},
			Image: "i", Machine: []string{"m"}, Secrets: map[string]string{"S": "v"},
		}
	}
	k := key(t, s, base())
	same := base()
	same.Repositories[0].Refs, same.Repositories[0].Plain = "other", true
	if got := key(t, s, same); got != k {
		t.Errorf("branches change the key: %v, %v", got, k)
	}
	newer := base()
	newer.Repositories[0].Commit = "d"
	if got := key(t, s, newer); got.ID == k.ID || got.Group != k.Group {
		t.Errorf("a newer commit has %v, the older %v", got, k)
	}
	for name, change := range map[string]func(*Recipe){
		"environment":  func(r *Recipe) { r.Environment = "e 2" },
		"address":      func(r *Recipe) { r.Repositories[0].URL = "x" },
		"folder":       func(r *Recipe) { r.Repositories[0].Folder = "x" },
		"repositories": func(r *Recipe) { r.Repositories = append(r.Repositories, Repository{}) },
		"command":      func(r *Recipe) { r.Commands = []string{"ab"} },
		"order":        func(r *Recipe) { r.Commands = []string{"b", "a"} },
		"refresh":      func(r *Recipe) { r.Refresh = []string{"a"} },
		"image":        func(r *Recipe) { r.Image = "x" },
		"machine":      func(r *Recipe) { r.Machine = []string{"x"} },
		"value":        func(r *Recipe) { r.Secrets = map[string]string{"S": "w"} },
		"name":         func(r *Recipe) { r.Secrets = map[string]string{"T": "v"} },
		"no secret":    func(r *Recipe) { r.Secrets = nil },
	} {
		r := base()
		change(&r)
		if got := key(t, s, r); got.ID == k.ID || got.Group == k.Group {
			t.Errorf("%s: the key is the same", name)
		}
	}
	if other := key(t, open(t, t.TempDir()), base()); other == k {
		t.Error("another store has the same keys: they are not keyed")
	}
}

// the nearest layer is of the same recipe but for the commits, the newest first.
func TestX14Nearest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := open(t, folderFor(t), func(c *Config) { c.Now = func() time.Time { return now } })
	source := fill(t, t.TempDir())
	for _, commit := range []string{"1", "2"} {
		now = now.Add(time.Second)
		facts := Facts{Made: now, Repositories: recipe(commit).Repositories}
		if err := s.Keep(t.Context(), key(t, s, recipe(commit)), source, facts, nil); err != nil {
			t.Fatal(err)
		}
		s.Wait()
	}
	l := s.TakeNearest(key(t, s, recipe("3")))
	if l == nil || l.Repositories[0].Commit != "2" {
		t.Fatalf("nearest is %+v", l)
	}
	l.Release()
	other := recipe("3")
	other.Secrets = map[string]string{"A": "b"}
	if l := s.TakeNearest(key(t, s, other)); l != nil {
		t.Errorf("a layer without the secret was given: %+v", l.Facts)
	}
}

// bounded by bytes and age, the least recently used first, never one in use.
func TestX14Bounds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir := folderFor(t)
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "file"), make([]byte, 96<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	limits := func(c *Config) { c.MaxBytes, c.Now = 250<<10, func() time.Time { return now } } // two of them
	s := open(t, dir, limits)
	keep := func(commit string) {
		t.Helper()
		now = now.Add(time.Minute)
		if err := s.Keep(t.Context(), key(t, s, recipe(commit)), source, Facts{Made: now}, nil); err != nil {
			t.Fatal(err)
		}
		s.Wait()
	}
	has := func(want ...string) {
		t.Helper()
		for _, commit := range []string{"1", "2", "3", "4"} {
			l := s.layers[key(t, s, recipe(commit)).ID]
			if _, err := os.Stat(s.path("layers", key(t, s, recipe(commit)).ID)); (l != nil) != (err == nil) {
				t.Errorf("layer %s is known %t, its folder: %v", commit, l != nil, err)
			}
			if (l != nil) != strings.Contains(strings.Join(want, ""), commit) {
				t.Errorf("layer %s is there %t, want %q", commit, l != nil, want)
			}
		}
	}
	keep("1")
	keep("2")
	now = now.Add(time.Minute)
	s.Take(key(t, s, recipe("1"))).Release()
	keep("3")
	has("1", "3")
	held := s.Take(key(t, s, recipe("1")))
	keep("4")
	has("1", "4")
	second := s.Take(key(t, s, recipe("4")))
	if err := s.Keep(t.Context(), key(t, s, recipe("2")), source, Facts{Made: now}, nil); !errors.Is(err, ErrNoRoom) {
		t.Errorf("both are in use, and a third gives %v", err)
	}
	has("1", "4")
	if err := held.CopyTo(t.Context(), t.TempDir()); err != nil {
		t.Error(err)
	}
	held.Release()
	second.Release()
	now = now.Add(57 * time.Minute) // the first is too old
	if s.Take(key(t, s, recipe("1"))) != nil {
		t.Error("a layer that is too old is given")
	}
	s.Close(t.Context())
	s = open(t, dir, limits)
	has("4")
	if entries, _ := os.ReadDir(s.path("new")); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// a tree that a copy cannot be like is not kept.
func TestX14UnfitTrees(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("not theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		make func(dir string) error
		says string
	}{
		"pipe":  {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600) }, "a pipe or a device"},
		"link":  {func(dir string) error { return os.Link(outside, filepath.Join(dir, "inside")) }, "a name outside of the workspace"},
		"large": {func(dir string) error { return os.Truncate(filepath.Join(dir, "big"), 1<<40) }, "more than the "},
		"people": {func(dir string) error {
			return errors.Join(os.Chown(filepath.Join(dir, "big"), 61001, 1), os.Chown(filepath.Join(dir, "void"), 61002, 1))
		}, "several users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "people" && os.Geteuid() != 0 {
				t.Skip("only root gives files to others")
			}
			source := fill(t, t.TempDir())
			if err := test.make(source); err != nil {
				t.Fatal(err)
			}
			s := open(t, folderFor(t))
			err := s.Keep(t.Context(), key(t, s, recipe("1")), source, Facts{Made: time.Now()}, nil)
			if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one that says %q", err, test.says)
			}
			if entries, _ := os.ReadDir(s.path("new")); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// Programs of another user's do not come into being, and sockets are left out.
func TestX14ModesThatAreNotKept(t *testing.T) {
	t.Parallel()
	source := fill(t, t.TempDir())
	if err := os.Chmod(filepath.Join(source, "a/tool"), 0o755|fs.ModeSetuid|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	socket := filepath.Join(source, "s")
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		t.Fatal(err)
	}
	to := folderFor(t)
	if _, err := copyTree(t.Context(), source, to, 1<<30); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(to, "a/tool")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(to, "s")); err == nil {
		t.Error("a dead socket was copied")
	}
}

// a damaged layer is found out and goes, whatever is wrong with it.
func TestX14DamageIsFound(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(layer string) error{
		"byte": func(layer string) error {
			name := filepath.Join(layer, "tree/big")
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte{'x'}, 500_000)
			return errors.Join(err, f.Close(), os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
		"shorter": func(layer string) error { return os.Truncate(filepath.Join(layer, "tree/big"), 5) },
		"mode":    func(layer string) error { return os.Chmod(filepath.Join(layer, "tree/a/tool"), 0o644) },
		"more":    func(layer string) error { return os.WriteFile(filepath.Join(layer, "tree/new"), nil, 0o600) },
		"gone":    func(layer string) error { return tree.Remove(context.Background(), layer) },
		"empty":   func(layer string) error { return tree.Remove(context.Background(), filepath.Join(layer, "tree")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, folderFor(t))
			k := key(t, s, recipe("1"))
			if err := s.Keep(t.Context(), k, fill(t, t.TempDir()), Facts{Made: time.Now()}, nil); err != nil {
				t.Fatal(err)
			}
			s.Wait()
			if err := damage(s.path("layers", k.ID)); err != nil {
				t.Fatal(err)
			}
			l := s.Take(k)
			if err := l.CopyTo(t.Context(), folderFor(t)); !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v, want that it is damaged", err)
			}
			l.Release()
			if layers, bytes := s.Usage(); s.Take(k) != nil || layers != 0 || bytes != 0 {
				t.Errorf("it is still there: %d layers of %d bytes", layers, bytes)
			}
			if entries, _ := os.ReadDir(s.path("layers")); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// An end of the run that is prepared leaves nothing half-made.
func TestX14KeepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, folderFor(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the run was cancelled")
	cancel(gone)
	if err := s.Keep(ctx, key(t, s, recipe("1")), fill(t, t.TempDir()), Facts{}, nil); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(s.path("new")); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// what has grown too old is prepared and kept again, and gone.
func TestX14OldLayerIsReplaced(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir, source := t.TempDir(), t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir, MaxBytes: 1 << 20, MaxAge: time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.Key(recipe("a"))
	for range 2 {
		if err == nil {
			err = s.Keep(t.Context(), k, source, Facts{Made: now}, nil)
		}
		if s.Wait(); err != nil {
			t.Fatal(err)
		}
		l := s.Take(k)
		if l == nil {
			t.Fatal("what was kept just now is not found")
		}
		now = now.Add(2 * time.Hour)
		if err := s.begin(t.Context(), l.ID()); !errors.Is(err, ErrHeld) {
			t.Errorf("got %v; one that is in use would be made again, and could not take its place", err)
		}
		l.Release()
	}
}

// keep is Keep, and returns what became of the layer.
func keep(t *testing.T, s *Store, k Key, dir string, facts Facts) error {
	t.Helper()
	over := make(chan error, 1)
	err := s.Keep(t.Context(), k, dir, facts, func(_ Facts, err error) { over <- err })
	if err == nil {
		err = <-over
	}
	s.Wait()
	return err
}

// workspaces that wait for follow-ups do not keep every run cold once the layer below them
// is too old. Those with a snapshot make way; for the others the caller learns why nothing is kept.
func TestX14OldLayerBelowWorkspacesIsReplaced(t *testing.T) {
	t.Parallel()
	for _, freed := range []bool{true, false} {
		now, held := time.Now(), map[string]bool{}
		s, err := Open(t.Context(), Config{
			Dir: t.TempDir(), MaxBytes: 1 << 20, MaxAge: time.Hour, Now: func() time.Time { return now },
			Used: func() (map[string]bool, error) { return held, nil },
			Free: func(_ context.Context, id string) error {
				held[id] = !freed
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		k := key(t, s, recipe("a"))
		if err := keep(t, s, k, t.TempDir(), Facts{Made: now}); err != nil {
			t.Fatal(err)
		}
		now, held[k.ID] = now.Add(2*time.Hour), true
		kept := keep(t, s, k, t.TempDir(), Facts{Made: now})
		found := s.Take(k)
		if freed != (kept == nil) || freed != (found != nil) || !freed && !errors.Is(kept, ErrHeld) {
			t.Errorf("made way: %v; got %v and layer %v", freed, kept, found)
		}
		if found != nil {
			found.Release()
		}
	}
}

// a tree with many folders that cannot be read is given up at the first.
func TestX14UnreadableTree(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	source := t.TempDir()
	for i := range 50 {
		if err := os.Mkdir(filepath.Join(source, strconv.Itoa(i)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := copyTree(t.Context(), source, t.TempDir(), 1<<30); err == nil || strings.Count(err.Error(), "denied") != 1 {
		t.Errorf("ended with %v, want one refusal", err)
	}
}
