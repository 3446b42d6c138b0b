//go:build linux

package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	hybridMounts = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	unifiedMounts   = "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	containerMounts = "700 690 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
)

func TestX5OwnGroupsAreFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mounts, cgroup string
		want           map[string]string
	}{
		"hybrid": {
			hybridMounts, "8:pids:/\n4:memory:/a/b\n1:cpu,cpuacct:/x\n7:blkio:/\n0::/u\n",
			map[string]string{"pids": "/sys/fs/cgroup/pids", "memory": "/sys/fs/cgroup/memory/a/b", "cpu": "/sys/fs/cgroup/cpu,cpuacct/x", "": "/sys/fs/cgroup/unified/u"},
		},
		"unified": {
			unifiedMounts, "0::/system.slice/lineshaft.service\n",
			map[string]string{"": "/sys/fs/cgroup/system.slice/lineshaft.service"},
		},
		"container that sees the host's paths": {containerMounts, "0::/docker/abc\n", map[string]string{"": "/sys/fs/cgroup"}},
		"container that is elsewhere":          {containerMounts, "0::/other\n", map[string]string{}},
		"nothing":                              {"", "", map[string]string{}},
		"nonsense":                             {"a b\n - cgroup2\n", "x\n:\n", map[string]string{}},
	} {
		if got := ownGroups(test.mounts, test.cgroup); !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestX5PlanUsesWhatThereIs(t *testing.T) {
	t.Parallel()
	limits := Limits{MemoryBytes: 1 << 20, Processes: 10, CPUs: 0.5}
	hybrid := hierarchy{unified: "/u", kill: true, legacy: map[string]string{"memory": "/m/own", "pids": "/p"}}
	unified := hierarchy{unified: "/u", kill: true, controllers: []string{"memory", "pids", "cpu"}}
	for name, test := range map[string]struct {
		h      hierarchy
		limits Limits
		kill   bool
		want   string // directory's parent, version and settings of each group
	}{
		"nothing":            {hierarchy{}, limits, true, ""},
		"hybrid":             {hybrid, limits, true, "/m/own v1 memory.limit_in_bytes=1048576 memory.memsw.limit_in_bytes=1048576;/p v1 pids.max=12;/u v2"},
		"hybrid, no limits":  {hybrid, Limits{}, true, "/u v2"},
		"hybrid, no kill":    {hybrid, Limits{Processes: 1}, false, "/p v1 pids.max=3"},
		"unified":            {unified, limits, false, "/u v2 memory.max=1048576 memory.swap.max=0 memory.oom.group=1 pids.max=12 cpu.max=50000 100000"},
		"unified, no limits": {unified, Limits{}, false, ""},
		"tiny processor":     {unified, Limits{CPUs: 0.001}, false, "/u v2 cpu.max=1000 100000"},
		"legacy processor": {
			hierarchy{legacy: map[string]string{"cpu": "/c"}},
			limits, true,
			"/c v1 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000",
		},
	} {
		var got []string
		for _, g := range test.h.plan(test.limits, 2, test.kill) {
			text := filepath.Dir(g.Dir) + " v" + string(rune('0'+g.Version))
			for _, s := range g.Set {
				text += " " + s.File + "=" + s.Value
			}
			if g.Version == 1 && g.Home != filepath.Dir(g.Dir) {
				t.Errorf("%s: the way back from %s is %s", name, g.Dir, g.Home)
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, ";"); joined != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, joined, test.want)
		}
	}
}

func TestX5GroupNamesAreUniqueAndNameTheirOwner(t *testing.T) {
	t.Parallel()
	h := hierarchy{unified: "/u", kill: true}
	a, b := h.plan(Limits{}, 0, true), h.plan(Limits{}, 0, true)
	if a[0].Dir == b[0].Dir {
		t.Errorf("two trees share %s", a[0].Dir)
	}
	if pid, ok := staleOwner(filepath.Base(a[0].Dir)); !ok || pid != os.Getpid() {
		t.Errorf("owner of %s is %d, %v", a[0].Dir, pid, ok)
	}
	for _, name := range []string{"", "lineshaft-", "lineshaft-server", "lineshaft-12", "lineshaft--1-x", "lineshaft-0-x", "other-12-x"} {
		if pid, ok := staleOwner(name); ok {
			t.Errorf("%q: got %d", name, pid)
		}
	}
}

// Version 2 cannot be tried on every machine: its files are plain files here.
func TestX5ControllersAreEnabled(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for file, text := range map[string]string{"cgroup.controllers": "cpuset cpu io memory hugetlb pids\n", "cgroup.subtree_control": "", "cgroup.procs": ""} {
		if err := os.WriteFile(filepath.Join(base, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	enableControllers(base, true)
	text, err := os.ReadFile(filepath.Join(base, "cgroup.subtree_control"))
	// A plain file keeps the longest and the last of what was written to its beginning.
	if err != nil || len(text) == 0 || text[0] != '+' {
		t.Errorf("got %q, %v", text, err)
	}
	if found, err := probe(base, "memory.max"); err != nil || found["memory.max"] {
		t.Errorf("a plain directory has limits: %v, %v", found, err)
	}
	if entries, _ := filepath.Glob(filepath.Join(base, groupPrefix+"*")); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestX5ServerMovesAsideOnlyAlone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	procs := filepath.Join(base, "cgroup.procs")
	for text, want := range map[string]bool{"": true, "1\n2\n": false} {
		if err := os.WriteFile(procs, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := moveAside(base); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestX5OutOfMemoryIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 0\n":  false,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 2\n":  true,
		"low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\n":     true,
		"low 0\nhigh 0\nmax 12\noom 1\noom_group_kill 1": false,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := (groups{{Dir: dir}}).outOfMemory(); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestX5StaleGroupsAreRemoved(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	own := h(t, base, os.Getpid())
	dead := h(t, base, 1<<30) // beyond every possible process id
	other := filepath.Join(base, "somebody-else")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	removeStale(base)
	left, _ := filepath.Glob(filepath.Join(base, "*"))
	if !slices.Equal(left, []string{own, other}) {
		t.Errorf("left %v; %s should be gone", left, dead)
	}
}

func h(t *testing.T, base string, pid int) string {
	t.Helper()
	name := filepath.Join(base, groupPrefix+itoa(pid)+"-abc")
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}
