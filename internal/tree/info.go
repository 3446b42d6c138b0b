package tree

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Info is what is known of an entry.
type Info struct {
	Mode     fs.FileMode
	Size     int64 // apparent: what a reader gets
	Disk     int64 // bytes that are taken on the disk
	Modified time.Time
	Device   uint64
	Inode    uint64
	Links    uint64
	UID, GID uint32
}

func (i Info) same(other Info) bool { return i.Device == other.Device && i.Inode == other.Inode }

// Stat describes an open file.
func Stat(f *os.File) (Info, error) { return statOf(int(f.Fd())) }

func statOf(fd int) (Info, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Info{}, fmt.Errorf("look at open file: %w", err)
	}
	return infoOf(&st), nil
}

// statAt describes the entry of an open folder; a link itself.
func statAt(folder int, name string) (Info, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Info{}, fmt.Errorf("look at file: %w", err)
	}
	return infoOf(&st), nil
}

//nolint:unconvert // the types depend on the system
func infoOf(st *unix.Stat_t) Info {
	return Info{
		Mode: modeOf(uint32(st.Mode)), Size: st.Size, Disk: int64(st.Blocks) * 512,
		Modified: time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)),
		Device:   uint64(st.Dev), Inode: uint64(st.Ino), Links: uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
	}
}

func modeOf(raw uint32) fs.FileMode {
	mode := fs.FileMode(raw) & fs.ModePerm
	switch raw & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFREG:
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	for bit, flag := range map[uint32]fs.FileMode{
		unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
	} {
		if raw&bit != 0 {
			mode |= flag
		}
	}
	return mode
}
