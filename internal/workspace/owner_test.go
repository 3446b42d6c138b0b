package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is written while the agent lives is the agent's, as the workspace is.
func TestX4WhatIsWrittenBelongsToTheAgent(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to another user")
	}
	const agent = 54321
	w := workspace(t, Limits{})
	if err := os.Chown(w.Dir(), agent, agent); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.Dir(), PrivateDir)); err != nil { // as an agent may
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, outside, filepath.Join(w.Dir(), "event-payload.json"))
	if err := w.Place(t.Context(), "event-payload.json", strings.NewReader("{}"), 10); err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WritePrivate(t.Context(), "session-x.json", strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{
		filepath.Join(w.Dir(), PrivateDir): agent, filepath.Join(w.Dir(), ArtifactsDir): agent,
		filepath.Join(w.Dir(), "event-payload.json"): agent, filepath.Join(w.Dir(), PrivateDir, "session-x.json"): agent,
		outside: 0,
	} {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != want || st.Gid != want {
			t.Errorf("%s belongs to %d, want %d", name, st.Uid, want)
		}
	}
}

// A pipe without another end, in the place of what we read, does not hold us up.
func TestX10PipeInPlaceOfOurFilesDoesNotBlock(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{PrivateDir + "/session-acp.json", "folder"} {
		if err := syscall.Mkfifo(filepath.Join(w.Dir(), name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.ReadPrivate("session-acp.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	if names, err := readNames(w.root, "folder"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("names %q, %v", names, err)
	}
	if err := w.Place(t.Context(), "folder", strings.NewReader("x"), 10); err != nil || read(t, w, "folder") != "x" {
		t.Errorf("place: %v", err)
	}
}
