package workspace

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// a layer is freed of workspaces that wait for a follow-up only when all of them have a snapshot.
func TestX14FreeWhatHasASnapshot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root has workspaces on layers")
	}
	m := manager(t, Limits{})
	t.Cleanup(func() { must(t, m.Close()) })
	leave := func(run, layer string, stored bool) {
		t.Helper()
		w := open(t, m, OpenRequest{RunID: run, Number: 1})
		if w.state.Layer = layer; stored {
			w.Stored()
		}
		must(t, w.Release(t.Context(), time.Now().Add(time.Hour)))
	}
	leave("run-1", "one", true)
	leave("run-2", "one", true)
	leave("run-3", "two", true)
	leave("run-4", "two", false)
	leave("run-5", "three", true)
	again := open(t, m, OpenRequest{RunID: "run-5", Number: 2, Keep: true, Layer: func(id string) (Layer, bool) {
		return Layer{ID: id, Dir: t.TempDir()}, true
	}})
	for _, layer := range []string{"one", "two", "three", "none"} {
		must(t, m.Free(t.Context(), layer))
	}
	if used, err := m.Layers(); err != nil || len(used) != 2 || !used["two"] || !used["three"] {
		t.Errorf("used are %v, %v", used, err)
	}
	if left, err := os.ReadDir(m.dir); err != nil || len(left) != 3 {
		t.Errorf("left are %v, %v", left, err)
	}
	must(t, again.Release(t.Context(), time.Time{}))
}

// A workspace of which a part was removed when its worker died is nobody's.
func TestX4HalfRemovedWorkspace(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	w := open(t, m, OpenRequest{RunID: "run-1", Number: 1})
	write(t, w, "file", "x")
	must(t, w.Release(t.Context(), time.Now().Add(time.Hour)))
	dying, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Remove(dying, "run-1"); err == nil {
		t.Fatal("it was removed although the worker dies")
	}
	if _, err := os.Stat(filepath.Join(m.dir, "run-1")); err != nil {
		t.Fatal(err)
	}
	second := open(t, m, OpenRequest{RunID: "run-1", Number: 2, Keep: true})
	if second.Kept() {
		t.Error("what is left of it is used")
	}
	must(t, second.Release(t.Context(), time.Time{}))
}
