package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/blob"
)

func TestX4DirRoundTrip(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "made", "here")
	d, err := blob.NewDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	roundTrip(t, d)
	// A reader that fails leaves nothing.
	if err := d.Put(t.Context(), "cut-0001", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("cut")))); err == nil {
		t.Error("stored half")
	}
	var left []string
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info, err)
	}
	// Names cannot leave the folder.
	if err := d.Put(t.Context(), "../../../escape-x", strings.NewReader("x")); err == nil {
		t.Error("wrote outside")
	}
	if _, err := blob.NewDir(string([]byte{0})); err == nil {
		t.Error("opened an impossible folder")
	}
}

// keeper is what both kinds do.
type keeper interface {
	Put(ctx context.Context, name string, r io.Reader) error
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	Delete(ctx context.Context, name string) error
}

// roundTrip stores, reads and deletes blobs of several sizes.
func roundTrip(t *testing.T, k keeper) {
	t.Helper()
	for _, data := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("0123456789abcdef"), 1<<16)} {
		const name = "01980f11-3344-7556-8778-99aabbccddee"
		if err := k.Put(t.Context(), name, iotest.HalfReader(bytes.NewReader(data))); err != nil {
			t.Fatal(err)
		}
		r, err := k.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: read %d, %v", len(data), len(got), err)
		}
		if err := errors.Join(k.Delete(t.Context(), name), k.Delete(t.Context(), name)); err != nil {
			t.Errorf("deleting twice: %v", err)
		}
		if _, err := k.Open(t.Context(), name); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			t.Errorf("after deleting: %v", err)
		}
	}
}
