package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store"
)

// After an orderly end everything is in the one file: anyone who copies it has all.
func TestD5FileIsWholeAfterClose(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "whole.db")
	s, err := store.Open(t.Context(), store.Options{Database: file})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.EnsureSetting(ctx, "colour", "copper")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetSetting(t.Context(), "colour"); err != nil { // readers have connections too
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} { // SQLite removes them with the last connection
		if _, err := os.Stat(file + beside); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still beside the file: %v", beside, err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(alone, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), store.Options{Database: alone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if got, err := again.GetSetting(t.Context(), "colour"); err != nil || got != "copper" {
		t.Errorf("in a copy of the file: %q, %v", got, err)
	}
}
