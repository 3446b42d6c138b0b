package workspace

import (
	"context"
	"errors"
	"fmt"
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

// fewDescriptors names the data directory for a process of this test that may have
// few files open.
const fewDescriptors = "LINESHAFT_TEST_FEW_DESCRIPTORS"

// nest makes folders inside each other, as an agent does with mkdir and chdir, and
// a file in the innermost.
func nest(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkdirat(at, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		before := at
		at, err = unix.Openat(before, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(before)
	}
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Openat(at, "bottom", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = unix.Close(fd), unix.Close(at)
}

// removeWithFew is the process of TestH14DeepWorkspaceIsRemovedWithFewDescriptors.
func removeWithFew(dir string) int {
	few := syscall.Rlimit{Cur: 32, Max: 32}
	err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few)
	if err == nil {
		var m *Manager
		if m, err = NewManager(dir, Limits{}); err == nil {
			err = m.Remove(context.Background(), "run-1")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestH14DeepWorkspaceIsRemovedWithFewDescriptors(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	nest(t, filepath.Join(w.Dir(), ArtifactsDir), 8000)
	write(t, w, "beside/it", "x")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fewDescriptors+"="+filepath.Dir(w.manager.dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("remove: %v: %s", err, out)
	}
	if _, err := os.Lstat(w.home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the workspace is still there: %v", err)
	}
}

func TestH14DeepFoldersDoNotLoseOtherArtifacts(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, ArtifactsDir+"/a.txt", "before")
	nest(t, filepath.Join(w.Dir(), ArtifactsDir), 1000)
	write(t, w, ArtifactsDir+"/d/d/shallow", "in")
	write(t, w, ArtifactsDir+"/z.txt", "after")
	files, notices := taken(t, w)
	equal(t, files, "a.txt=before", "d/d/shallow=in", "z.txt=after")
	if len(notices) != 1 || !strings.Contains(notices[0], "nested too deeply") || len(notices[0]) > 300 {
		t.Errorf("notices %q", notices)
	}
}

// What is too deep is not in a snapshot, and the rest is.
func TestH14DeepFoldersDoNotLoseTheSnapshot(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, "kept", "x")
	nest(t, w.Dir(), 300)
	m, err := w.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.Notices, func(n string) bool { return strings.Contains(n, "nested too deeply") }) {
		t.Errorf("notices %q", m.Notices)
	}
	if packed := pack(t, w); len(packed) == 0 {
		t.Error("an empty archive")
	}
	if m.Entries != 1+256 {
		t.Errorf("%d entries are in the snapshot", m.Entries)
	}
}
