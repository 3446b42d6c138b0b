package workspace

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/overlay"
)

// layered opens workspaces on top of a layer with some files.
func layered(t *testing.T) (open func(run string) *Workspace, layer Layer) {
	t.Helper()
	if err := overlay.Check(t.Context(), t.TempDir()); err != nil {
		t.Skipf("no overlays on this machine: %v", err)
	}
	m, err := NewManager(t.TempDir(), Limits{WholeBytes: 1})
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	layer = Layer{ID: "layer", Dir: t.TempDir(), Owner: 61004, Bytes: 2, Commits: map[string]string{"shop": "c1"}}
	old := time.Unix(1_000_000_000, 0)
	for _, name := range []string{"a/one", "a/two", "b/one", "b/deep/two", "c/file", "d", "e", "same", ".lineshaft/old"} {
		file := filepath.Join(layer.Dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, errors.Join(os.WriteFile(file, []byte(name[:1]+"-"), 0o644), os.Chtimes(file, old, old)))
	}
	must(t, os.Symlink("d", filepath.Join(layer.Dir, "link")))
	must(t, errors.Join(os.Link(filepath.Join(layer.Dir, "e"), filepath.Join(layer.Dir, "second"))))
	return func(run string) *Workspace {
		w, err := m.Open(t.Context(), OpenRequest{RunID: run, Number: 1})
		must(t, err)
		t.Cleanup(func() { must(t, w.Release(context.WithoutCancel(t.Context()), time.Time{})) })
		must(t, w.MountLayer(t.Context(), layer))
		return w
	}, layer
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listed lists everything of a folder that a snapshot must bring back.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || strings.Contains(path, PrivateDir) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(&all, "%s %s", strings.TrimPrefix(path, dir), info.Mode())
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			_, _ = fmt.Fprintf(&all, " %q %d", text, info.ModTime().UnixNano())
			if err != nil {
				return err
			}
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all.WriteString(" " + to)
		}
		all.WriteString("\n")
		return nil
	}))
	return all.String()
}

// the snapshot of a workspace on top of a layer has what is different, and on top of
// the same files it brings everything back.
func TestX14SnapshotIsTheDifference(t *testing.T) { //nolint:tparallel // they share one layer
	t.Parallel()
	open, layer := layered(t)
	old := time.Unix(1_000_000_000, 0)
	for name, change := range map[string]func(at func(string) string) error{ //nolint:paralleltest // as above
		"nothing": func(func(string) string) error { return nil },
		"a folder for another of the same sizes and times": func(at func(string) string) error {
			return errors.Join(os.RemoveAll(at("b")), os.Rename(at("a"), at("b")))
		},
		"a file for a folder": func(at func(string) string) error {
			return errors.Join(os.RemoveAll(at("b")), os.WriteFile(at("b"), []byte("file"), 0o600))
		},
		"a folder for a file, and a link for a folder": func(at func(string) string) error {
			return errors.Join(os.Remove(at("d")), os.Mkdir(at("d"), 0o700), os.RemoveAll(at("c")), os.Symlink("a", at("c")))
		},
		"contents with the old time": func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("same"), []byte("S-"), 0o644), os.Chtimes(at("same"), old, old))
		},
		"by another name": func(at func(string) string) error {
			return errors.Join(os.WriteFile(at("second"), []byte("E-"), 0o644), os.Chtimes(at("second"), old, old))
		},
		"modes, and a folder made again": func(at func(string) string) error {
			return errors.Join(os.Chmod(at("a/one"), 0o755), os.Chmod(at("b/deep"), 0o700), os.RemoveAll(at("c")), os.Mkdir(at("c"), 0o755))
		},
		"everything gone": func(at func(string) string) error {
			names, err := filepath.Glob(at("*"))
			for _, name := range names {
				err = errors.Join(err, os.RemoveAll(name))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			w := open(run)
			must(t, change(func(path string) string { return filepath.Join(w.Dir(), path) }))
			want, raw := listed(t, w.Dir()), pack(t, w)
			var needs *BaseError
			other := open(run + "-2")
			must(t, other.Clear(t.Context()))
			err := other.Restore(t.Context(), bytes.NewReader(raw))
			if !errors.As(err, &needs) || needs.Base.Layer != layer.ID || needs.Base.Commits["shop"] != "c1" {
				t.Fatalf("restored on nothing: %v", err)
			}
			if left, err := other.Empty(); !left || err != nil {
				t.Errorf("it left something: %v", err)
			}
			must(t, other.MountLayer(t.Context(), layer))
			must(t, other.RestoreOn(t.Context(), bytes.NewReader(raw)))
			if got := listed(t, other.Dir()); got != want {
				t.Errorf("restored\n%s\nwant\n%s", got, want)
			}
			if name == "nothing" && strings.Count(unpacked(t, raw), "\n") != 1 { // the base alone
				t.Errorf("without a change the snapshot has\n%s", unpacked(t, raw))
			}
		})
	}
}

// unpacked lists the names of a snapshot.
func unpacked(t *testing.T, raw []byte) (names string) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	must(t, err)
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if err != nil {
			return names
		}
		names += header.Name + "\n"
	}
}

// nothing of a snapshot leads out of the workspace, the names to remove included.
func TestX14HostileDifference(t *testing.T) {
	t.Parallel()
	open, _ := layered(t)
	w := open("hostile")
	outside := filepath.Join(filepath.Dir(w.Dir()), "state.json")
	for _, name := range []string{"../state.json", "/etc/passwd", ".lineshaft", "."} {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		archive := tar.NewWriter(zip)
		text := fmt.Sprintf(`{"layer":"layer","removed":[%q]}`, name)
		must(t, archive.WriteHeader(&tar.Header{Name: baseFile, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		must(t, errors.Join(err, archive.Close(), zip.Close()))
		if err := w.RestoreOn(t.Context(), &out); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
