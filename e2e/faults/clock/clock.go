//go:build linux

// Package clock makes the date of one process wrong, for tests of what goes wrong then.
package clock

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Jump makes the date of one process wrong by a number of seconds, from now on.
// The kernel has no date per process, but each process has its own copy of the code
// that reads it (the vDSO): that is replaced by a system call and an addition. Only
// the date jumps, as it does when someone sets it; the monotonic clock continues.
// It works on amd64.
func Jump(ctx context.Context, pid, seconds int) error {
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
		return fmt.Errorf("open the memory of process %d: %w", pid, err)
	}
	defer func() { _ = memory.Close() }()
	entry, err := findEntry(memory, pid)
	if err != nil {
		return err
	}
	for done := false; !done; {
		if done, err = replace(ctx, memory, pid, entry, code); err != nil {
			return fmt.Errorf("change the clock of process %d: %w", pid, err)
		}
	}
	return nil
}

// replace stops the process and replaces the code, unless a thread is inside of it.
func replace(ctx context.Context, memory *os.File, pid int, entry uint64, code []byte) (done bool, err error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)) }()
	for tick := time.NewTicker(time.Millisecond); ; {
		still, err := standsStill(pid)
		if err != nil {
			return false, err
		}
		if still {
			tick.Stop()
			break
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
	}
	busy, err := busyAt(pid, entry, entry+uint64(len(code)))
	if err != nil || busy {
		return false, errors.Join(err, ctx.Err())
	}
	_, err = memory.WriteAt(code, int64(entry))
	return true, err
}

// findEntry finds the function that reads the clock in a process.
func findEntry(memory *os.File, pid int) (uint64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	var from, to uint64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return 0, err
			}
		}
	}
	image := make([]byte, to-from)
	if _, err := memory.ReadAt(image, int64(from)); err != nil {
		return 0, err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return from + s.Value, nil
		}
	}
	return 0, errors.New("the process has no __vdso_clock_gettime")
}

// standsStill says whether all threads of a process are stopped.
func standsStill(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, fmt.Errorf("process %d has no threads: %w", pid, err)
	}
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		if err != nil {
			return false, nil //nolint:nilerr // a thread that has ended: look again
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if !strings.HasPrefix(rest, "T") {
			return false, nil
		}
	}
	return true, nil
}

// busyAt says whether a stopped thread is about to execute something of a range.
func busyAt(pid int, from, to uint64) (bool, error) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // the pattern is good
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		words := strings.Fields(string(raw))
		if err != nil || len(words) == 0 {
			return false, fmt.Errorf("%s: %q: %w", thread, raw, err)
		}
		var at uint64
		if _, err := fmt.Sscanf(words[len(words)-1], "0x%x", &at); err != nil || at >= from && at < to {
			return true, nil //nolint:nilerr // what cannot be read may be anywhere
		}
	}
	return false, nil
}
