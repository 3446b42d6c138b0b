package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ownerTest names a folder for a process of this test that is not root's.
const ownerTest = "LINESHAFT_TEST_TREE_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerTest); dir != "" {
		os.Exit(asOwner(dir))
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check(t, os.WriteFile(name, []byte(filepath.Base(name)), 0o644))
}

// nest makes folders inside each other, with a file in each.
func nest(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	check(t, err)
	for range levels {
		check(t, unix.Mkdirat(at, "d", 0o700))
		next, err := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		check(t, err)
		file, err := unix.Openat(next, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		check(t, err)
		check(t, unix.Close(file))
		check(t, unix.Close(at))
		at = next
	}
	check(t, unix.Close(at))
}

// seen walks and returns the paths, and what was left out.
func seen(t *testing.T, dir string, w Walker) (paths, left []string) {
	t.Helper()
	folder, err := os.Open(dir)
	check(t, err)
	defer func() { _ = folder.Close() }()
	visit := w.Visit
	w.Visit = func(e *Entry) error {
		paths = append(paths, e.Path())
		if visit != nil {
			return visit(e)
		}
		return nil
	}
	w.Left = func(path string, why error) { left = append(left, path+": "+why.Error()) }
	check(t, w.Walk(t.Context(), folder))
	return paths, left
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestH14WalkIsInOrderAndFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside+"/secret")
	for _, name := range []string{"b/2", "b/1", "a", "c"} {
		write(t, filepath.Join(dir, name))
	}
	check(t, os.Symlink(outside, dir+"/b/link"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	paths, left := seen(t, dir, Walker{})
	equal(t, paths, "a", "b", "b/1", "b/2", "b/link", "c", "pipe")
	equal(t, left)
	paths, _ = seen(t, dir, Walker{Visit: func(*Entry) error { return fs.SkipDir }})
	equal(t, paths, "a", "b", "c", "pipe")
}

func TestH14WalkBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nest(t, dir, 5)
	write(t, dir+"/z")
	paths, left := seen(t, dir, Walker{Depth: 2})
	equal(t, paths, "d", "d/d", "d/file", "z")
	equal(t, left, "d/d: "+ErrDeep.Error())
	paths, left = seen(t, dir, Walker{Entries: 3})
	equal(t, paths, "d", "d/d", "z")
	equal(t, left, "d: "+ErrMany.Error())
}

// A folder that becomes a link after it was looked at leads nowhere, and what is
// beside it is still visited.
func TestX5WalkOfATreeThatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir, outside string, e *Entry){
		"folder becomes a link": func(t *testing.T, dir, outside string, e *Entry) {
			if e.Path() == "a/b" {
				check(t, os.Rename(dir+"/a/b", dir+"/a/moved"))
				check(t, os.Symlink(outside, dir+"/a/b"))
			}
		},
		"folder becomes a pipe": func(t *testing.T, dir, outside string, e *Entry) {
			if e.Path() == "a/b" {
				check(t, os.Rename(dir+"/a/b", dir+"/a/moved"))
				check(t, syscall.Mkfifo(dir+"/a/b", 0o600))
			}
		},
		"folder is moved while it is walked": func(t *testing.T, dir, outside string, e *Entry) {
			if e.Path() == "a/b/file" {
				check(t, os.Rename(dir+"/a/b", dir+"/moved"))
			}
		},
		"parent is moved out while its folder is walked": func(t *testing.T, dir, outside string, e *Entry) {
			if e.Path() == "a/b/file" {
				check(t, os.Rename(dir+"/a", outside+"/moved"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), t.TempDir()
			write(t, outside+"/secret")
			write(t, dir+"/a/b/file")
			write(t, dir+"/z")
			paths, _ := seen(t, dir, Walker{Visit: func(e *Entry) error {
				change(t, dir, outside, e)
				return nil
			}})
			if !slices.Contains(paths, "z") || slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, "secret") }) {
				t.Errorf("visited %q", paths)
			}
		})
	}
}

func TestX5OpenWantsTheFileThatWasLookedAt(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside+"/secret")
	for _, name := range []string{"kept", "link", "other", "pipe"} {
		write(t, filepath.Join(dir, name))
	}
	seen(t, dir, Walker{Visit: func(e *Entry) error {
		name := filepath.Join(dir, e.Name)
		if e.Name != "kept" {
			check(t, os.Rename(name, outside+"/"+e.Name))
		}
		switch e.Name {
		case "link":
			check(t, os.Symlink(outside+"/secret", name))
		case "other":
			write(t, name)
		case "pipe":
			check(t, syscall.Mkfifo(name, 0o600))
		}
		f, _, err := e.Open()
		if err == nil {
			text, _ := io.ReadAll(f)
			_ = f.Close()
			if string(text) != "kept" {
				t.Errorf("%s was opened and holds %q", e.Name, text)
			}
		} else if e.Name == "kept" {
			t.Error(err)
		}
		return nil
	}})
}

// The work grows with the number of folders, not with its square, and no more than
// a few descriptors are open.
func TestH14WorkGrowsWithTheEntries(t *testing.T) {
	t.Parallel()
	work := func(levels int) (walked, removed int) {
		dir := t.TempDir() + "/top"
		check(t, os.Mkdir(dir, 0o700))
		nest(t, dir, levels)
		folder, err := os.Open(dir)
		check(t, err)
		defer func() { _ = folder.Close() }()
		s := newWalk(&Walker{Visit: func(*Entry) error { return nil }}, folder)
		check(t, s.run(t.Context()))
		r := newRemover()
		check(t, r.remove(t.Context(), unix.AT_FDCWD, dir))
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d levels: still there: %v", levels, err)
		}
		return s.calls, r.calls
	}
	walked, removed := work(250)
	walkedMore, removedMore := work(2000)
	if walkedMore > 9*walked || removedMore > 9*removed {
		t.Errorf("walk: %d, %d calls; removal: %d, %d calls", walked, walkedMore, removed, removedMore)
	}
}

func TestH14RemoveIsCompleteAndStaysInside(t *testing.T) {
	t.Parallel()
	parent, outside := t.TempDir(), t.TempDir()
	write(t, outside+"/secret")
	dir := parent + "/top"
	for i := range 300 {
		write(t, fmt.Sprintf("%s/a/%d/b/%d", dir, i%20, i))
	}
	nest(t, dir+"/a", 50)
	check(t, os.Symlink(outside, dir+"/link"))
	check(t, os.Symlink(outside, dir+"/a/1/link"))
	check(t, syscall.Mkfifo(dir+"/a/pipe", 0o600))
	check(t, Remove(t.Context(), dir))
	check(t, Remove(t.Context(), dir))
	check(t, Remove(t.Context(), parent+"/no/such/folder"))
	write(t, parent+"/file")
	check(t, os.Symlink(outside, parent+"/link"))
	check(t, Remove(t.Context(), parent+"/file"))
	check(t, Remove(t.Context(), parent+"/link"))
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("outside there are %v, %v", left, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	write(t, dir+"/file")
	if err := Remove(stopped, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("removal after the end of its context: %v", err)
	}
}

// asOwner is the process of TestX4ClosedFoldersAreWalkedAndRemoved.
func asOwner(dir string) int {
	few := syscall.Rlimit{Cur: 24, Max: 24}
	folder, err := os.Open(dir)
	err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	entries := 0
	walker := Walker{
		Unlock: true,
		Visit: func(e *Entry) error {
			entries++
			if !e.Info.Mode.IsRegular() {
				return nil
			}
			f, _, err := e.Open()
			return errors.Join(err, f.Close())
		},
		Left: func(path string, why error) { err = errors.Join(err, fmt.Errorf("%s: %w", path, why)) },
	}
	if err == nil {
		err = walker.Walk(context.Background(), folder)
	}
	fmt.Fprintln(os.Stdout, entries, "entries")
	if err = errors.Join(err, Remove(context.Background(), dir)); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

// Folders that an agent closed to its own user are no obstacle to a server that
// has the same user, nor is a low limit of descriptors.
func TestX4ClosedFoldersAreWalkedAndRemoved(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "lineshaft-tree") //nolint:usetesting // where every user gets to
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	self := filepath.Join(parent, "test")
	// Copied by another process: children of other tests cannot have the copy open then, which would keep it from starting.
	check(t, exec.CommandContext(t.Context(), "cp", fmt.Sprintf("/proc/%d/exe", os.Getpid()), self).Run())
	dir := parent + "/top"
	check(t, os.Mkdir(dir, 0o700))
	nest(t, dir, 100)
	for _, mode := range []string{"000", "400", "100", "500", "600"} {
		write(t, filepath.Join(dir, mode, "inner", "file"))
		write(t, filepath.Join(dir, mode, "file"))
	}
	if os.Geteuid() == 0 {
		giveAll(t, parent)
	}
	for _, mode := range []fs.FileMode{0o000, 0o400, 0o100, 0o500, 0o600} {
		for _, name := range []string{"file", "inner/file", "inner", "."} {
			check(t, os.Chmod(filepath.Join(dir, fmt.Sprintf("%03o", mode), name), mode))
		}
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), ownerTest+"="+dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "220 entries\n" {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// giveAll gives a folder to a user that is not root.
func giveAll(t *testing.T, dir string) {
	t.Helper()
	check(t, os.Chown(dir, 54321, 54321))
	_, left := seen(t, dir, Walker{Visit: func(e *Entry) error { return e.Chown(54321, 54321) }})
	equal(t, left)
}
