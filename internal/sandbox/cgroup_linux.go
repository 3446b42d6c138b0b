package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// detect finds out which part of control groups this process may use, by trying.
func detect() hierarchy {
	mountinfo, err1 := os.ReadFile("/proc/self/mountinfo")
	cgroup, err2 := os.ReadFile("/proc/self/cgroup")
	if err1 != nil || err2 != nil {
		return hierarchy{}
	}
	own := ownGroups(string(mountinfo), string(cgroup))
	h := hierarchy{legacy: map[string]string{}}
	if dir := own[""]; dir != "" {
		h.unified, h.controllers, h.kill = probeUnified(dir)
	}
	for c, files := range controllers {
		dir := own[c]
		if dir == "" || slices.Contains(h.controllers, c) {
			continue
		}
		removeStale(dir)
		if found, err := probe(dir, files.v1); err == nil && found[files.v1] {
			h.legacy[c] = dir
		}
	}
	return h
}

// probeUnified looks at version 2, where dir is our own group.
func probeUnified(dir string) (base string, usable []string, kill bool) {
	base = dir
	if filepath.Base(dir) == serverGroup {
		base = filepath.Dir(dir)
	}
	if unix.Access(filepath.Join(base, "cgroup.procs"), unix.W_OK) != nil {
		return "", nil, false
	}
	removeStale(base)
	enableControllers(base, base == dir)
	files := []string{"cgroup.kill"}
	for _, c := range controllers {
		files = append(files, c.v2)
	}
	found, err := probe(base, files...)
	if err != nil {
		return "", nil, false
	}
	for name, c := range controllers {
		if found[c.v2] {
			usable = append(usable, name)
		}
	}
	return base, usable, found["cgroup.kill"]
}

// enableControllers switches the controllers on for the groups below base. When
// base may have no processes for that, and its only process is this one, it
// moves to a group of its own. Errors show in the probe that follows.
func enableControllers(base string, within bool) {
	available := words(filepath.Join(base, "cgroup.controllers"))
	enabled := words(filepath.Join(base, "cgroup.subtree_control"))
	for name := range controllers {
		if !slices.Contains(available, name) || slices.Contains(enabled, name) {
			continue
		}
		control := filepath.Join(base, "cgroup.subtree_control")
		err := writeFile(control, "+"+name)
		if errors.Is(err, syscall.EBUSY) && within && moveAside(base) {
			_ = writeFile(control, "+"+name)
		}
	}
}

// moveAside moves this process from base to a group below it.
func moveAside(base string) bool {
	self := strconv.Itoa(os.Getpid())
	if members := words(filepath.Join(base, "cgroup.procs")); !slices.Equal(members, []string{self}) {
		// Others are not ours to move (or it is done already).
		return len(members) == 0
	}
	aside := filepath.Join(base, serverGroup)
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	return writeFile(filepath.Join(aside, "cgroup.procs"), self) == nil
}

// probe makes a group below dir, says which of the files it has, and removes it.
func probe(dir string, files ...string) (map[string]bool, error) {
	name, err := os.MkdirTemp(dir, groupPrefix+strconv.Itoa(os.Getpid())+"-probe")
	if err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	found := map[string]bool{}
	for _, file := range files {
		_, err := os.Stat(filepath.Join(name, file))
		found[file] = err == nil
	}
	return found, os.Remove(name)
}

// removeStale ends and removes the groups of workers that are gone, whose
// supervisors must also have been killed.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, ok := staleOwner(e.Name())
		if !ok || !e.IsDir() || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		_ = writeFile(filepath.Join(dir, e.Name(), "cgroup.kill"), "1")
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}

// create makes the groups and sets their limits.
func (g groups) create() error {
	for _, one := range g {
		if err := os.Mkdir(one.Dir, 0o755); err != nil {
			return fmt.Errorf("make control group: %w", err)
		}
		for _, s := range one.Set {
			err := writeFile(filepath.Join(one.Dir, s.File), s.Value)
			if err != nil && !(s.Optional && errors.Is(err, fs.ErrNotExist)) {
				return fmt.Errorf("set control group: %w", err)
			}
		}
	}
	return nil
}

// enter makes the next fork of this thread start in the groups. The function it
// returns must be called after the fork.
func (g groups) enter(sys *syscall.SysProcAttr) (leave func(), err error) {
	var undo []func()
	leave = func() {
		for _, f := range undo {
			f()
		}
	}
	for _, one := range g {
		if one.Version == 2 {
			fd, err := unix.Open(one.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				leave()
				return nil, fmt.Errorf("open control group: %w", err)
			}
			sys.UseCgroupFD, sys.CgroupFD = true, fd
			undo = append(undo, func() { _ = unix.Close(fd) })
			continue
		}
		// Version 1 knows no fork into a group, but a single thread can go there
		// and back; 0 is the thread that writes.
		if err := writeFile(filepath.Join(one.Dir, "tasks"), "0"); err != nil {
			leave()
			return nil, fmt.Errorf("enter control group: %w", err)
		}
		undo = append(undo, func() { _ = writeFile(filepath.Join(one.Home, "tasks"), "0") })
	}
	return leave, nil
}

// kill ends every process in the groups, where the kernel can do that at once.
func (g groups) kill() {
	for _, one := range g {
		if one.Version == 2 {
			_ = writeFile(filepath.Join(one.Dir, "cgroup.kill"), "1")
		}
	}
}

// outOfMemory reports whether the kernel has killed a process of the groups for
// its memory.
func (g groups) outOfMemory() bool {
	for _, one := range g {
		for _, file := range []string{"memory.oom_control", "memory.events"} {
			text, err := os.ReadFile(filepath.Join(one.Dir, file))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
					return true
				}
			}
		}
	}
	return false
}

// remove deletes the groups. The kernel may need a moment after the end of the
// last process; a group that stays is removed by the next server.
func (g groups) remove(ctx context.Context) {
	deadline := time.After(2 * time.Second)
	for _, one := range g {
		for {
			err := os.Remove(one.Dir)
			if err == nil || !errors.Is(err, syscall.EBUSY) {
				break
			}
			select {
			case <-time.After(time.Millisecond):
				continue
			case <-deadline:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// words are the fields of a small file; none when it cannot be read.
func words(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// writeFile writes to a file that exists, in one write: control files take no other.
func writeFile(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
