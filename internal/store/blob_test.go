package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// chunk is the size of a blob's rows.
const chunk = store.ChunkBytes

func pattern(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8)
	}
	return data
}

func TestX4BlobRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2*chunk + 5} {
			data := pattern(size)
			blob, n, err := s.PutBlob(t.Context(), iotest.HalfReader(bytes.NewReader(data)), int64(size))
			must(t, err)
			if n != int64(size) {
				t.Errorf("stored %d of %d bytes", n, size)
			}
			r, err := s.OpenBlob(t.Context(), blob)
			must(t, err)
			got, err := io.ReadAll(r)
			must(t, err)
			if !bytes.Equal(got, data) {
				t.Errorf("read %d bytes, not those %d that were stored", len(got), size)
			}
			must(t, r.Close())
			if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("a closed blob gave %d, %v", n, err)
			}
			if run, stored, err := s.BlobRun(t.Context(), blob); run != "" || stored != int64(size) || err != nil {
				t.Errorf("blob of %q, %d bytes, %v", run, stored, err)
			}
		}
	})
}

func TestBlobErrors(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		_, _, err := s.PutBlob(t.Context(), bytes.NewReader(pattern(chunk+2)), chunk+1)
		wantCode(t, err, lineshaft.CodePayloadTooLarge)
		broken := errors.New("cut off")
		if _, _, err := s.PutBlob(t.Context(), io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)), chunk); !errors.Is(err, broken) {
			t.Errorf("a broken source gave %v", err)
		}
		_, err = s.OpenBlob(t.Context(), "missing")
		wantCode(t, err, lineshaft.CodeNotFound)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.KeepBlob(ctx, "missing", "run", time.Time{}) })
		wantCode(t, err, lineshaft.CodeNotFound)
		must(t, s.DeleteBlob(t.Context(), "missing"))
	})
}

// A blob that is removed while it is read does not look whole.
func TestBlobRemovedWhileRead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		blob, _, err := s.PutBlob(t.Context(), bytes.NewReader(pattern(2*chunk)), 2*chunk)
		must(t, err)
		r, err := s.OpenBlob(t.Context(), blob)
		must(t, err)
		_, err = io.ReadFull(r, make([]byte, chunk))
		must(t, err)
		must(t, s.DeleteBlob(t.Context(), blob))
		if n, err := io.Copy(io.Discard, r); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %d more bytes, then %v", n, err)
		}
		_, err = s.OpenBlob(t.Context(), blob)
		wantCode(t, err, lineshaft.CodeNotFound)
		if rows := texts(t, s.DB(), "SELECT number FROM blob_chunks"); len(rows) != 0 {
			t.Errorf("%d chunks are left", len(rows))
		}
	})
}

// Blobs that nothing keeps are found: loose ones after a while, kept ones at
// their time, the others never.
func TestDeadBlobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		put := func(run string, until time.Time) string {
			blob, _, err := s.PutBlob(t.Context(), strings.NewReader("x"), 10)
			must(t, err)
			if run != "" {
				write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.KeepBlob(ctx, blob, run, until) })
			}
			return blob
		}
		now := time.Now()
		loose, over := put("", time.Time{}), put("r", now.Add(-time.Second))
		put("r", time.Time{})
		put("r", now.Add(time.Hour))
		got, err := s.ListDeadBlobs(t.Context(), now.Add(time.Hour), now, 10)
		must(t, err)
		slices.Sort(got)
		if want := []string{loose, over}; !slices.Equal(got, want) {
			t.Errorf("dead %v, want %v", got, want)
		}
		if got, err = s.ListDeadBlobs(t.Context(), now.Add(-time.Hour), now, 10); err != nil || !slices.Equal(got, []string{over}) {
			t.Errorf("dead %v, %v, want %v", got, err, over)
		}
		if got, err = s.ListDeadBlobs(t.Context(), now.Add(time.Hour), now, 1); err != nil || len(got) != 1 {
			t.Errorf("dead %v, %v, want one", got, err)
		}
	})
}

// The body of a delivery is read like a blob, by every run that it starts.
func TestW13PayloadIsABlob(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDelivery(s, "w")
		d.Body = pattern(chunk + 1)
		insertDeliveries(t, s, d)
		read := func() ([]byte, error) {
			r, err := s.OpenBlob(t.Context(), store.PayloadBlob(d.ID))
			if err != nil {
				return nil, err
			}
			got, err := io.ReadAll(iotest.HalfReader(r))
			return got, errors.Join(err, r.Close())
		}
		runs := []string{runOf(t, s, d.ID), runOf(t, s, d.ID)}
		for _, run := range runs {
			list, err := s.ListRunAttachments(t.Context(), run)
			must(t, err)
			if len(list) != 1 || list[0].FileName != lineshaft.PayloadFile || list[0].BlobID != store.PayloadBlob(d.ID) {
				t.Errorf("attachments %+v", list)
			}
		}
		if rows := texts(t, s.DB(), "SELECT id FROM blobs"); len(rows) != 0 {
			t.Errorf("%d copies of the body", len(rows))
		}
		for _, run := range runs {
			if got, err := read(); err != nil || !bytes.Equal(got, d.Body) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			must(t, removeRun(t.Context(), s, run))
		}
		if got, err := read(); err != nil || !bytes.Equal(got, d.Body) { // the delivery is in the log
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		deleteDeliveries(t, s, "w", d.ReceivedAt.Add(time.Second), 0, 10)
		_, err := read()
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
