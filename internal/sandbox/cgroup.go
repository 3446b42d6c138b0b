package sandbox

import (
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// group is one control group that the supervisor makes for one tree, in one
// hierarchy. Version 1 has a hierarchy for each controller, version 2 one for all.
type group struct {
	Dir     string
	Version int
	Home    string // version 1: the supervisor's own group
	Set     []setting
}

// setting is one file of a group. Optional ones depend on how the kernel was built.
type setting struct {
	File     string
	Value    string
	Optional bool
}

// groups are the groups of one tree.
type groups []group

const (
	controllerMemory = "memory"
	controllerPids   = "pids"
	controllerCPU    = "cpu"

	groupPrefix = "lineshaft-"
	// serverGroup is where the server goes to make room: a group of version 2
	// that has groups with limits below it cannot have processes itself.
	serverGroup = groupPrefix + "server"
	cpuPeriod   = 100_000 // microseconds
)

// controllers are those we have a use for, with the file that proves each.
var controllers = map[string]struct{ v1, v2 string }{
	controllerMemory: {"memory.limit_in_bytes", "memory.max"},
	controllerPids:   {"pids.max", "pids.max"},
	controllerCPU:    {"cpu.cfs_quota_us", "cpu.max"},
}

// hierarchy is the part of control groups that this process may use. The zero value is nothing.
type hierarchy struct {
	unified     string            // directory for groups of version 2; empty: none
	controllers []string          // those that work there
	kill        bool              // whether cgroup.kill works there
	legacy      map[string]string // version 1: controller to our own group's directory
}

// version says which version holds a controller; 0 is none.
func (h hierarchy) version(controller string) int {
	if slices.Contains(h.controllers, controller) {
		return 2
	}
	if h.legacy[controller] != "" {
		return 1
	}
	return 0
}

// plan returns the groups for the limits that the hierarchy can hold. spare is the
// number of processes that do not count, and withKill asks for a group that
// exists only to be killed.
func (h hierarchy) plan(l Limits, spare int, withKill bool) groups {
	name := groupPrefix + strconv.Itoa(os.Getpid()) + "-" + rand.Text()[:12]
	var out groups
	unified := group{Dir: filepath.Join(h.unified, name), Version: 2}
	for _, c := range []string{controllerMemory, controllerPids, controllerCPU} {
		switch v := h.version(c); {
		case !l.has(c) || v == 0:
		case v == 2:
			unified.Set = append(unified.Set, l.settings(c, v, spare)...)
		default:
			home := h.legacy[c]
			out = append(out, group{Dir: filepath.Join(home, name), Version: 1, Home: home, Set: l.settings(c, v, spare)})
		}
	}
	if h.unified != "" && (len(unified.Set) > 0 || withKill && h.kill) {
		out = append(out, unified)
	}
	return out
}

func (l Limits) has(controller string) bool {
	switch controller {
	case controllerMemory:
		return l.MemoryBytes > 0
	case controllerPids:
		return l.Processes > 0
	}
	return l.CPUs > 0
}

// settings are the files that set one limit.
func (l Limits) settings(controller string, version, spare int) []setting {
	memory := strconv.FormatInt(l.MemoryBytes, 10)
	quota := strconv.Itoa(max(1000, int(math.Round(l.CPUs*cpuPeriod)))) // the kernel refuses less than 1 ms
	switch {
	case controller == controllerPids:
		return []setting{{File: "pids.max", Value: strconv.Itoa(l.Processes + spare)}}
	case controller == controllerMemory && version == 1:
		return []setting{
			{File: "memory.limit_in_bytes", Value: memory},
			{File: "memory.memsw.limit_in_bytes", Value: memory, Optional: true},
		}
	case controller == controllerMemory:
		return []setting{
			{File: "memory.max", Value: memory},
			{File: "memory.swap.max", Value: "0", Optional: true},
			{File: "memory.oom.group", Value: "1", Optional: true},
		}
	case version == 1:
		return []setting{
			{File: "cpu.cfs_period_us", Value: strconv.Itoa(cpuPeriod)},
			{File: "cpu.cfs_quota_us", Value: quota},
		}
	}
	return []setting{{File: "cpu.max", Value: quota + " " + strconv.Itoa(cpuPeriod)}}
}

// ownGroups finds the directories of our own groups from the texts of
// /proc/self/mountinfo and /proc/self/cgroup: by controller for version 1, under
// the empty name for version 2.
func ownGroups(mountinfo, cgroup string) map[string]string {
	own := map[string]string{} // controller to path within its hierarchy
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	dirs := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(source) < 3 {
			continue
		}
		root, point := fields[3], fields[4]
		switch source[0] {
		case "cgroup2":
			addOwn(dirs, "", root, point, own)
		case "cgroup":
			for c := range strings.SplitSeq(source[2], ",") {
				if _, ours := controllers[c]; ours {
					addOwn(dirs, c, root, point, own)
				}
			}
		}
	}
	return dirs
}

// addOwn joins mount point and path. A mount shows the hierarchy from root on,
// which in a container is the container's own group.
func addOwn(dirs map[string]string, controller, root, point string, own map[string]string) {
	path, ok := own[controller]
	if !ok || dirs[controller] != "" {
		return
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return
	}
	dirs[controller] = filepath.Join(point, rel)
}

// staleOwner reads the process id out of a group's name.
func staleOwner(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, groupPrefix)
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(number)
	return pid, err == nil && pid > 0
}

// describeVersion is the word for reports.
func describeVersion(version int, otherwise string) string {
	if version == 0 {
		return otherwise
	}
	return fmt.Sprintf("cgroup v%d", version)
}
