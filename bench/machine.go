package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine is where the figures come from.
type machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel"`
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	// FileSystem holds the databases.
	FileSystem string `json:"file_system"`
}

// String is one line for the foot of the table.
func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s memory, %s %s, databases on %s", m.CPU, m.Cores, inMegabytes(m.MemoryBytes), m.OS, m.Kernel, m.FileSystem)
}

// describe notes the machine, the versions and the settings, and warns of what
// makes the figures doubtful.
func (s *session) describe(ctx context.Context) {
	r := s.report
	r.Machine = machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), FileSystem: fileSystem(s.dir),
		Kernel: firstLine("/proc/sys/kernel/osrelease"), CPU: procField("/proc/cpuinfo", "model name"),
	}
	if memory, ok := strings.CutSuffix(procField("/proc/meminfo", "MemTotal"), " kB"); ok {
		n, _ := strconv.ParseInt(memory, 10, 64) // 0 is shown as unknown
		r.Machine.MemoryBytes = n << 10
	}
	if r.Machine.FileSystem == "tmpfs" {
		r.warnf("the databases are in memory: a commit costs nothing there; choose a real disk with -dir")
	}
	load := loadNow()
	if n, err := strconv.ParseFloat(load, 64); err == nil && n > float64(r.Machine.Cores)/2 {
		r.warnf("the machine was busy when the benchmark began (load %s): the figures are worth little", load)
	}
	r.Commit = versionOf(ctx, s.root, "git", "describe", "--always", "--dirty", "--tags")
	r.Versions["go"] = runtime.Version()
	r.Versions["bubblewrap"] = versionOf(ctx, "", "bwrap", "--version")
	r.Versions["river"] = s.opts.river
	r.Settings["sqlite"] = "journal_mode=WAL synchronous=FULL"
	r.Settings["gomaxprocs"] = strconv.Itoa(runtime.GOMAXPROCS(0))
	s.describeEngines(ctx)
}

// describeEngines asks the databases themselves.
func (s *session) describeEngines(ctx context.Context) {
	ask := func(driver, url, query string) string {
		db, err := sql.Open(driver, url)
		if err != nil {
			return "unknown: " + err.Error()
		}
		defer func() { _ = db.Close() }() // it was only read
		var answer string
		if err := db.QueryRowContext(ctx, query).Scan(&answer); err != nil {
			return "unknown: " + err.Error()
		}
		return answer
	}
	s.report.Versions["sqlite"] = ask("sqlite", ":memory:", "SELECT sqlite_version()")
	if s.admin == "" {
		return
	}
	s.report.Versions["postgresql"] = ask("pgx", s.admin, "SHOW server_version")
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		value := ask("pgx", s.admin, "SHOW "+name)
		s.report.Settings["postgresql."+name] = value
		if value != "on" {
			s.report.warnf("PostgreSQL has %s=%s: what it answers is not durable, so its figures do not count", name, value)
		}
	}
	s.report.Settings["postgresql.shared_buffers"] = ask("pgx", s.admin, "SHOW shared_buffers")
}

// versionOf is what a program says of itself, or that it is missing.
func versionOf(ctx context.Context, dir, name string, args ...string) string {
	text, err := output(ctx, dir, name, args...)
	if err != nil {
		return "unknown"
	}
	return text
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// procField reads "name: value" from a file of the kernel.
func procField(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// fileSystem names the type of the file system of a folder.
func fileSystem(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "unknown"
	}
	number := fmt.Sprintf("%#x", st.Type) // its type is not the same on every system
	names := map[string]string{"0xef53": "ext4", "0x58465342": "xfs", "0x9123683e": "btrfs", "0x1021994": "tmpfs", "0x794c7630": "overlayfs", "0x2fc12fc1": "zfs"}
	if name := names[number]; name != "" {
		return name
	}
	return "file system " + number
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentBytes is the memory that a process holds.
func residentBytes(pid int) (int64, error) { return memoryOf(pid, "VmRSS") }

// peakBytes is the most that it ever held.
func peakBytes(pid int) (int64, error) { return memoryOf(pid, "VmHWM") }

func memoryOf(pid int, name string) (int64, error) {
	field := procField(fmt.Sprintf("/proc/%d/status", pid), name)
	text, ok := strings.CutSuffix(field, " kB")
	if !ok {
		return 0, fmt.Errorf("read memory of process %d: %q", pid, field)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n << 10, err
}

// ticksPerSecond is the unit of processor times in /proc, on every Linux there is.
const ticksPerSecond = 100

// usage is what a process has used since its start.
type usage struct {
	processor time.Duration
	written   int64
}

// usageOf reads it from the kernel.
func usageOf(pid int) (used usage, err error) {
	text := firstLine(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := strings.Cut(text, ") ") // a name may hold spaces
	fields := strings.Fields(after)
	if !found || len(fields) < 13 {
		return used, fmt.Errorf("read processor time of process %d: %q", pid, text)
	}
	var ticks int64
	for _, field := range fields[11:13] { // in user and in system mode
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return used, fmt.Errorf("read processor time of process %d: %w", pid, err)
		}
		ticks += n
	}
	used.processor = time.Duration(ticks) * time.Second / ticksPerSecond
	used.written, err = strconv.ParseInt(procField(fmt.Sprintf("/proc/%d/io", pid), "write_bytes"), 10, 64)
	if err != nil {
		return used, fmt.Errorf("read what process %d wrote: %w", pid, err)
	}
	return used, nil
}

// loadNow is how many processes wanted to run in the last minute.
func loadNow() string {
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return load
}
