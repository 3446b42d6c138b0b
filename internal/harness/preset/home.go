package preset

import (
	"errors"
	"io"
	"os"
	"path"
	"syscall"
)

// maxSettings is the longest file of an agent that is read.
const maxSettings = 1 << 20

// The home of an agent is its workspace, where it may have put links of its own:
// os.Root follows none that leads out.

// readHome reads a small file in the agent's home.
func (b *builder) readHome(name string) ([]byte, error) {
	root, err := os.OpenRoot(b.env.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	// A pipe that the agent put in its place must not block.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, errors.New("not a small file")
	}
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// writeHome puts a file into the agent's home, over what is there.
func (b *builder) writeHome(name string, content []byte) error {
	root, err := os.OpenRoot(b.env.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
