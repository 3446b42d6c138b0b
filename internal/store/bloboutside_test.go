package store_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/blob"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// blobs outside of the database have the same life as those in it, and a server
// that is started with or without the setting reads both.
func TestX4BlobsOutside(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		open := func(blobs store.Blobs) *store.Store {
			s, err := store.Open(t.Context(), store.Options{Database: database, Blobs: blobs})
			must(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		put := func(s *store.Store, data []byte) string {
			id, n, err := s.PutBlob(t.Context(), bytes.NewReader(data), int64(len(data)))
			must(t, err)
			if n != int64(len(data)) {
				t.Errorf("stored %d of %d bytes", n, len(data))
			}
			return id
		}
		read := func(s *store.Store, id string) ([]byte, error) {
			r, err := s.OpenBlob(t.Context(), id)
			if err != nil {
				return nil, err
			}
			defer func() { _ = r.Close() }()
			return io.ReadAll(r)
		}
		dir, err := blob.NewDir(t.TempDir())
		must(t, err)
		t.Cleanup(func() { _ = dir.Close() })

		plain := open(nil)
		inside := put(plain, pattern(100))
		must(t, plain.Close())

		with := open(dir)
		outside := put(with, pattern(3*chunk+1))
		for id, want := range map[string][]byte{inside: pattern(100), outside: pattern(3*chunk + 1)} {
			if got, err := read(with, id); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", id, len(got), err)
			}
		}
		if _, size, err := with.BlobRun(t.Context(), outside); err != nil || size != 3*chunk+1 {
			t.Errorf("size %d, %v", size, err)
		}
		if _, _, err := with.PutBlob(t.Context(), bytes.NewReader(pattern(11)), 10); lineshaft.CodeOf(err) != lineshaft.CodePayloadTooLarge {
			t.Errorf("beyond the limit: %v", err)
		}
		if _, _, err := with.PutBlob(t.Context(), iotest.ErrReader(errors.New("cut")), 10); err == nil {
			t.Error("a reader that failed was stored")
		}
		must(t, with.DeleteBlob(t.Context(), outside))
		if _, err := read(with, outside); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			t.Errorf("after deleting: %v", err)
		}
		kept := put(with, pattern(7))
		must(t, with.Close())

		without := open(nil)
		if _, err := read(without, kept); lineshaft.CodeOf(err) != lineshaft.CodeUnavailable || !strings.Contains(err.Error(), "--blob-dir") {
			t.Errorf("without the setting: %v", err)
		}
		if err := without.DeleteBlob(t.Context(), kept); err == nil {
			t.Error("deleted a row whose file could not be deleted")
		}
	})
}
