package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// chunkBytes is the size of a blob's rows: small enough that writing one does not
// hold up other writers.
const chunkBytes = 256 << 10

// payloadPrefix marks blobs that are the body of a delivery: stored once for all
// runs that it starts.
const payloadPrefix = "delivery/"

// PayloadBlob is the body of a delivery as a blob.
func PayloadBlob(deliveryID string) string { return payloadPrefix + deliveryID }

// PutBlob stores what r yields: in rows, chunk by chunk, each chunk a separate write,
// or outside. The blob is loose until KeepBlob gives it a run; loose ones are removed
// after a day.
//
// An incomplete blob is removed at once.
func (s *Store) PutBlob(ctx context.Context, r io.Reader, limit int64) (blobID string, size int64, err error) {
	blobID, at := s.ids.Next()
	if s.blobs != nil {
		blobID = outsidePrefix + blobID
	}
	if err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, "INSERT INTO blobs (id, size, run_id, created_at, expires_at) VALUES ($1, 0, '', $2, 0)", blobID, micros(at))
		return err
	}); err != nil {
		return "", 0, fmt.Errorf("insert blob: %w", err)
	}
	if s.blobs != nil {
		size, err = s.putOutside(ctx, blobID, r, limit)
	} else {
		size, err = s.putChunks(ctx, blobID, r, limit)
	}
	if err != nil {
		s.dropBlob(ctx, blobID)
		return "", 0, err
	}
	return blobID, size, nil
}

// dropTime bounds the removal of something that is of no use.
const dropTime = 30 * time.Second

// dropBlob removes a blob that nobody learned of. If that fails, it is removed later,
// like all loose ones.
func (s *Store) dropBlob(ctx context.Context, blobID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	_ = s.DeleteBlob(ctx, blobID)
}

// DropLooseBlob removes a blob unless a run keeps it, for when it was not used.
func (s *Store) DropLooseBlob(ctx context.Context, blobID string) {
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if runID, _, err := s.BlobRun(reading, blobID); err == nil && runID == "" {
		s.dropBlob(ctx, blobID)
	}
}

func (s *Store) putChunks(ctx context.Context, blobID string, r io.Reader, limit int64) (size int64, err error) {
	buf := make([]byte, chunkBytes)
	for number := 0; ; number++ {
		n, readErr := io.ReadFull(r, buf)
		size += int64(n)
		if size > limit {
			return 0, tooLarge(limit)
		}
		if n > 0 {
			if err := s.putChunk(ctx, blobID, number, buf[:n], size); err != nil {
				return 0, err
			}
		}
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			return size, nil
		}
		if readErr != nil {
			return 0, fmt.Errorf("read blob: %w", readErr)
		}
	}
}

func (s *Store) putChunk(ctx context.Context, blobID string, number int, data []byte, size int64) error {
	// Work may still run after a caller gave up and reused its buffer.
	data = append([]byte(nil), data...)
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.exec(ctx, "INSERT INTO blob_chunks (blob_id, number, data) VALUES ($1, $2, $3)", blobID, number, data); err != nil {
			return fmt.Errorf("insert chunk: %w", err)
		}
		_, err := tx.exec(ctx, "UPDATE blobs SET size = $2 WHERE id = $1", blobID, size)
		return err
	})
}

// KeepBlob ties a blob to a run; a zero time keeps it as long as the run.
func (tx *Tx) KeepBlob(ctx context.Context, blobID, runID string, until time.Time) error {
	return tx.change(ctx, "keep blob", "blob", blobID,
		"UPDATE blobs SET run_id = $2, expires_at = $3 WHERE id = $1", blobID, runID, micros(until))
}

// BlobRun says which run a blob belongs to.
func (r reader) BlobRun(ctx context.Context, blobID string) (runID string, size int64, err error) {
	err = r.must(ctx, "blob", blobID, "SELECT run_id, size FROM blobs WHERE id = $1", []any{blobID}, &runID, &size)
	return runID, size, err
}

// OpenBlob reads a blob chunk by chunk.
func (s *Store) OpenBlob(ctx context.Context, blobID string) (io.ReadCloser, error) {
	if deliveryID, ok := strings.CutPrefix(blobID, payloadPrefix); ok {
		body, err := s.GetPayload(ctx, deliveryID)
		return io.NopCloser(bytes.NewReader(body)), err
	}
	_, size, err := s.BlobRun(ctx, blobID)
	if err != nil {
		return nil, err
	}
	if name, ok := strings.CutPrefix(blobID, outsidePrefix); ok {
		return s.openOutside(ctx, name)
	}
	return &blobReader{ctx: ctx, s: s, id: blobID, left: size}, nil
}

// blobReader keeps the context of OpenBlob, because io.Reader has no place for it.
type blobReader struct {
	ctx    context.Context
	s      *Store
	id     string
	number int
	rest   []byte
	left   int64 // bytes in chunks that were not read yet
	done   bool
}

// Read fills p from the current chunk, fetching the next when it is used up.
func (b *blobReader) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.done || b.left <= 0 {
			return 0, io.EOF
		}
		found, err := b.s.look(b.ctx, "read chunk", "SELECT data FROM blob_chunks WHERE blob_id = $1 AND number = $2", []any{b.id, b.number}, &b.rest)
		if err != nil {
			return 0, err
		}
		if !found { // it is being deleted
			return 0, io.ErrUnexpectedEOF
		}
		b.number++
		b.left -= int64(len(b.rest))
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close ends reading.
func (b *blobReader) Close() error {
	b.done, b.rest = true, nil
	return nil
}

// ListDeadBlobs finds blobs that nothing keeps: loose ones made before loose, and
// those whose time is over.
func (r reader) ListDeadBlobs(ctx context.Context, loose, now time.Time, limit int) ([]string, error) {
	return r.texts(ctx, `SELECT id FROM blobs WHERE run_id = '' AND created_at < $1 UNION ALL
		SELECT id FROM blobs WHERE expires_at > 0 AND expires_at < $2 LIMIT $3`, micros(loose), micros(now), limit)
}

// DeleteBlob removes a blob, a few chunks in each write.
func (s *Store) DeleteBlob(ctx context.Context, blobID string) error {
	if name, ok := strings.CutPrefix(blobID, outsidePrefix); ok {
		// The row goes last: what could not be deleted is tried again.
		if err := s.deleteOutside(ctx, name); err != nil {
			return err
		}
	}
	for {
		var n int64
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			n, err = tx.exec(ctx, `DELETE FROM blob_chunks WHERE blob_id = $1 AND number IN
				(SELECT number FROM blob_chunks WHERE blob_id = $1 ORDER BY number LIMIT 16)`, blobID)
			if err == nil && n == 0 {
				_, err = tx.exec(ctx, "DELETE FROM blobs WHERE id = $1", blobID)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("delete blob: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}
