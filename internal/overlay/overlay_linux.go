package overlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// Mount shows the lower folder, whose files belong to this process's user, at an empty
// folder, as if all of it were the owner's. Changes go to folders named
// upper and work in the store, on the same file system; they are made if they are missing.
type Mount struct {
	Lower, Store, At string
	Owner            int
}

// busyTime is how long a mount waits for the one before it, which ends when nothing of
// it is open any more.
const busyTime = 10 * time.Second

// Mount mounts. Nothing is left mounted on an error.
func (m Mount) Mount(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("mount overlay: %w: only root can", errors.ErrUnsupported)
	}
	if err := m.mount(ctx); err != nil {
		return fmt.Errorf("mount overlay: %w", err)
	}
	return nil
}

func (m Mount) mount(ctx context.Context) error {
	lower, err := ownedBy(m.Lower, m.Owner)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(lower) }()
	upper, err := m.folder("upper")
	if err != nil {
		return err
	}
	defer func() { _ = upper.Close() }()
	work, err := m.folder("work")
	if err != nil {
		return err
	}
	defer func() { _ = work.Close() }()
	if err := upper.Chown(m.Owner, m.Owner); err != nil {
		return err
	}
	// Open folders, because a path may have commas, and agents can read the options.
	// Folders can be renamed, and files keep all their names, as without an overlay.
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=on,metacopy=off,index=on",
		opened(lower), opened(int(upper.Fd())), opened(int(work.Fd())))
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	for {
		err := unix.Mount("overlay", m.At, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options)
		if !errors.Is(err, unix.EBUSY) || !pause.For(ctx, time.Millisecond) {
			return err
		}
	}
}

func (m Mount) folder(name string) (*os.File, error) {
	name = filepath.Join(m.Store, name)
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, err
	}
	return os.Open(name)
}

func opened(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// ownedBy gives a mount of a folder, read-only and without a place, in which files of this
// process's user belong to another one. No file needs a new owner: that would copy it.
func ownedBy(dir string, owner int) (int, error) {
	users, err := mapping(os.Geteuid(), owner)
	if err != nil {
		return -1, err
	}
	defer func() { _ = users.Close() }()
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open lower folder: %w", err)
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{
		Attr_set:  unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Userns_fd: uint64(users.Fd()),
	})
	if err != nil {
		return -1, errors.Join(fmt.Errorf("map users of lower folder: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// mapping is a user namespace in which one user is another. Making it needs a process,
// which is stopped before it does anything.
func mapping(from, to int) (*os.File, error) {
	runtime.LockOSThread() // a traced process belongs to a thread
	defer runtime.UnlockOSThread()
	ids := []syscall.SysProcIDMap{{ContainerID: from, HostID: to, Size: 1}}
	p, err := os.StartProcess("/proc/self/exe", []string{"users"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, Ptrace: true, Pdeathsig: syscall.SIGKILL,
	}})
	if err != nil {
		return nil, fmt.Errorf("make user namespace: %w", err)
	}
	users, err := os.Open("/proc/" + strconv.Itoa(p.Pid) + "/ns/user")
	_ = p.Kill()
	_, _ = p.Wait() // it was killed
	return users, err
}

// Anchor makes mounts and unmounts below a folder visible to every process that sees
// the folder: an agent that started meanwhile would otherwise hold mounts it has never used. Doing so
// again changes nothing.
func Anchor(dir string) error {
	dir, err := listedAs(dir)
	if err != nil {
		return fmt.Errorf("anchor mounts: %w", err)
	}
	points, err := mounted(dir)
	if err != nil || slices.Contains(points, dir) {
		return err
	}
	err = unix.Mount(dir, dir, "", unix.MS_BIND, "")
	for _, kind := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err == nil {
			err = unix.Mount("", dir, "", kind, "")
		}
	}
	if err != nil {
		return fmt.Errorf("anchor mounts: %w", err)
	}
	return nil
}

// Unmount ends a mount. Processes that have something open there keep it open.
func Unmount(at string) error {
	err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) { // not mounted
		return fmt.Errorf("unmount overlay: %w", err)
	}
	return nil
}

// Clear ends all mounts at a folder and below it.
func Clear(dir string) error {
	points, err := mounted(dir)
	for _, point := range slices.Backward(points) {
		err = errors.Join(err, Unmount(point))
	}
	return err
}

// listedAs is the name that a folder has in the list of mounts.
func listedAs(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// mounted lists what is mounted at a folder and below it, in order; nothing where there is no folder.
func mounted(dir string) (points []string, err error) {
	dir, err = listedAs(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	text, readErr := os.ReadFile("/proc/self/mountinfo")
	if err = errors.Join(err, readErr); err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points, nil
}

// Check says why overlays cannot be used for a folder's contents. It leaves nothing behind.
func Check(ctx context.Context, dir string) (err error) {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root can mount them", errors.ErrUnsupported)
	}
	top, err := os.MkdirTemp(dir, "overlay-check-")
	if err != nil {
		return fmt.Errorf("try overlay: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	const owner = 61000
	m := Mount{Lower: filepath.Join(top, "lower"), Store: filepath.Join(top, "store"), At: filepath.Join(top, "at"), Owner: owner}
	file := filepath.Join(m.At, "file")
	err = errors.Join(os.Mkdir(m.Lower, 0o700), os.Mkdir(m.At, 0o700), os.WriteFile(filepath.Join(m.Lower, "file"), nil, 0o600))
	if err == nil {
		err = m.Mount(ctx)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Unmount(m.At)) }()
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("try overlay: %w", err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != owner {
		return errors.New("try overlay: files do not belong to whom they should")
	}
	return os.Rename(file, file+".moved")
}
