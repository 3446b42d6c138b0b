package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/lineshaft/lineshaft"
)

// Dir keeps blobs as files in a folder, which several nodes may share.
type Dir struct{ root *os.Root }

// NewDir opens a folder, which it makes if it is not there.
func NewDir(name string) (*Dir, error) {
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, fmt.Errorf("open blob folder: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open blob folder: %w", err)
	}
	return &Dir{root: root}, nil
}

// Close gives the folder back.
func (d *Dir) Close() error { return d.root.Close() }

// place is where a blob lies: folders with millions of entries are slow.
func place(name string) string {
	if len(name) < 2 {
		return name
	}
	return path.Join(name[len(name)-2:], name)
}

// Put stores what r yields. The blob is there as a whole and durable, or not at all.
func (d *Dir) Put(_ context.Context, name string, r io.Reader) (err error) {
	at := place(name)
	if err := d.root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	temporary := path.Join(path.Dir(at), "."+rand.Text())
	f, err := d.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("put blob: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("put blob: %w", err), d.root.Remove(temporary))
		}
	}()
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.root.Rename(temporary, at); err != nil {
		return err
	}
	return d.sync(path.Dir(at))
}

func (d *Dir) sync(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Open reads a blob.
func (d *Dir) Open(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := d.root.Open(place(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lineshaft.NotFound("blob", name)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return f, nil
}

// Delete removes a blob; one that is not there is no error.
func (d *Dir) Delete(_ context.Context, name string) error {
	if err := d.root.Remove(place(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}
