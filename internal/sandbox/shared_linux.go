package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shared adds up the memory of a tree that processes share, or hold without having
// it mapped: each file once, however many have it.
type shared struct {
	bytes int64
	seen  map[[2]uint64]bool // device and inode
}

// privateTmpfs are the folders of memory that an agent in bubblewrap has to itself.
var privateTmpfs = []string{"/tmp", "/dev/shm"}

// sharedMemory is what a tree holds of memory besides its processes' own pages.
func sharedMemory(tree []process, private bool) int64 {
	s := &shared{seen: map[[2]uint64]bool{}}
	for _, p := range tree {
		proc := "/proc/" + strconv.Itoa(p.pid)
		if private {
			for _, folder := range privateTmpfs {
				s.addTmpfs(proc + "/root" + folder)
			}
		}
		s.addOpen(proc + "/fd")
	}
	for _, p := range tree {
		s.addMapped("/proc/" + strconv.Itoa(p.pid))
	}
	return s.bytes
}

// once says that a file, or a file system, is met for the first time.
func (s *shared) once(device, inode uint64) bool {
	if s.seen[[2]uint64{device, inode}] {
		return false
	}
	s.seen[[2]uint64{device, inode}] = true
	return true
}

// addTmpfs counts the files in a folder of memory, also deleted ones.
func (s *shared) addTmpfs(folder string) {
	var st unix.Statfs_t
	var at unix.Stat_t
	if unix.Statfs(folder, &st) != nil || st.Type != unix.TMPFS_MAGIC || unix.Stat(folder, &at) != nil {
		return
	}
	var outside unix.Stat_t // one of bubblewrap's own processes may still be there
	if guest := folder[strings.Index(folder, "/root/")+len("/root"):]; unix.Stat(guest, &outside) == nil && outside.Dev == at.Dev {
		return
	}
	if s.once(at.Dev, 0) {
		s.bytes += int64(st.Blocks-st.Bfree) * int64(st.Bsize) //nolint:unconvert // its type depends on the processor
	}
}

// addOpen counts the memory files that a process has open.
func (s *shared) addOpen(fds string) {
	entries, err := os.ReadDir(fds)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name := filepath.Join(fds, entry.Name())
		var st syscall.Stat_t
		if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, "/memfd:") || syscall.Stat(name, &st) != nil {
			continue
		}
		if s.once(st.Dev, st.Ino) {
			s.bytes += st.Blocks * 512
		}
	}
}

// addMapped counts what a process has mapped of memory that has no file system of
// the agent's: its share, so that all that have it mapped count it once together.
func (s *shared) addMapped(proc string) {
	status, err := os.ReadFile(proc + "/status")
	if err != nil || !sharesMemory(string(status)) {
		return // the look below is slow
	}
	smaps, err := os.Open(proc + "/smaps")
	if err != nil {
		return
	}
	defer func() { _ = smaps.Close() }()
	lines := bufio.NewScanner(smaps)
	counts := false
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 0 && !strings.HasSuffix(fields[0], ":"):
			counts = len(fields) > 5 && s.unnamed(fields)
		case counts && len(fields) == 3 && fields[0] == "Pss:":
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			s.bytes += kilobytes << 10
		}
	}
}

// sharesMemory says that a process has memory mapped that others can have as well.
func sharesMemory(status string) bool {
	_, rest, ok := strings.Cut(status, "\nRssShmem:")
	line, _, _ := strings.Cut(rest, "\n")
	return ok && strings.TrimSpace(line) != "0 kB"
}

// unnamed says that a mapping is of memory without a file, or of a memory file that
// nobody has open any more: range, permissions, offset, device, inode, name.
func (s *shared) unnamed(fields []string) bool {
	inode, _ := strconv.ParseUint(fields[4], 10, 64)
	major, minor, _ := strings.Cut(fields[3], ":")
	high, _ := strconv.ParseUint(major, 16, 32)
	low, _ := strconv.ParseUint(minor, 16, 32)
	name := fields[5]
	return (strings.HasPrefix(name, "/memfd:") || name == "/dev/zero" || strings.HasPrefix(name, "/SYSV")) &&
		!s.seen[[2]uint64{unix.Mkdev(uint32(high), uint32(low)), inode}]
}
