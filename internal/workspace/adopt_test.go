package workspace

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A run that continues a conversation gets the folder that the run before left, once, and
// only if the right execution left it.
func TestR2AdoptsTheFolderOfAnotherRun(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	first := open(t, m, OpenRequest{RunID: "run-1", Number: 2})
	write(t, first, "word.txt", "heron")
	write(t, first, ArtifactsDir+"/report.txt", "made by the first")
	write(t, first, PrivateDir+"/session-acp.json", "{}")
	taken := 0
	count := func(Artifact, io.Reader) error { taken++; return nil }
	if _, err := first.Artifacts(t.Context(), count); err != nil || taken != 1 {
		t.Fatal(taken, err)
	}
	later := make(chan *Workspace, 1)
	go func() { // it waits for the execution that ends
		w, err := m.Open(t.Context(), OpenRequest{RunID: "run-2", Number: 1, From: "run-1", FromNumber: 2, Preparing: true})
		if err != nil {
			t.Error(err)
		}
		later <- w
	}()
	if err := first.Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	second := <-later
	if second == nil || !second.Kept() || !second.Adopted() || read(t, second, "word.txt") != "heron" {
		t.Fatalf("%+v", second)
	}
	if _, err := second.Artifacts(t.Context(), count); err != nil || taken != 1 {
		t.Errorf("the artifacts of the first run were taken again: %d, %v", taken, err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "run-1")); !os.IsNotExist(err) {
		t.Errorf("the folder is there twice: %v", err)
	}
	if err := second.ForgetSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.ReadPrivate("session-acp.json"); err == nil {
		t.Error("the session is still there")
	}
	if err := second.Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	third := open(t, m, OpenRequest{RunID: "run-3", Number: 1, From: "run-2", FromNumber: 7})
	if third.Kept() || third.Adopted() {
		t.Error("it is not what execution 7 left")
	}
	if err := third.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), OpenRequest{RunID: "run-4", Number: 1, From: "../run-2", FromNumber: 1}); err == nil {
		t.Error("a path was taken for a run")
	}
}
