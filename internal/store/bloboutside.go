package store

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Blobs keeps the bytes of blobs outside of the database, under names that are given
// once. Put stores all or nothing; deleting a missing blob is not an error.
type Blobs interface {
	Put(ctx context.Context, name string, r io.Reader) error
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	Delete(ctx context.Context, name string) error
}

// outsidePrefix marks blobs whose bytes are outside. Both kinds can be read side by
// side, so the setting may change.
const outsidePrefix = "outside/"

func tooLarge(limit int64) error {
	return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: fmt.Sprintf("more than %d bytes", limit)}
}

func errNoOutside() error {
	return lineshaft.Unavailable(nil, "this server was started without the blob store that keeps the file; start it with --blob-dir or --blob-url as before")
}

// putOutside stores a blob whose row is written already.
func (s *Store) putOutside(ctx context.Context, blobID string, r io.Reader, limit int64) (int64, error) {
	counted := &countedReader{r: r, limit: limit}
	if err := s.blobs.Put(ctx, strings.TrimPrefix(blobID, outsidePrefix), counted); err != nil {
		if counted.n > limit {
			return 0, tooLarge(limit)
		}
		return 0, err
	}
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, "UPDATE blobs SET size = $2 WHERE id = $1", blobID, counted.n)
		return err
	})
	return counted.n, err
}

func (s *Store) openOutside(ctx context.Context, name string) (io.ReadCloser, error) {
	if s.blobs == nil {
		return nil, errNoOutside()
	}
	return s.blobs.Open(ctx, name)
}

func (s *Store) deleteOutside(ctx context.Context, name string) error {
	if s.blobs == nil {
		return errNoOutside()
	}
	return s.blobs.Delete(ctx, name)
}

// countedReader counts, and fails beyond the limit.
type countedReader struct {
	r        io.Reader
	n, limit int64
}

// Read reads on.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > c.limit {
		return 0, tooLarge(c.limit)
	}
	return n, err
}
