package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/tree"
)

// How often the size of a workspace is measured: a look follows the one before it
// by diskEvery, or later, so that looking takes at most a twentieth of the time.
const (
	diskEvery = time.Second
	diskShare = 20
)

// quota is a limit for what one folder holds, and for what its processes hold of
// deleted files.
type quota struct {
	Dir   string
	Bytes int64
}

// watch notifies over once when the folder holds too much. It ends with ctx.
func (q quota) watch(ctx context.Context, over chan<- struct{}) {
	if q.Bytes == 0 {
		return
	}
	before, _ := usedSpace(q.Dir)
	for pause := diskEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		begun := time.Now()
		if q.exceeded(ctx, before, os.Getpid()) {
			over <- struct{}{}
			return
		}
		pause = max(diskEvery, diskShare*time.Since(begun))
	}
}

// exceeded measures. Where something cannot be read, the growth of the whole file
// system counts instead, although others may have written there.
func (q quota) exceeded(ctx context.Context, before int64, root int) bool {
	t := tally{seen: map[uint64]bool{}, most: q.Bytes}
	t.addFolder(ctx, q.Dir)
	for _, p := range descendants(root) {
		t.addOpenFiles(p.pid)
	}
	now, ok := usedSpace(q.Dir)
	if !ok {
		now = before
	}
	return t.over(now - before)
}

// usedSpace is how much of the file system that holds dir is in use.
func usedSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Blocks-st.Bfree) * int64(st.Bsize), true //nolint:unconvert // its type depends on the processor
}

// tally adds up files.
type tally struct {
	bytes  int64
	most   int64           // measuring stops beyond it
	device uint64          // of the folder
	seen   map[uint64]bool // inodes with several names, and deleted ones
	blind  bool            // something could not be read
}

// over decides; grown is how much the whole file system has grown.
func (t *tally) over(grown int64) bool { return t.bytes > t.most || t.blind && grown > t.most }

// errEnough ends a walk.
var errEnough = errors.New("enough")

// addFolder counts what takes space in a folder, each file once.
func (t *tally) addFolder(ctx context.Context, dir string) {
	folder, err := os.Open(dir)
	if err != nil {
		t.blind = t.blind || !errors.Is(err, fs.ErrNotExist)
		return
	}
	defer func() { _ = folder.Close() }()
	if top, err := tree.Stat(folder); err == nil {
		t.device = top.Device
		t.add(top.Inode, top.Disk, false)
	}
	walker := tree.Walker{
		Visit: func(e *tree.Entry) error {
			t.add(e.Info.Inode, e.Info.Disk, e.Info.Links > 1 && !e.Info.Mode.IsDir())
			if t.bytes > t.most {
				return errEnough
			}
			return nil
		},
		// What was deleted meanwhile takes no space; what is closed to us may.
		Left: func(_ string, why error) { t.blind = t.blind || !errors.Is(why, fs.ErrNotExist) },
	}
	err = walker.Walk(ctx, folder)
	t.blind = t.blind || err != nil && !errors.Is(err, errEnough)
}

func (t *tally) add(inode uint64, bytes int64, once bool) {
	if once {
		if t.seen[inode] {
			return
		}
		t.seen[inode] = true
	}
	t.bytes += bytes
}

// addOpenFiles counts the files that one process has open although they were
// deleted: they take space without having a name.
func (t *tally) addOpenFiles(pid int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.blind = t.blind || errors.Is(err, fs.ErrPermission)
		return
	}
	for _, entry := range entries {
		if t.bytes > t.most {
			return
		}
		name := filepath.Join(dir, entry.Name())
		if to, err := os.Readlink(name); err != nil || !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		var st syscall.Stat_t
		if syscall.Stat(name, &st) == nil && st.Dev == t.device && st.Nlink == 0 && st.Mode&syscall.S_IFMT == syscall.S_IFREG {
			t.add(st.Ino, st.Blocks*512, true)
		}
	}
}
