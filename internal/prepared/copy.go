package prepared

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// ErrUnfit is wrapped when a tree has something that a copy cannot have.
var ErrUnfit = errors.New("it has something that cannot be kept")

// NotKeptError is ErrUnfit, ErrNoRoom or ErrHeld with what is behind it, in words for the log of a run:
// without names of files.
type NotKeptError struct {
	Kind error
	Why  string
}

// Error implements error.
func (r *NotKeptError) Error() string { return r.Kind.Error() + ": " + r.Why }

// Unwrap leads to one of them.
func (r *NotKeptError) Unwrap() error { return r.Kind }

func unfit(why string, args ...any) error { return &NotKeptError{ErrUnfit, fmt.Sprintf(why, args...)} }

// copied is what a copy found.
type copied struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"` // on the disk; those of a look are an estimate
	// Print is of names, modes, sizes and times, Content of the bytes; empty when the
	// file system has shared them without reading.
	Print   string `json:"print"`
	Content string `json:"content,omitempty"`
}

// copier makes one copy of a tree in a folder that nobody else uses.
type copier struct {
	to     string
	limits struct {
		bytes   int64
		entries int
	}
	copied
	looks   bool      // nothing is copied
	reads   bool      // with looks: contents are read all the same
	hash    hash.Hash // for Print
	owner   int       // of the files, besides this process's own
	sums    []uint32
	folders []folder
	links   []link
	linked  map[uint64]*names

	jobs   chan job
	group  sync.WaitGroup
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	shared bool  // some file was not read
	more   int64 // bytes that files have taken besides what was estimated; fewer if negative
}

type folder struct {
	path       string
	info       tree.Info
	attributes []tree.Attribute
}

// link is a second name of a file.
type link struct{ path, first string }

type names struct {
	first      string
	here, want uint64
}

// job is one file to copy.
type job struct {
	from *os.File
	to   string
	info tree.Info
	at   int // of its sum

	attributes []tree.Attribute
}

// maxEntries is how many files, folders and links a layer may have.
const maxEntries = 2_000_000

// copyTree copies what is in one folder into another that is empty: folders, files,
// symbolic links, and which names belong to one file. Sockets are left out, as nobody
// listens at them. A tree of more than limit bytes is ErrUnfit.
func copyTree(ctx context.Context, from, to string, limit int64) (copied, error) {
	return (&copier{to: to}).run(ctx, from, limit)
}

// look finds what copyTree would find, of contents only if they are read.
func look(ctx context.Context, dir string, reads bool, limit int64) (copied, error) {
	return (&copier{looks: true, reads: reads, shared: !reads}).run(ctx, dir, limit)
}

func (c *copier) run(ctx context.Context, from string, limit int64) (copied, error) {
	source, err := os.Open(from)
	if err != nil {
		return copied{}, err
	}
	defer func() { _ = source.Close() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.hash, c.owner, c.linked, c.jobs, c.cancel = sha256.New(), -1, map[uint64]*names{}, make(chan job), cancel
	c.limits.bytes, c.limits.entries = limit, maxEntries
	for range max(2, min(8, runtime.NumCPU())) {
		c.group.Go(c.work)
	}
	var left error
	walker := tree.Walker{
		Visit: func(e *tree.Entry) error { return c.visit(ctx, e) },
		Left: func(path string, why error) {
			if left == nil { // there may be a million of them
				left = fmt.Errorf("%q: %w", path, why)
				cancel(left)
			}
		},
	}
	err = walker.Walk(ctx, source)
	close(c.jobs)
	c.group.Wait()
	if cause := context.Cause(ctx); cause != nil { // what a file met is why the walk ended
		err = cause
	}
	if err != nil {
		return copied{}, err
	}
	return c.finish()
}

func (c *copier) visit(ctx context.Context, e *tree.Entry) error {
	name, info := e.Path(), e.Info
	if info.Mode&fs.ModeSocket != 0 {
		return nil
	}
	if c.Entries++; c.Entries > c.limits.entries {
		return unfit("more than %d files", c.limits.entries)
	}
	path := filepath.Join(c.to, filepath.FromSlash(name))
	again := info.Mode.IsRegular() && c.again(info, path)
	if !again {
		c.Bytes += space(info)
	}
	if c.Bytes > c.limits.bytes {
		return unfit("more than the %d MB that there are for environments, one half of --environment-cache", c.limits.bytes/1_000_000)
	}
	if uid := int(info.UID); uid != os.Geteuid() {
		if c.owner >= 0 && c.owner != uid {
			return unfit("files of several users")
		}
		c.owner = uid
	}
	size, target := info.Size, ""
	var err error
	switch {
	case info.Mode.IsDir():
		size = 0
		err = c.folder(e, path)
	case info.Mode.IsRegular():
		if !again && (!c.looks || c.reads) {
			err = c.file(ctx, e, path)
		}
	case info.Mode&fs.ModeSymlink != 0:
		if target, err = e.Readlink(); err == nil && !c.looks {
			err = errors.Join(os.Symlink(target, path), setTime(path, info))
		}
	default:
		err = fmt.Errorf("%w: %q", unfit("a pipe or a device"), name)
	}
	_, _ = fmt.Fprintf(c.hash, "%q %o %d %d %q\n", name, keptMode(info.Mode), size, info.Modified.UnixNano(), target) // a hash never fails
	return err
}

// again notes the names of a file that has several, and says that it had one before.
func (c *copier) again(info tree.Info, path string) bool {
	if info.Links <= 1 {
		return false
	}
	known := c.linked[info.Inode]
	if known == nil {
		c.linked[info.Inode] = &names{first: path, here: 1, want: info.Links}
		return false
	}
	known.here++
	c.links = append(c.links, link{path, known.first})
	return true
}

// space is what a copy of an entry takes on the disk, as far as that is known before: holes are filled.
func space(info tree.Info) int64 {
	const block = 4096
	if info.Mode.IsRegular() {
		return (info.Size + block - 1) / block * block
	}
	return info.Disk
}

// keptMode is what a copy has of a mode: no program becomes another user's.
func keptMode(mode fs.FileMode) fs.FileMode {
	kept := fs.ModePerm | fs.ModeDir | fs.ModeSymlink
	if mode.IsDir() {
		kept |= fs.ModeSetgid | fs.ModeSticky
	}
	return mode & kept
}

// maxAttributes is how many bytes of attributes a file may have: they fit into one block of the disk.
const maxAttributes = 2048

// attributes are those of a file or folder, which are a part of its contents.
func (c *copier) attributes(e *tree.Entry) ([]tree.Attribute, error) {
	if c.looks && !c.reads {
		return nil, nil
	}
	found, err := e.Attributes(maxAttributes)
	if errors.Is(err, tree.ErrManyAttributes) {
		err = fmt.Errorf("%w: %q: %w", unfit("a file with more than %d bytes of extended attributes", maxAttributes), e.Path(), err)
	}
	return found, err
}

// folder makes a folder; what it is like is set when it has its files.
func (c *copier) folder(e *tree.Entry, path string) error {
	attributes, err := c.attributes(e)
	if len(attributes) > 0 {
		c.mu.Lock()
		c.sums = append(c.sums, sumOf(0, attributes))
		c.mu.Unlock()
	}
	if err != nil || c.looks {
		return err
	}
	c.folders = append(c.folders, folder{path, e.Info, attributes})
	return os.Mkdir(path, 0o700)
}

// sumOf adds attributes to a sum, which stays the same when there are none.
func sumOf(sum uint32, attributes []tree.Attribute) uint32 {
	for _, a := range attributes {
		sum = crc32.Update(sum, castagnoli, fmt.Appendf(nil, "%q %q\n", a.Name, a.Value))
	}
	return sum
}

// file has a file copied.
func (c *copier) file(ctx context.Context, e *tree.Entry, path string) error {
	attributes, err := c.attributes(e)
	if err != nil {
		return err
	}
	from, info, err := e.Open()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.sums = append(c.sums, 0)
	at := len(c.sums) - 1
	c.mu.Unlock()
	select {
	case c.jobs <- job{from, path, info, at, attributes}:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), from.Close())
	}
}

func (c *copier) work() {
	buffer := make([]byte, 256<<10)
	for j := range c.jobs {
		var (
			sum    uint32
			more   int64
			shared bool
			err    error
		)
		if c.looks {
			sum, err = copyBytes(io.Discard, j.from, buffer)
		} else {
			sum, more, shared, err = copyFile(j, buffer)
		}
		if err = errors.Join(err, j.from.Close()); err != nil {
			c.cancel(err)
			continue
		}
		c.mu.Lock()
		c.sums[j.at], c.shared, c.more = sumOf(sum, j.attributes), c.shared || shared, c.more+more
		c.mu.Unlock()
	}
}

func copyFile(j job, buffer []byte) (sum uint32, more int64, shared bool, err error) {
	to, err := os.OpenFile(j.to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, 0, false, err
	}
	if shared = j.info.Size > 0 && share(to, j.from); !shared {
		sum, err = copyBytes(to, j.from, buffer)
	}
	if err == nil { // before a mode that may forbid it
		err = setAttributes(j.to, j.attributes)
	}
	copied, statErr := tree.Stat(to)
	if err = errors.Join(err, statErr, to.Chmod(keptMode(j.info.Mode)), to.Close()); err != nil {
		return 0, 0, false, err
	}
	return sum, copied.Disk - space(j.info), shared, setTime(j.to, j.info)
}

// setAttributes is for a file system that may have none.
func setAttributes(path string, attributes []tree.Attribute) error {
	err := tree.SetAttributes(path, attributes)
	if errors.Is(err, unix.ENOTSUP) {
		err = fmt.Errorf("%w: %w", unfit("extended attributes, which the worker's disk does not have"), err)
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func copyBytes(to io.Writer, from *os.File, buffer []byte) (sum uint32, err error) {
	crc := crc32.New(castagnoli)
	// Hidden, so that the bytes pass by here.
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(to, crc)}, struct{ io.Reader }{from}, buffer)
	return crc.Sum32(), err
}

func setTime(path string, info tree.Info) error {
	at := unix.NsecToTimespec(info.Modified.UnixNano())
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set time: %w", err)
	}
	return nil
}

// finish makes what needs all files to exist: second names, and the modes and times
// of folders, the deepest first.
func (c *copier) finish() (copied, error) {
	for _, known := range c.linked {
		if known.here != known.want {
			return copied{}, unfit("a file that has a name outside of the workspace")
		}
	}
	for _, l := range c.links {
		if c.looks {
			break
		}
		if err := os.Link(l.first, l.path); err != nil {
			return copied{}, err
		}
	}
	for _, f := range slices.Backward(c.folders) {
		err := errors.Join(setAttributes(f.path, f.attributes), os.Chmod(f.path, keptMode(f.info.Mode)), setTime(f.path, f.info))
		if err != nil {
			return copied{}, err
		}
	}
	c.Print = hex.EncodeToString(c.hash.Sum(nil))
	c.Bytes += c.more
	if !c.shared {
		content := sha256.New()
		for _, sum := range c.sums {
			_, _ = fmt.Fprintln(content, sum) // a hash never fails
		}
		c.Content = hex.EncodeToString(content.Sum(nil))
	}
	return c.copied, nil
}
