package workspace

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func pack(t *testing.T, w *Workspace) []byte {
	t.Helper()
	m, err := w.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := w.Snapshot(t.Context(), m, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// archive makes a snapshot by hand.
func archive(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	tw := tar.NewWriter(zip)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "content"
			h.Size = int64(len(content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// names lists what is in the workspace, as "mode name".
func names(t *testing.T, w *Workspace) []string {
	t.Helper()
	var out []string
	err := filepath.Walk(w.Dir(), func(name string, info os.FileInfo, err error) error {
		if err != nil || name == w.Dir() {
			return err
		}
		rel, err := filepath.Rel(w.Dir(), name)
		if rel == PrivateDir {
			return filepath.SkipDir
		}
		out = append(out, fmt.Sprintf("%v %s", info.Mode(), rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestR6SnapshotAndRestore(t *testing.T) {
	t.Parallel()
	from := workspace(t, Limits{})
	write(t, from, "src/main.go", "package main")
	write(t, from, "run.sh", "#!/bin/sh")
	write(t, from, "caf\xe9 \n.txt", "odd name") // not UTF-8: agents make such files
	write(t, from, ArtifactsDir+"/done", "already uploaded")
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "src/main.go": 0o400, "src": 0o750} {
		full := filepath.Join(from.Dir(), name)
		if err := errors.Join(os.Chmod(full, mode), os.Chtimes(full, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, "src/main.go", filepath.Join(from.Dir(), "inside"))
	symlink(t, "/etc/passwd", filepath.Join(from.Dir(), "outside"))
	if err := syscall.Mkfifo(filepath.Join(from.Dir(), "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(from.Dir(), "run.sh"), filepath.Join(from.Dir(), "same.sh")); err != nil {
		t.Fatal(err)
	}

	to := open(t, manager(t, Limits{}), OpenRequest{RunID: "run-1", Number: 2, Keep: true})
	if err := to.Restore(t.Context(), bytes.NewReader(pack(t, from))); err != nil {
		t.Fatal(err)
	}
	equal(t, names(t, to),
		"-rw-r--r-- caf\xe9 \n.txt", "Lrwxrwxrwx inside", "Lrwxrwxrwx outside",
		"-rwxr-xr-x run.sh", "-rwxr-xr-x same.sh", "drwxr-x--- src", "-r-------- src/main.go")
	if got := read(t, to, "src/main.go"); got != "package main" {
		t.Errorf("main.go holds %q", got)
	}
	if target, err := os.Readlink(filepath.Join(to.Dir(), "outside")); err != nil || target != "/etc/passwd" {
		t.Errorf("link to %q, %v", target, err)
	}
	for _, name := range []string{"run.sh", "src"} {
		if info, err := os.Stat(filepath.Join(to.Dir(), name)); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s: time %v, %v", name, info.ModTime(), err)
		}
	}
}

// Of our own folder a snapshot has the conversations of harnesses, and they alone
// are worth one.
func TestR6SnapshotKeepsConversations(t *testing.T) {
	t.Parallel()
	from := workspace(t, Limits{})
	write(t, from, PrivateDir+"/command.sh", "ls")
	if empty, err := from.Empty(); err != nil || !empty {
		t.Errorf("empty = %v, %v", empty, err)
	}
	before, err := from.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path, err := from.WritePrivate(t.Context(), "agent-"+SessionWord+".json", strings.NewReader("said"))
	if err != nil {
		t.Fatal(err)
	}
	symlink(t, "/etc/passwd", filepath.Join(filepath.Dir(path), SessionWord+"link"))
	if err := os.Mkdir(filepath.Join(filepath.Dir(path), SessionWord+"folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if empty, err := from.Empty(); err != nil || empty {
		t.Errorf("empty = %v, %v", empty, err)
	}
	if after, err := from.Measure(t.Context()); err != nil || after.Print == before.Print || after.Entries != 1 || before.Entries != 0 {
		t.Errorf("before %+v, after %+v, %v", before, after, err)
	}
	to := open(t, manager(t, Limits{}), OpenRequest{RunID: "run-1", Number: 2, Keep: true})
	if err := to.Restore(t.Context(), bytes.NewReader(pack(t, from))); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(to.Dir(), PrivateDir))
	if err != nil || len(left) != 2 || left[0].Name() != "agent-session.json" || left[1].Name() != "artifacts" {
		t.Errorf("restored %v, %v", left, err)
	}
	if text, err := to.ReadPrivate("agent-" + SessionWord + ".json"); err != nil || text != "said" {
		t.Errorf("conversation %q, %v", text, err)
	}
}

// A name in the workspace for a file that lives elsewhere must not carry it off.
func TestX5SnapshotLeavesForeignFilesOut(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	host := filepath.Join(filepath.Dir(w.manager.dir), "shadow")
	if err := os.WriteFile(host, []byte("root:x:0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(host, filepath.Join(w.Dir(), "hard")); err != nil {
		t.Fatal(err)
	}
	symlink(t, host, filepath.Join(w.Dir(), "soft"))
	symlink(t, filepath.Dir(host), filepath.Join(w.Dir(), "folder"))
	write(t, w, "mine", "x")
	m, err := w.Measure(t.Context())
	if err != nil || m.Skipped != 1 {
		t.Errorf("measured %+v, %v", m, err)
	}
	raw := pack(t, w)
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(plain, []byte("root:x:0")) {
		t.Error("the snapshot holds a file of the host")
	}
	to := workspace(t, Limits{})
	if err := to.Restore(t.Context(), bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	equal(t, names(t, to), "Lrwxrwxrwx folder", "-rw-r--r-- mine", "Lrwxrwxrwx soft")
}

func TestR6SnapshotOfClosedFiles(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, "closed/file", "x")
	for _, name := range []string{"closed/file", "closed"} {
		if err := os.Chmod(filepath.Join(w.Dir(), name), 0); err != nil {
			t.Fatal(err)
		}
	}
	to := workspace(t, Limits{})
	if err := to.Restore(t.Context(), bytes.NewReader(pack(t, w))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(to.Dir(), "closed/file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, to, "closed/file"); got != "x" {
		t.Errorf("closed/file holds %q", got)
	}
}

// The print shows whether another snapshot is worthwhile.
func TestR6PrintChangesWithTheFiles(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	printed := func() string {
		t.Helper()
		m, err := w.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.Print
	}
	seen := map[string]string{printed(): "nothing"}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a file", func() { write(t, w, "a", "1") }},
		{"another content", func() { write(t, w, "a", "12") }},
		{"another mode", func() {
			if err := os.Chmod(filepath.Join(w.Dir(), "a"), 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"a folder", func() { write(t, w, "b/c", "1") }},
		{"a link", func() { symlink(t, "a", filepath.Join(w.Dir(), "l")) }},
	} {
		step.do()
		if before, ok := seen[printed()]; ok {
			t.Errorf("%s looks like %s", step.name, before)
		}
		seen[printed()] = step.name
	}
	last := printed()
	write(t, w, ArtifactsDir+"/x", "is in no snapshot")
	if printed() != last {
		t.Error("what is ours changes the print")
	}
}

func TestR6SnapshotTooLarge(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{SnapshotBytes: 10})
	write(t, w, "a", "123456")
	if _, err := w.Measure(t.Context()); err != nil {
		t.Error(err)
	}
	write(t, w, "b", "123456")
	if _, err := w.Measure(t.Context()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("12 bytes: %v", err)
	}
	w = workspace(t, Limits{Entries: 2})
	for _, name := range []string{"a", "b", "c"} {
		write(t, w, name, "")
	}
	if _, err := w.Measure(t.Context()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("3 files: %v", err)
	}
}

// Whatever an archive holds, nothing lands outside and a bad one leaves nothing.
func TestX5RestoreRefuses(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	link := func(name, target string) tar.Header {
		return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
	}
	good := archive(t, file("ok"))
	tests := []struct {
		name    string
		archive []byte
	}{
		{"absolute name", archive(t, file("/tmp/lineshaft-escape"))},
		{"parent", archive(t, file("../escape"))},
		{"hidden parent", archive(t, file("a/../../escape"))},
		{"through a link", archive(t, link("out", "../.."), file("out/escape"))},
		{"through an absolute link", archive(t, link("out", "/tmp"), file("out/lineshaft-escape"))},
		{"over a link", archive(t, link("x", "../../escape"), file("x"))},
		{"hard link", archive(t, tar.Header{Name: "x", Linkname: "/etc/passwd", Typeflag: tar.TypeLink})},
		{"device", archive(t, tar.Header{Name: "x", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3})},
		{"pipe", archive(t, tar.Header{Name: "x", Typeflag: tar.TypeFifo})},
		{"our folder", archive(t, file(PrivateDir+"/prompt.md"))},
		{"below a conversation", archive(t, file(PrivateDir+"/"+SessionWord+"x/y"))},
		{"a conversation that is a link", archive(t, link(PrivateDir+"/"+SessionWord+"x", "/etc/passwd"))},
		{"a conversation that is a folder", archive(t, tar.Header{Name: PrivateDir + "/" + SessionWord + "x/", Typeflag: tar.TypeDir})},
		{"twice", archive(t, file("x"), file("x"))},
		{"too many", archive(t, file("1"), file("2"), file("3"), file("4"))},
		{"too large", archive(t, file("1"), file("2"), tar.Header{Name: "d/", Typeflag: tar.TypeDir}, file("d/3"))},
		{"cut off", good[:len(good)-9]},
		{"not an archive", []byte("hello")},
		{"empty", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, Limits{Entries: 4, SnapshotBytes: 20})
			if test.name == "too many" {
				m.limits.SnapshotBytes = 1000
				m.limits.Entries = 3
			}
			w, err := m.Open(t.Context(), OpenRequest{RunID: "run-1", Number: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Restore(t.Context(), bytes.NewReader(test.archive)); err == nil {
				t.Error("restored")
			}
			equal(t, names(t, w))
			for _, name := range []string{filepath.Join(w.home, "escape"), filepath.Join(m.dir, "escape"), "/tmp/lineshaft-escape"} {
				if _, err := os.Lstat(name); err == nil {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

func TestX5RestoreDropsDangerousModes(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	raw := archive(t, tar.Header{Name: "su", Typeflag: tar.TypeReg, Mode: 0o6755})
	if err := w.Restore(t.Context(), bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	equal(t, names(t, w), "-rwxr-xr-x su")
}

func FuzzX5Restore(f *testing.F) {
	var buffer bytes.Buffer
	zip := gzip.NewWriter(&buffer)
	if _, err := io.WriteString(zip, strings.Repeat("\x00", 1024)); err != nil {
		f.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(buffer.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := NewManager(t.TempDir(), Limits{SnapshotBytes: 1 << 16, Entries: 16})
		if err != nil {
			t.Fatal(err)
		}
		w, err := m.Open(t.Context(), OpenRequest{RunID: "r", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		// Tar without the compression, so that the fuzzer reaches the entries.
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		if _, err := zip.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Restore(t.Context(), &packed); err != nil {
			if left := names(t, w); len(left) != 0 {
				t.Errorf("a refused archive left %q", left)
			}
		}
		entries, err := os.ReadDir(m.dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("something landed beside the workspace: %v, %v", entries, err)
		}
	})
}
