package workspace

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// ErrTooLarge is wrapped by Measure and Restore when a snapshot is over the limits.
var ErrTooLarge = errors.New("workspace is too large for a snapshot")

// Measured is what a snapshot would hold.
type Measured struct {
	Entries int
	Bytes   int64
	// Skipped are the special files, and the files that also have a name outside
	// the workspace.
	Skipped int
	// Notices say which folders were left out and why.
	Notices []string
	// Print is the same for the same files: names, sizes, modes and times.
	Print string

	// foreign are the inodes with a name outside.
	foreign map[uint64]bool
	// difference is to the layer below; nil when all is in the snapshot.
	difference *difference
	removed    []string
	// cut says that there were too many files to look at.
	cut bool
}

// ownEntries is how many entries our own folder may have besides those of a snapshot.
const ownEntries = 1000

// left counts what was not read, and reports the first.
func (m *Measured) left(name string, why error) {
	const most = 5
	m.cut = m.cut || errors.Is(why, tree.ErrMany)
	if m.Skipped++; len(m.Notices) < most {
		m.Notices = append(m.Notices, fmt.Sprintf("Folder %q is not in the snapshot of the workspace: %s.", lineshaft.Clip(name, 100), reason(why)))
	}
}

// Measure finds out what a snapshot would hold before any of it is read. The error
// wraps ErrTooLarge when there is more than a snapshot may have.
func (w *Workspace) Measure(ctx context.Context) (Measured, error) {
	difference, err := w.newDifference(ctx)
	if err != nil {
		return Measured{}, fmt.Errorf("measure workspace: %w", err)
	}
	m := Measured{foreign: map[uint64]bool{}, difference: difference}
	type names struct{ here, all uint64 }
	linked := map[uint64]names{}
	sum := sha256.New()
	visit := func(e *tree.Entry) error {
		name := e.Path()
		if skip, err := ours(name, e.Info.Mode); skip {
			return err
		}
		if difference.gone(&m, name, e.Info.Mode) || difference.same(name, e.Info) {
			return nil
		}
		if m.Entries++; m.Entries > w.limits.Entries {
			return fmt.Errorf("%w: more than %d files", ErrTooLarge, w.limits.Entries)
		}
		_, _ = fmt.Fprintf(sum, "%q %v %+v\n", name, e.Info.Mode, stampOf(e.Info)) // a hash never fails
		switch mode := e.Info.Mode; {
		case mode.IsRegular():
			m.Bytes += e.Info.Size // holes are bytes in the archive
			if n := e.Info.Links; n > 1 {
				linked[e.Info.Inode] = names{linked[e.Info.Inode].here + 1, n}
			}
		case !mode.IsDir() && mode&fs.ModeSymlink == 0:
			m.Skipped++
		}
		if m.Bytes > w.limits.SnapshotBytes {
			return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, w.limits.SnapshotBytes)
		}
		return nil
	}
	err = w.walkSnapshot(ctx, difference, tree.Walker{Visit: visit, Left: m.left})
	if err == nil && m.cut {
		err = fmt.Errorf("%w: more than %d files", ErrTooLarge, w.limits.Entries)
	}
	if err != nil {
		return Measured{}, fmt.Errorf("measure workspace: %w", err)
	}
	for inode, n := range linked {
		if n.here < n.all {
			m.foreign[inode] = true
			m.Skipped++
		}
	}
	if difference != nil {
		m.removed = append(m.removed, difference.removed()...)
		_, _ = fmt.Fprintf(sum, "%q %q\n", difference.layer.ID, m.removed) // a hash never fails
	}
	m.Print = hex.EncodeToString(sum.Sum(nil))
	return m, nil
}

// ours says what a snapshot leaves out of a workspace: our own folder, but for the
// files in which a harness keeps its conversation.
func ours(name string, mode fs.FileMode) (skip bool, err error) {
	switch {
	case name == PrivateDir && mode.IsDir():
		return true, nil
	case name == PrivateDir, strings.HasPrefix(name, PrivateDir+"/") && (!isSession(name) || !mode.IsRegular()):
		return true, fs.SkipDir
	}
	return false, nil
}

// isSession says whether a name is that of a file in which a harness keeps its conversation.
func isSession(name string) bool {
	base, ok := strings.CutPrefix(name, PrivateDir+"/")
	return ok && strings.Contains(base, SessionWord) && !strings.Contains(base, "/")
}

// Snapshot writes the workspace as a compressed tar archive: folders, regular
// files, and symbolic links as links. What m calls skipped is left out.
func (w *Workspace) Snapshot(ctx context.Context, m Measured, to io.Writer) error {
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	archive := tar.NewWriter(zip)
	if m.difference != nil {
		if err := m.difference.pack(archive, m.removed); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	err = w.walkSnapshot(ctx, m.difference, tree.Walker{Visit: func(e *tree.Entry) error {
		name := e.Path()
		if skip, err := ours(name, e.Info.Mode); skip {
			return err
		}
		if m.difference.same(name, e.Info) {
			return nil
		}
		if err := packEntry(archive, m, name, e); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		return nil
	}})
	if err == nil {
		err = errors.Join(archive.Close(), zip.Close())
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

func packEntry(archive *tar.Writer, m Measured, name string, e *tree.Entry) error {
	header := &tar.Header{
		Name: name, Mode: int64(e.Info.Mode.Perm()), ModTime: e.Info.Modified, Format: tar.FormatPAX,
	}
	switch mode := e.Info.Mode; {
	case mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
		return archive.WriteHeader(header)
	case mode&fs.ModeSymlink != 0:
		target, err := e.Readlink()
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
		return archive.WriteHeader(header)
	case mode.IsRegular() && !m.foreign[e.Info.Inode]:
		return packFile(archive, header, e)
	}
	return nil
}

func packFile(archive *tar.Writer, header *tar.Header, e *tree.Entry) error {
	f, info, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	header.Typeflag, header.Size = tar.TypeReg, info.Size
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, info.Size)
	return err
}

// Restore unpacks a snapshot into the empty workspace. On an error the workspace
// is emptied again. The archive may come from anywhere: nothing in it can land
// outside, be larger than a snapshot may be, or be anything but a folder, a file
// or a symbolic link.
func (w *Workspace) Restore(ctx context.Context, from io.Reader) error {
	return w.restore(ctx, from, false)
}

func (w *Workspace) restore(ctx context.Context, from io.Reader, base bool) error {
	err := w.unpack(ctx, from, base)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("restore snapshot: %w", err), w.clear(context.WithoutCancel(ctx)))
}

// Clear removes everything from the workspace, in which nothing may run.
func (w *Workspace) Clear(ctx context.Context) error {
	if err := w.clear(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("clear workspace: %w", err)
	}
	return nil
}

func (w *Workspace) clear(ctx context.Context) error {
	if err := w.leaveLayer(ctx); err != nil {
		return err
	}
	names, err := readNames(w.root, ".")
	for _, name := range names {
		err = errors.Join(err, w.remove(ctx, name))
	}
	return err
}

func (w *Workspace) unpack(ctx context.Context, from io.Reader, base bool) error {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	left := w.limits.SnapshotBytes
	var folders []*tar.Header
	for entries := 0; ; entries++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if entries == 0 && header.Name == baseFile {
			if err := w.takeBase(ctx, archive, base); err != nil {
				return err
			}
			continue
		}
		if left -= header.Size; entries >= w.limits.Entries || left < 0 {
			return ErrTooLarge
		}
		if err := w.unpackEntry(ctx, archive, header, base); err != nil {
			return fmt.Errorf("%q: %w", header.Name, err)
		}
		if header.Typeflag == tar.TypeDir {
			folders = append(folders, header)
		}
	}
	// Read past the archive's end, so that a truncated stream is found out.
	if _, err := io.Copy(io.Discard, io.LimitReader(zip, 1<<20)); err != nil {
		return err
	}
	return w.finishFolders(folders)
}

// finishFolders sets what filling them would have changed or prevented.
func (w *Workspace) finishFolders(folders []*tar.Header) error {
	for _, header := range folders {
		if info, err := w.root.Lstat(header.Name); err != nil || !info.IsDir() {
			continue
		}
		if err := w.root.Chmod(header.Name, fs.FileMode(header.Mode)&fs.ModePerm|0o700); err != nil {
			return err
		}
		if err := w.root.Chtimes(header.Name, header.ModTime, header.ModTime); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) unpackEntry(ctx context.Context, archive *tar.Reader, header *tar.Header, base bool) error {
	name, err := safeName(header.Name)
	if err != nil {
		return err
	}
	header.Name = name
	if isSession(name) {
		if header.Typeflag != tar.TypeReg {
			return errors.New("a conversation must be a file")
		}
		if err := w.ownDir(PrivateDir); err != nil {
			return err
		}
	}
	if base {
		if there, err := w.makeWay(ctx, header); there || err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return w.root.Mkdir(name, 0o700)
	case tar.TypeSymlink:
		return w.root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		return w.unpackFile(archive, header)
	}
	return fmt.Errorf("entries of type %q are not taken", header.Typeflag)
}

func (w *Workspace) unpackFile(archive *tar.Reader, header *tar.Header) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW
	f, err := w.root.OpenFile(header.Name, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, archive)
	if err = errors.Join(err, f.Chmod(fs.FileMode(header.Mode)&fs.ModePerm), f.Close()); err != nil {
		return err
	}
	return w.root.Chtimes(header.Name, header.ModTime, header.ModTime)
}

// safeName is the entry's name if it stays inside and is not ours. The names of
// folders end in a slash.
func safeName(name string) (string, error) {
	clean := path.Clean(name)
	if !filepath.IsLocal(clean) || clean == "." || clean == PrivateDir || strings.HasPrefix(clean, PrivateDir+"/") && !isSession(clean) {
		return "", errors.New("the name leads out of the workspace")
	}
	return clean, nil
}
