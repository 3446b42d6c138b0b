package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// taken collects artifacts and returns "path=content" of each.
func taken(t *testing.T, w *Workspace) (files, notices []string) {
	t.Helper()
	notices, err := w.Artifacts(t.Context(), func(a Artifact, r io.Reader) error {
		raw, err := io.ReadAll(r)
		files = append(files, a.Path+"="+string(raw))
		if int64(len(raw)) != a.Size {
			t.Errorf("%s: %d bytes came, %d were announced", a.Path, len(raw), a.Size)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, notices
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestR11ArtifactsNewAndChangedOnly(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	w := open(t, m, OpenRequest{RunID: "run-1", Number: 1})
	files, _ := taken(t, w)
	equal(t, files)
	write(t, w, ArtifactsDir+"/report.md", "one")
	write(t, w, ArtifactsDir+"/sub/data.csv", "a,b")
	write(t, w, "elsewhere.txt", "not an artifact")
	files, _ = taken(t, w)
	equal(t, files, "report.md=one", "sub/data.csv=a,b")
	files, _ = taken(t, w)
	equal(t, files)
	write(t, w, ArtifactsDir+"/report.md", "one and two")
	files, _ = taken(t, w)
	equal(t, files, "report.md=one and two")

	// The next execution in the kept folder does not take them again.
	if err := w.Release(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	w = open(t, m, OpenRequest{RunID: "run-1", Number: 2, Keep: true})
	write(t, w, ArtifactsDir+"/third", "3")
	files, _ = taken(t, w)
	equal(t, files, "third=3")
}

func TestR11ArtifactTypes(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, ArtifactsDir+"/page.html", "x")
	write(t, w, ArtifactsDir+"/picture", "\x89PNG\r\n\x1a\n0000")
	write(t, w, ArtifactsDir+"/void", "")
	var kinds []string
	if _, err := w.Artifacts(t.Context(), func(a Artifact, _ io.Reader) error {
		kinds = append(kinds, a.Name()+" "+a.MimeType)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	equal(t, kinds, "page.html text/html; charset=utf-8", "picture application/octet-stream", "void text/plain; charset=utf-8")
}

// A hostile agent must not get a file of the host stored as its artifact.
func TestX5ArtifactsDoNotLeakHostFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		set    func(t *testing.T, secret, artifacts string)
		notice string
	}{
		{"symbolic link", func(t *testing.T, secret, artifacts string) {
			symlink(t, secret, filepath.Join(artifacts, "x"))
		}, "symbolic link"},
		{"relative symbolic link", func(t *testing.T, secret, artifacts string) {
			rel, err := filepath.Rel(artifacts, secret)
			if err != nil {
				t.Fatal(err)
			}
			symlink(t, rel, filepath.Join(artifacts, "x"))
		}, "symbolic link"},
		{"link to the folder", func(t *testing.T, secret, artifacts string) {
			symlink(t, filepath.Dir(secret), filepath.Join(artifacts, "x"))
		}, "symbolic link"},
		{"hard link", func(t *testing.T, secret, artifacts string) {
			if err := os.Link(secret, filepath.Join(artifacts, "x")); err != nil {
				t.Fatal(err)
			}
		}, "hard link"},
		{"pipe", func(t *testing.T, _, artifacts string) {
			if err := syscall.Mkfifo(filepath.Join(artifacts, "x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"artifacts folder is a link", func(t *testing.T, secret, artifacts string) {
			if err := os.RemoveAll(artifacts); err != nil {
				t.Fatal(err)
			}
			symlink(t, filepath.Dir(secret), artifacts)
		}, ""},
		{"private folder is a link", func(t *testing.T, secret, artifacts string) {
			if err := os.RemoveAll(filepath.Dir(artifacts)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(filepath.Dir(secret), "artifacts"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(filepath.Dir(secret), "artifacts", "x"), []byte("root:x:0"), 0o644); err != nil {
				t.Fatal(err)
			}
			symlink(t, filepath.Dir(secret), filepath.Dir(artifacts))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := workspace(t, Limits{})
			secret := filepath.Join(filepath.Dir(w.manager.dir), "shadow")
			if err := os.WriteFile(secret, []byte("root:x:0"), 0o600); err != nil {
				t.Fatal(err)
			}
			test.set(t, secret, filepath.Join(w.Dir(), ArtifactsDir))
			files, notices := taken(t, w)
			equal(t, files)
			if !strings.Contains(strings.Join(notices, "\n"), test.notice) {
				t.Errorf("notices %q do not say %q", notices, test.notice)
			}
		})
	}
}

// A file that becomes a link between the look and the opening.
func TestX5ArtifactSwappedAfterLook(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	secret := filepath.Join(filepath.Dir(w.manager.dir), "shadow")
	if err := os.WriteFile(secret, []byte("root:x:0"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, w, ArtifactsDir+"/a/file", "mine")
	write(t, w, ArtifactsDir+"/b/shadow", "mine")
	symlink(t, "file", filepath.Join(w.Dir(), ArtifactsDir, "a/inner"))
	var files []string
	notices, err := w.Artifacts(t.Context(), func(a Artifact, r io.Reader) error {
		raw, err := io.ReadAll(r)
		files = append(files, a.Path+"="+string(raw))
		// While the first is collected, the next one's folder becomes a link to the host.
		next := filepath.Join(w.Dir(), ArtifactsDir, "b")
		if err := os.RemoveAll(next); err != nil {
			return err
		}
		return errors.Join(err, os.Symlink(filepath.Dir(secret), next))
	})
	if err != nil {
		t.Error(err)
	}
	equal(t, files, "a/file=mine")
	equal(t, notices, `artifact "a/inner" was left out: it is a symbolic link; copy the file instead`,
		`artifact "b" was left out: it is a symbolic link; copy the file instead`)
}

func TestR11ArtifactLimits(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{ArtifactBytes: 10, ArtifactFiles: 2})
	write(t, w, ArtifactsDir+"/a-big", "12345678901")
	for _, name := range []string{"b", "c", "d"} {
		write(t, w, ArtifactsDir+"/"+name, name)
	}
	files, notices := taken(t, w)
	equal(t, files, "b=b", "c=c")
	equal(t, notices, `artifact "a-big" was left out: it has 11 bytes; at most 10 are kept`, "more than 2 artifacts after one turn; the rest was left out")
	files, _ = taken(t, w)
	equal(t, files, "d=d")

	w = workspace(t, Limits{Entries: 3})
	for _, name := range []string{"1", "2", "3", "4"} {
		write(t, w, ArtifactsDir+"/"+name, name)
	}
	files, notices = taken(t, w)
	equal(t, files, "1=1", "2=2", "3=3")
	equal(t, notices, "the artifacts folder has more than 3 entries; the rest was left out")
}

func TestR11ArtifactNoticesAreBounded(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	for i := range 50 {
		symlink(t, "nowhere", filepath.Join(w.Dir(), ArtifactsDir, strings.Repeat("x", i+1)))
	}
	_, notices := taken(t, w)
	if len(notices) != 21 || notices[20] != "more artifacts were left out" {
		t.Errorf("%d notices, the last %q", len(notices), notices[len(notices)-1])
	}
}

// An upload that breaks is done again, the others are not.
func TestR11ArtifactTakenAgainAfterError(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{})
	write(t, w, ArtifactsDir+"/a", "a")
	write(t, w, ArtifactsDir+"/b", "b")
	broken := errors.New("cut off")
	_, err := w.Artifacts(t.Context(), func(a Artifact, _ io.Reader) error {
		if a.Path == "b" {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	files, _ := taken(t, w)
	equal(t, files, "b=b")
}

// A file of holes takes no space in the workspace, and all of its size in the store.
func TestR11SparseArtifactsCountAsWhatTheyBecome(t *testing.T) {
	t.Parallel()
	w := workspace(t, Limits{TurnBytes: 2500})
	for _, name := range []string{"1", "2", "3"} {
		write(t, w, ArtifactsDir+"/"+name, "")
		if err := os.Truncate(filepath.Join(w.Dir(), ArtifactsDir, name), 1000); err != nil {
			t.Fatal(err)
		}
	}
	write(t, w, ArtifactsDir+"/4", "small")
	files, notices := taken(t, w)
	if len(files) != 3 || files[2] != "4=small" {
		t.Errorf("took %d files", len(files))
	}
	equal(t, notices, `artifact "3" was left out: with it the artifacts of this turn have more than 2500 bytes`)
	w = workspace(t, Limits{SnapshotBytes: 2500})
	for _, name := range []string{"1", "2", "3"} {
		write(t, w, name, "")
		if err := os.Truncate(filepath.Join(w.Dir(), name), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Measure(t.Context()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a snapshot of holes: %v", err)
	}
}
