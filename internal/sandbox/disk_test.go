//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

func TestX5SpaceIsCountedAsTheDiskDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := func() int64 {
		c := tally{seen: map[uint64]bool{}, most: 1 << 40}
		c.addFolder(dir)
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
	missing.addFolder(filepath.Join(t.TempDir(), "none"))
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
