//go:build linux

package prepared

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// noted has attributes on a file that nobody may write to, on one with two names and on a folder.
func noted(t *testing.T) string {
	t.Helper()
	source := fill(t, t.TempDir())
	for name, value := range map[string]string{"a/b/c": "from afar", "big": "two\x00names", "void": "folder", "a/tool": ""} {
		if err := unix.Lsetxattr(filepath.Join(source, name), "user.test."+name[:1], []byte(value), 0); err != nil {
			t.Skipf("the file system has no attributes: %v", err)
		}
	}
	if err := os.Chmod(filepath.Join(source, "a/b/c"), 0o444); err != nil {
		t.Fatal(err)
	}
	return source
}

func attribute(name, key string) string {
	value := make([]byte, 100)
	n, err := unix.Lgetxattr(name, key, value)
	if err != nil {
		return err.Error()
	}
	return string(value[:n])
}

// what programs have noted of files is in copies, and is looked at like contents.
func TestX14AttributesAreCopied(t *testing.T) {
	t.Parallel()
	source, dir := noted(t), folderFor(t)
	s := open(t, dir)
	k := key(t, s, recipe("1"))
	if err := s.Keep(t.Context(), k, source, Facts{Made: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	to := folderFor(t)
	l := s.Take(k)
	if err := l.CopyTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if got, want := describe(t, to), describe(t, source); got != want {
		t.Errorf("the copy is\n%s\nwant\n%s", got, want)
	}
	for name, want := range map[string]string{
		"a/b/c user.test.a": "from afar", "big user.test.b": "two\x00names", "a/same user.test.b": "two\x00names",
		"void user.test.v": "folder", "a/tool user.test.a": "", "empty-file user.test.a": unix.ENODATA.Error(),
	} {
		name, key, _ := strings.Cut(name, " ")
		if got := attribute(filepath.Join(to, name), key); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	s.Close(t.Context())
	for _, name := range []string{"void", "a/b/c"} { // a process after this one reads contents once
		s = open(t, dir)
		l = s.Take(k)
		if err := l.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Close(t.Context())
		changed := filepath.Join(l.Tree(), name)
		if err := unix.Lsetxattr(changed, "user.test."+name[:1], []byte("other"), 0); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		if err := s.Take(k).Check(t.Context()); l.Content != "" && !errors.Is(err, ErrDamaged) {
			t.Errorf("with another attribute of %s: %v", name, err)
		}
		if err := s.Keep(t.Context(), k, source, Facts{Made: time.Now()}, nil); err != nil {
			t.Fatal(err)
		}
		s.Wait()
		s.Close(t.Context())
	}
}

// attributes that would take space which nobody counts are not kept, and that is said.
func TestX14TooManyAttributes(t *testing.T) {
	t.Parallel()
	source := noted(t)
	for _, key := range []string{"user.one", "user.two"} {
		if err := unix.Lsetxattr(filepath.Join(source, "empty-file"), key, []byte(strings.Repeat("x", 1100)), 0); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, folderFor(t))
	err := s.Keep(t.Context(), key(t, s, recipe("1")), source, Facts{Made: time.Now()}, nil)
	if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), `"empty-file": it has too many attributes`) {
		t.Errorf("error %v", err)
	}
}
