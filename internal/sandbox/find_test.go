package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What agents find is what they are shown.
func TestX6FindProgram(t *testing.T) {
	t.Parallel()
	shown, hidden := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(shown, "agent"), filepath.Join(hidden, "other")} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A link in a folder that is shown, to a program that is not.
	if err := os.Symlink(filepath.Join(hidden, "other"), filepath.Join(shown, "lineshaft-test-link")); err != nil {
		t.Fatal(err)
	}
	path := shown + ":" + hidden + ":/usr/bin:/bin"
	wrapped, none := NewBubblewrap(Options{ReadOnly: []string{shown}}), NewNone(Options{})
	for _, test := range []struct {
		program        string
		wrapped, naked bool
	}{{"agent", true, true}, {"sh", true, true}, {"other", false, true}, {"lineshaft-test-link", false, true}, {"lineshaft-test-nothing", false, false}} {
		at, err := wrapped.Find(test.program, path)
		if (err == nil) != test.wrapped || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("bubblewrap, %s: %q, %v", test.program, at, err)
		}
		if at, err := none.Find(test.program, path); (err == nil) != test.naked {
			t.Errorf("none, %s: %q, %v", test.program, at, err)
		}
	}
}
