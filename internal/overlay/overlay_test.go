//go:build linux

package overlay

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// needs wants overlays on this machine, and a folder for them.
func needs(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	if err := Check(t.Context(), dir); err != nil {
		t.Skipf("no overlays on this machine: %v", err)
	}
	t.Cleanup(func() { must(t, Clear(dir)) })
	return dir
}

// the folder of a server is named from where it was started, unless somebody says otherwise.
func TestX14FolderByItsRelativeName(t *testing.T) {
	t.Parallel()
	dir := needs(t)
	here, err := os.Getwd()
	must(t, err)
	relative, err := filepath.Rel(here, dir)
	must(t, err)
	must(t, Check(t.Context(), relative))
	must(t, os.Mkdir(relative+"/at", 0o700))
	must(t, Anchor(relative+"/at"))
	must(t, Clear(relative))
	must(t, os.Remove(relative+"/at"))
	left, err := os.ReadDir(dir)
	if must(t, err); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
}

func folders(t *testing.T, dir string) Mount {
	t.Helper()
	m := Mount{Lower: filepath.Join(dir, "lower"), Store: filepath.Join(dir, "a,b:c"), At: filepath.Join(dir, "at"), Owner: 61007}
	for _, name := range []string{m.Lower + "/folder", m.At} {
		must(t, os.MkdirAll(name, 0o700))
	}
	must(t, os.WriteFile(m.Lower+"/folder/file", []byte("lower"), 0o600))
	must(t, os.Link(m.Lower+"/folder/file", m.Lower+"/second"))
	return m
}

func text(t *testing.T, name string) string {
	t.Helper()
	got, err := os.ReadFile(name)
	must(t, err)
	return string(got)
}

// what is written through an overlay is beside the lower folder, which stays as it is;
// names of one file stay names of one file, and folders can be renamed.
func TestX14OverlayLeavesTheLowerFolder(t *testing.T) {
	t.Parallel()
	m := folders(t, needs(t))
	must(t, m.Mount(t.Context()))
	info, err := os.Stat(m.At + "/folder/file")
	must(t, err)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 61007 || st.Gid != 61007 || st.Nlink != 2 {
		t.Errorf("the file is %+v", info.Sys())
	}
	must(t, os.WriteFile(m.At+"/second", []byte("changed"), 0o600))
	must(t, os.Rename(m.At+"/folder", m.At+"/moved"))
	if got := text(t, m.At+"/moved/file"); got != "changed" {
		t.Errorf("the other name has %q", got)
	}
	if got := text(t, m.Lower+"/folder/file") + text(t, m.Lower+"/second"); got != "lowerlower" {
		t.Errorf("below there is %q", got)
	}
	// A process that keeps a file open keeps the next mount away, until it is closed.
	open, err := os.Open(m.At + "/moved/file")
	must(t, err)
	must(t, Unmount(m.At))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Mount(ended); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("mounted twice: %v", err)
	}
	must(t, open.Close())
	must(t, m.Mount(t.Context()))
	if got := text(t, m.At+"/moved/file"); got != "changed" {
		t.Errorf("mounted again, it has %q", got)
	}
	must(t, Unmount(m.At))
	must(t, Unmount(m.At))
}

// what was written can be copied, and gives the same on top of the same folder.
func TestX14CopyOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := needs(t)
	m := folders(t, dir)
	must(t, os.MkdirAll(m.Lower+"/gone/deep", 0o755))
	must(t, os.WriteFile(m.Lower+"/gone/deep/file", []byte("deep"), 0o600))
	must(t, os.WriteFile(m.Lower+"/alone", []byte("alone"), 0o600))
	must(t, m.Mount(t.Context()))
	must(t, os.Rename(m.At+"/gone/deep", m.At+"/moved"))
	must(t, os.RemoveAll(m.At+"/gone"))
	must(t, os.Mkdir(m.At+"/gone", 0o750))
	must(t, os.Remove(m.At+"/alone"))
	must(t, os.WriteFile(m.At+"/mine", []byte("mine"), 0o640))
	must(t, os.Symlink("mine", m.At+"/link"))
	must(t, syscall.Setxattr(m.At+"/mine", "user.note", []byte("noted"), 0))
	other := Mount{Lower: m.Lower, Store: filepath.Join(dir, "other"), At: filepath.Join(dir, "other-at"), Owner: m.Owner}
	must(t, CopyStore(t.Context(), m.Store, other.Store))
	must(t, os.Mkdir(other.At, 0o700))
	must(t, other.Mount(t.Context()))
	list := func(at string) string {
		const all = `cd "$1" && find . -mindepth 1 -printf '%p %y %m %U %G %T@ %l %s\n' | sort; cat mine link moved/file`
		out, err := exec.CommandContext(t.Context(), "sh", "-c", all, "sh", at).CombinedOutput()
		must(t, err)
		return string(out)
	}
	if a, b := list(m.At), list(other.At); a != b || !strings.Contains(a, "./moved/file f 600 61007") || strings.Contains(a, "alone") {
		t.Errorf("there is\n%s\nwant\n%s", b, a)
	}
	note := make([]byte, 10)
	if n, err := syscall.Getxattr(other.At+"/mine", "user.note", note); err != nil || string(note[:n]) != "noted" {
		t.Errorf("the note is %q, %v", note, err)
	}
	must(t, os.WriteFile(m.At+"/second", []byte("both"), 0o600))
	if err := CopyStore(t.Context(), m.Store, filepath.Join(dir, "third")); !errors.Is(err, ErrIndexed) {
		t.Errorf("copied what a copy cannot have: %v", err)
	}
}

// what a process that was killed has mounted goes, with what anchors it.
func TestX14ClearEndsAllMounts(t *testing.T) {
	t.Parallel()
	dir := needs(t)
	m := folders(t, dir)
	must(t, Anchor(dir))
	must(t, Anchor(dir))
	must(t, m.Mount(t.Context()))
	if points, err := mounted(dir); err != nil || len(points) != 2 {
		t.Errorf("mounted: %q, %v", points, err)
	}
	must(t, Clear(dir))
	if points, err := mounted(dir); err != nil || len(points) != 0 {
		t.Errorf("still mounted: %q, %v", points, err)
	}
}

// without rights the reason is said.
func TestX14OverlayThatCannotBe(t *testing.T) {
	t.Parallel()
	m := folders(t, needs(t))
	m.Lower = filepath.Join(m.Lower, "missing")
	if err := m.Mount(t.Context()); err == nil || !strings.Contains(err.Error(), "open lower folder") {
		t.Errorf("mounted nothing: %v", err)
	}
}
