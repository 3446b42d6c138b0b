package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Walker says how a folder is walked.
type Walker struct {
	// Depth is how many levels of folders are walked; zero is all.
	Depth int
	// Entries is how many entries are visited; zero is all.
	Entries int
	// Unlock opens up what its owner has closed to itself, as an agent may. Without
	// it such a folder is left out.
	Unlock bool
	// Visit is called for everything below the folder: parents first, the entries
	// of each folder by name. fs.SkipDir keeps it from going into a folder; any
	// other error ends the walk.
	Visit func(*Entry) error
	// Left is called for what is left out, with the reason; nil ignores it. What is
	// gone before it was looked at was never there.
	Left func(path string, why error)
}

// Entry is one file, folder or link. It is good until Visit returns.
type Entry struct {
	// Name is its name in its folder.
	Name string
	// Info is what was found when it was looked at.
	Info Info

	walk *walk
}

// Attribute is something that a program has noted of a file.
type Attribute struct{ Name, Value string }

// Path is where it is below the folder that is walked, with slashes.
func (e *Entry) Path() string { return e.walk.path(len(e.walk.levels), e.Name) }

// Open opens a regular file, if it is still the one that was looked at.
func (e *Entry) Open() (*os.File, Info, error) {
	fd, err := openAt(e.walk.at, e.Name, unix.O_RDONLY)
	if e.walk.Unlock && errors.Is(err, unix.EACCES) {
		if err := unlock(e.walk.at, e.Name, unix.S_IFREG, 0o600); err != nil {
			return nil, Info{}, err
		}
		fd, err = openAt(e.walk.at, e.Name, unix.O_RDONLY)
	}
	if err != nil {
		return nil, Info{}, fmt.Errorf("open file: %w", err)
	}
	f := os.NewFile(uintptr(fd), e.Name)
	info, err := statOf(fd)
	if err == nil && (!info.Mode.IsRegular() || !info.same(e.Info)) {
		err = ErrMoved
	}
	if err != nil {
		_ = f.Close()
		return nil, Info{}, err
	}
	return f, info, nil
}

// Readlink is where a symbolic link leads.
func (e *Entry) Readlink() (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(e.walk.at, e.Name, target)
	if err != nil {
		return "", fmt.Errorf("read link: %w", err)
	}
	return string(target[:n]), nil
}

// Chown gives the entry, a link itself, to a user and a group.
func (e *Entry) Chown(uid, gid int) error {
	if err := unix.Fchownat(e.walk.at, e.Name, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("change owner: %w", err)
	}
	return nil
}

// Walk walks an open folder, which stays open.
func (w *Walker) Walk(ctx context.Context, folder *os.File) error { return newWalk(w, folder).run(ctx) }

func newWalk(w *Walker, folder *os.File) *walk {
	return &walk{Walker: w, top: int(folder.Fd()), at: -1, left: w.Entries, buffer: make([]byte, 32<<10)}
}

func (s *walk) run(ctx context.Context) error {
	defer func() { s.stand(-1) }()
	fd, err := openFolder(s.top, ".", s.need())
	if err != nil {
		return err
	}
	s.stand(fd)
	info, err := statOf(fd)
	if err != nil {
		return err
	}
	if err := s.enter("", info); err != nil {
		return err
	}
	for len(s.levels) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := &s.levels[len(s.levels)-1]
		if len(at.names) == 0 {
			if err := s.up(); err != nil {
				return err
			}
			continue
		}
		name := at.names[0]
		at.names = at.names[1:]
		if err := s.visit(name); err != nil {
			return err
		}
	}
	return nil
}

// need is what the owner of a folder gets to list it and look at its files.
func (w *Walker) need() uint32 {
	if w.Unlock {
		return 0o500
	}
	return 0
}

// walk is one walk. One folder of the tree is open at a time.
type walk struct {
	*Walker
	top    int
	at     int // the folder of the last level
	levels []level
	left   int // entries that may still be read
	cut    bool
	buffer []byte
	calls  int // folders opened and entries looked at
}

// level is a folder on the way down.
type level struct {
	name  string
	info  Info
	names []string // not visited yet
}

// path is that of a name in the folder of the given level.
func (s *walk) path(depth int, name string) string {
	parts := make([]string, 0, depth+1)
	for _, l := range s.levels[:depth] {
		parts = append(parts, l.name)
	}
	return path.Join(append(parts, name)...)
}

// leave reports what is left out.
func (s *walk) leave(depth int, name string, why error) {
	if s.Left != nil {
		s.Left(s.path(depth, name), why)
	}
}

// stand makes an open folder the one that names are looked up in.
func (s *walk) stand(fd int) {
	if s.at >= 0 {
		_ = unix.Close(s.at)
	}
	s.at = fd
}

func (s *walk) visit(name string) error {
	depth := len(s.levels)
	s.calls++
	info, err := statAt(s.at, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		s.leave(depth, name, err)
		return nil
	}
	switch err := s.Visit(&Entry{Name: name, Info: info, walk: s}); {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil:
		return err
	case !info.Mode.IsDir():
		return nil
	case s.Depth > 0 && depth >= s.Depth:
		s.leave(depth, name, ErrDeep)
		return nil
	}
	fd, err := s.open(s.at, name, info)
	if err != nil {
		s.leave(depth, name, err)
		return nil
	}
	s.stand(fd)
	return s.enter(name, info)
}

// open opens a folder if it is the one that was looked at.
func (s *walk) open(parent int, name string, want Info) (int, error) {
	s.calls++
	fd, err := openFolder(parent, name, s.need())
	if err != nil {
		return -1, err
	}
	if info, err := statOf(fd); err != nil || !info.same(want) {
		_ = unix.Close(fd)
		return -1, errors.Join(err, ErrMoved)
	}
	return fd, nil
}

// enter lists the folder that was opened last.
func (s *walk) enter(name string, info Info) error {
	most := -1
	if s.Entries > 0 {
		most = s.left
	}
	names, err := readNames(s.at, most, s.buffer)
	s.levels = append(s.levels, level{name: name, info: info})
	if err != nil {
		s.leave(len(s.levels), "", err)
		return nil
	}
	if most >= 0 && len(names) > most {
		names = names[:most]
		if !s.cut {
			s.cut = true
			s.leave(len(s.levels), "", ErrMany)
		}
	}
	s.left -= len(names)
	s.levels[len(s.levels)-1].names = names
	return nil
}

func (s *walk) up() error {
	s.levels = s.levels[:len(s.levels)-1]
	if len(s.levels) == 0 {
		return nil
	}
	if fd, err := s.open(s.at, "..", s.levels[len(s.levels)-1].info); err == nil {
		s.stand(fd)
		return nil
	}
	return s.again()
}

// again goes down from the top, because a folder was moved: the one above it is
// another now. What is not where it was is left out.
func (s *walk) again() error {
	fd, err := openFolder(s.top, ".", s.need())
	if err != nil {
		return err
	}
	for i := 1; i < len(s.levels); i++ {
		next, err := s.open(fd, s.levels[i].name, s.levels[i].info)
		if err != nil {
			s.leave(i, s.levels[i].name, ErrMoved)
			s.levels = s.levels[:i]
			break
		}
		_ = unix.Close(fd)
		fd = next
	}
	s.stand(fd)
	return nil
}
