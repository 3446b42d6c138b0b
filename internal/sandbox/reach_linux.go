package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// makeReachable lets the user uid get to the sources although directories above
// them, such as a data directory or a home, are closed to it. It gives this
// thread, and what it forks, a mount namespace in which each closed directory is
// covered by an open one that holds nothing but the way to the sources.
func makeReachable(uid int, sources []string) error {
	if uid == 0 || uid == os.Geteuid() {
		return nil
	}
	closed := map[string][]string{} // topmost closed directory to sources below it
	for _, s := range sources {
		dir, err := closedAbove(uid, s)
		if err != nil {
			return fmt.Errorf("look at the way to %s: %w", s, err)
		}
		if dir != "" && !slices.Contains(closed[dir], s) {
			closed[dir] = append(closed[dir], s)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace (allow user %d to pass %s instead): %w", uid, strings.Join(keys(closed), ", "), err)
	}
	// Nothing done here may be visible outside, but what is unmounted outside must
	// not be held here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Since the unshare the mask is this thread's own; the agent inherits it.
	defer unix.Umask(unix.Umask(0o022))
	for dir, below := range closed {
		if err := cover(dir, below); err != nil {
			return err
		}
	}
	return nil
}

func keys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }

// closedAbove finds the topmost directory above path that uid, a user without
// groups, may not pass.
func closedAbove(uid int, path string) (string, error) {
	parts := strings.Split(strings.Trim(filepath.Dir(path), "/"), "/")
	dir := "/"
	for i := 0; ; i++ {
		info, err := os.Lstat(dir)
		if err != nil {
			return "", err
		}
		if !mayPass(info, uid) {
			return dir, nil
		}
		if i == len(parts) || parts[i] == "" {
			return "", nil
		}
		dir = filepath.Join(dir, parts[i])
	}
}

func mayPass(info fs.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return false
	case st.Uid == uint32(uid):
		return st.Mode&0o100 != 0
	case st.Gid == uint32(uid):
		return st.Mode&0o010 != 0
	}
	return st.Mode&0o001 != 0
}

// cover mounts an open directory over dir and the sources, which are below it,
// at their places in it.
func cover(dir string, sources []string) error {
	slices.Sort(sources) // parents first
	if dir == "/" {
		return errors.New("the root directory is closed to other users: chmod o+x /")
	}
	handles := make([]int, len(sources))
	for i, s := range sources {
		fd, err := unix.Open(s, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", s, err)
		}
		defer func() { _ = unix.Close(fd) }()
		handles[i] = fd
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("cover %s: %w", dir, err)
	}
	for i, s := range sources {
		if err := place(handles[i], s); err != nil {
			return fmt.Errorf("show %s: %w", s, err)
		}
	}
	return nil
}

// place binds an open file or directory at path, which it makes. A source
// below another one is bound already.
func place(handle int, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(handle, &st); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var err error
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = os.Mkdir(path, 0o755)
	} else {
		err = os.WriteFile(path, nil, 0o644)
	}
	if err != nil {
		return err
	}
	return unix.Mount("/proc/self/fd/"+strconv.Itoa(handle), path, "", unix.MS_BIND|unix.MS_REC, "")
}
