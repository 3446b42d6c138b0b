package e2e

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// jumpClock makes the date of one process wrong by a number of seconds, from now on.
// The kernel has no date per process, but each process has its own copy of the code
// that reads it (the vDSO): that is replaced by a system call and an addition. Only
// the date jumps, as it does when somebody sets it; the monotonic clock goes on.
func jumpClock(t *testing.T, pid, seconds int) {
	t.Helper()
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: the date is clock 0
		0x75, 0x07, // jne to the ret
		0x48, 0x81, 0x06, // add qword [rsi], the seconds
	}
	code = append(code, byte(seconds), byte(seconds>>8), byte(seconds>>16), byte(seconds>>24), 0xc3) // ret
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	entry := clockEntry(t, memory, pid)
	// No thread may be inside of what is replaced.
	eventually(t, "no thread of the worker reads its clock", func() bool {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // it lives, or the next line fails
		eventually(t, "the worker stands still", func() bool { return standsStill(t, pid) })
		if busyAt(t, pid, entry, entry+uint64(len(code))) {
			return false
		}
		if _, err := memory.WriteAt(code, int64(entry)); err != nil {
			t.Fatalf("write to the memory of the worker: %v", err)
		}
		return true
	})
}

// canJump says whether jumpClock works here. A full test has to be where it does.
func canJump(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return true
	}
	reason := fmt.Sprintf("the clock of a process can be changed on linux/amd64 only, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	if os.Getenv("LINESHAFT_TEST_FULL") != "" {
		t.Fatal(reason)
	}
	t.Log(reason + ": that fault is left out")
	return false
}

// clockEntry finds the function that reads the clock in a process.
func clockEntry(t *testing.T, memory *os.File, pid int) uint64 {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	var from, to uint64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				t.Fatal(err)
			}
		}
	}
	image := make([]byte, to-from)
	if _, err := memory.ReadAt(image, int64(from)); err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return from + s.Value
		}
	}
	t.Fatal("the process has no __vdso_clock_gettime")
	return 0
}

// standsStill says whether all threads of a process are stopped.
func standsStill(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return true
}

// busyAt says whether a stopped thread is about to execute something of a range.
func busyAt(t *testing.T, pid int, from, to uint64) bool {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // the pattern is good
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		words := strings.Fields(string(raw))
		if err != nil || len(words) == 0 {
			t.Fatalf("%s: %q, %v", thread, raw, err)
		}
		var at uint64
		if _, err := fmt.Sscanf(words[len(words)-1], "0x%x", &at); err != nil || at >= from && at < to {
			return true
		}
	}
	return false
}
