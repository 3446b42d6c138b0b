package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft/internal/harness"
)

// maxFile is the largest file that the tools read or change.
const maxFile = 4 << 20

// files are those of the workspace. All access is through an os.Root: changes by the
// agent's processes meanwhile, above all links, do not lead outside.
type files struct {
	root *os.Root
	// guest is the workspace as the agent's processes see it.
	guest string
}

// guest finds the path of the workspace inside the sandbox.
func guest(env harness.Environment) string {
	found := env.Dir
	for _, name := range []string{"HOME=", "LINESHAFT_WORKSPACE="} {
		for _, kv := range env.Env {
			if value, ok := strings.CutPrefix(kv, name); ok {
				found = value
			}
		}
	}
	return path.Clean(found)
}

// place makes the path that a model gives into one below the root.
func (f *files) place(given string) (string, error) {
	name := given
	if path.IsAbs(name) {
		rel, err := filepath.Rel(f.guest, path.Clean(name))
		if err != nil {
			return "", f.outside(given)
		}
		name = rel
	}
	name = cmp.Or(name, ".")
	if name = path.Clean(name); !filepath.IsLocal(name) {
		return "", f.outside(given)
	}
	return name, nil
}

func (f *files) outside(given string) error {
	return fmt.Errorf("%q is outside of the workspace; the file tools work below %s only", cut(given, 200), f.guest)
}

// open opens a regular file. A pipe in its place must not block.
func (f *files) open(name string, flag int) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, nil, f.explain(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// explain says what is wrong in words that a model understands.
func (f *files) explain(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", name)
	case strings.Contains(err.Error(), "escapes"): // the package has no error value for it
		return f.outside(name)
	}
	return err
}

// read gives a whole file.
func (f *files) read(name string) ([]byte, error) {
	file, info, err := f.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that this tool takes; use the shell", name, info.Size(), maxFile)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// write puts a text into a file, and makes the file and its folders if they are missing.
// They belong to the workspace's user.
func (f *files) write(name string, text []byte) (made bool, err error) {
	if name == "." {
		return false, errors.New("the path names the workspace itself, not a file")
	}
	if err := f.folders(path.Dir(name)); err != nil {
		return false, err
	}
	file, _, err := f.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		file, _, err = f.open(name, os.O_WRONLY)
	}
	if err != nil {
		return false, err
	}
	if made {
		err = f.give(file.Chown)
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.Write(text)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	return made, nil
}

// folders makes the folders of a path.
func (f *files) folders(name string) error {
	if name == "." {
		return nil
	}
	if info, err := f.root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := f.folders(path.Dir(name)); err != nil {
		return err
	}
	err := f.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if info, err := f.root.Stat(name); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a folder of the workspace", name)
		}
		return nil
	}
	if err != nil {
		return f.explain(name, err)
	}
	return f.give(func(uid, gid int) error { return f.root.Lchown(name, uid, gid) })
}

// give makes the workspace's user the owner of a new file. Only root can, and
// only root must: otherwise there is one user.
func (f *files) give(chown func(uid, gid int) error) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := f.root.Stat(".")
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return chown(int(owner.Uid), int(owner.Gid))
}
