//go:build linux

package prepared

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// small is a folder of many small files, and of what takes more or less space than its size says.
func small(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(at("many"), 0o700), os.WriteFile(at("large"), make([]byte, 1<<20), 0o600), os.Symlink("large", at("link")))
	for i := range 200 {
		err = errors.Join(err, os.WriteFile(at("many/"+strconv.Itoa(i)), []byte("x"), 0o600))
	}
	for i := range 50 {
		err = errors.Join(err, os.WriteFile(at("many/empty"+strconv.Itoa(i)), nil, 0o600))
	}
	err = errors.Join(err, os.Link(at("large"), at("large again")), os.WriteFile(at("hole"), nil, 0o600), os.Truncate(at("hole"), 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// blocks is what the files below a folder take on the disk.
func blocks(t *testing.T, dir string) (sum int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && !seen[st.Ino] {
			seen[st.Ino] = true
			sum += st.Blocks * 512
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// what is said to be taken by layers is what the disk has lost, but for the few blocks that name a layer.
func TestX14BytesAreThoseOfTheDisk(t *testing.T) {
	t.Parallel()
	s, source := open(t, folderFor(t)), small(t)
	for i := range 100 { // on some disks, each takes a block of its own
		err := unix.Lsetxattr(filepath.Join(source, "many", strconv.Itoa(i)), "user.note", []byte(strings.Repeat("x", 1500)), 0)
		if err != nil && !errors.Is(err, unix.ENOTSUP) {
			t.Fatal(err)
		}
	}
	if err := s.Keep(t.Context(), key(t, s, recipe("1")), source, Facts{Made: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	_, said := s.Usage()
	if lost := blocks(t, s.path("layers")); lost-said < 0 || lost-said > 4*4096 {
		t.Errorf("the layer is said to take %d bytes, the disk has lost %d", said, lost)
	}
}

// smallDisk is a disk of its own.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, options); err != nil {
		t.Skipf("no small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// on a disk that is smaller than the limit, layers make way for a new one as they do within the limit: those that
// nobody uses, the least recently used first. If that is not enough, none goes.
func TestX14FullDiskMakesWay(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	now := time.Now()
	used := map[string]bool{}
	s := open(t, filepath.Join(smallDisk(t, "size=12m,mode=700"), "prepared"), func(c *Config) {
		c.Now, c.Used = func() time.Time { return now }, func() (map[string]bool, error) { return used, nil }
	})
	keepBytes := func(commit string, bytes int) error {
		t.Helper()
		now = now.Add(time.Second)
		source := t.TempDir()
		if err := os.WriteFile(filepath.Join(source, "file"), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		return keep(t, s, key(t, s, recipe(commit)), source, Facts{Made: now})
	}
	has := func(want string) {
		t.Helper()
		got := ""
		for _, commit := range []string{"1", "2", "3", "4", "5"} {
			if s.layers[key(t, s, recipe(commit)).ID] != nil {
				got += commit
			}
		}
		if got != want {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
	for _, commit := range []string{"1", "2", "3"} {
		if err := keepBytes(commit, 3<<20); err != nil {
			t.Fatal(err)
		}
	}
	has("123")
	if err := keepBytes("4", 3<<20); err != nil {
		t.Error(err)
	}
	has("234")
	used[key(t, s, recipe("2")).ID] = true
	held := s.Take(key(t, s, recipe("3")))
	if err := keepBytes("5", 9<<20); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "the disk is nearly full") {
		t.Errorf("one that does not fit gives %v", err)
	}
	has("234")
	if err := keepBytes("5", 3<<20); err != nil {
		t.Error(err)
	}
	has("235")
	held.Release()
}

// runs also need files: a layer does not take the last ones of a disk.
func TestX14FilesThatAreLeft(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	s, source := open(t, filepath.Join(smallDisk(t, "size=40m,nr_inodes=268,mode=700"), "prepared")), small(t)
	err := s.Keep(t.Context(), key(t, s, recipe("1")), source, Facts{Made: time.Now()}, nil)
	if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "can hardly have more files") {
		t.Errorf("error %v", err)
	}
}
