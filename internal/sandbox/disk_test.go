//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/tree"
)

func TestX5SpaceIsCountedAsTheDiskDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := func() int64 {
		c := tally{seen: map[uint64]bool{}, most: 1 << 40}
		c.addFolder(t.Context(), dir)
		c.addOpenFiles(os.Getpid())
		if c.blind {
			t.Error("something could not be seen")
		}
		return c.bytes
	}
	empty := count()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	file := count() - empty
	if file < 1<<20 || file > 1<<20+1<<16 {
		t.Errorf("a file of 1 MiB takes %d", file)
	}
	// A second name, a link to something large, and a hole take no space.
	if err := os.Link(path, filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr/bin/env", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	hole, err := os.Create(filepath.Join(dir, "hole"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hole.Close() }()
	if err := hole.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	if got := count() - empty; got > file+1<<16 {
		t.Errorf("with names, a link and a hole: %d", got)
	}
	// A deleted file that is open does.
	if _, err := hole.WriteAt(make([]byte, 1<<20), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(hole.Name()); err != nil {
		t.Fatal(err)
	}
	if got := count() - empty; got < file+1<<20 {
		t.Errorf("with a deleted file: %d", got)
	}
}

func TestX5DiskLimitDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, grown int64
		blind, want  bool
	}{
		{100, 0, false, false},
		{101, 0, false, true},
		{50, 1000, false, false}, // others have written it
		{50, 1000, true, true},   // perhaps it was this one
		{50, 100, true, false},
	} {
		tally := tally{bytes: c.bytes, blind: c.blind, most: 100}
		if tally.over(c.grown) != c.want {
			t.Errorf("%+v", c)
		}
	}
	missing := tally{seen: map[uint64]bool{}, most: 100}
	missing.addFolder(t.Context(), filepath.Join(t.TempDir(), "none"))
	missing.addOpenFiles(1 << 30)
	if missing.blind || missing.bytes != 0 {
		t.Errorf("what is gone: %+v", missing)
	}
	if used, ok := usedSpace(t.TempDir()); !ok || used <= 0 {
		t.Errorf("used space %d, %v", used, ok)
	}
	if _, ok := usedSpace("/no/such/folder"); ok {
		t.Error("a folder that does not exist has a file system")
	}
}

func TestX5LargestFile(t *testing.T) {
	t.Parallel()
	for limits, want := range map[Limits]int64{{}: 0, {FileBytes: 5}: 5, {DiskBytes: 7}: 7, {FileBytes: 5, DiskBytes: 7}: 5, {FileBytes: 9, DiskBytes: 7}: 7} {
		if got := limits.largestFile(); got != want {
			t.Errorf("%+v: %d", limits, got)
		}
	}
}

// A path that is longer than the kernel takes in one piece hides nothing.
func TestH14SpaceOfDeepFoldersIsCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range 2500 {
		if err == nil {
			err = unix.Mkdirat(at, "d", 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := at
		at, err = unix.Openat(before, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(before)
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Openat(at, "bottom", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	bottom := os.NewFile(uintptr(fd), "bottom")
	defer func() { _, _ = bottom.Close(), unix.Close(at) }()
	if _, err := bottom.Write(make([]byte, 20<<20)); err != nil {
		t.Fatal(err)
	}
	c := tally{seen: map[uint64]bool{}, most: 1 << 40}
	c.addFolder(t.Context(), dir)
	if c.blind || c.bytes < 20<<20 {
		t.Errorf("%d bytes were found, blind %v", c.bytes, c.blind)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := giveTo(t.Context(), dir, 54321); err != nil {
		t.Fatal(err)
	}
	if info, err := tree.Stat(bottom); err != nil || info.UID != 54321 {
		t.Errorf("the deepest file belongs to %d, %v", info.UID, err)
	}
}
