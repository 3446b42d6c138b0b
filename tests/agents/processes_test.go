package agents

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// lookAround lets the agent's own tool gather what it can see, in a file.
const lookAround = `{ env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; ` +
	`find /workspace /tmp /run /etc /dev/shm -type f ! -name lineshaft ! -name seen -exec cat {} + ; } >/tmp/seen 2>/dev/null; mv /tmp/seen seen; `

func uniqueMark() string { return fmt.Sprintf("86400.%d%d", os.Getpid(), time.Now().UnixNano()) }

// sleepers lists the live processes that sleep for the mark.
func sleepers(mark string) []string {
	return matching("cmdline", func(text string) bool { return strings.HasPrefix(text, "sleep\x00"+mark) })
}

// processes lists all that have the variables of this run: the agent and its tools.
func (s *stage) processes() []string {
	return matching("environ", func(text string) bool { return strings.Contains(text, "LINESHAFT_RUN_ID="+s.runID) })
}

func matching(file string, fits func(string) bool) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil && fits(string(text)) {
			found = append(found, dir)
		}
	}
	return found
}

// keysAreOutside looks for the model's real key and the secret of the tool server that
// is reached over HTTP: in the memory of all processes of the agent, and in what the
// agent itself could gather. It is called while a tool runs.
func (s *stage) keysAreOutside() {
	s.t.Helper()
	keys := map[string]string{"the model's key": s.realKey, "the secret of the tool server": s.web}
	processes, looked, began := s.processes(), 0, time.Now()
	defer func() { s.t.Logf("the search took %s", time.Since(began).Round(time.Millisecond)) }()
	for _, dir := range processes {
		memory(dir, func(part []byte) {
			looked += len(part)
			for name, key := range keys {
				if bytes.Contains(part, []byte(key)) {
					text, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
					s.t.Errorf("%s is in the memory of %q", name, text)
				}
			}
		})
	}
	var seen []byte
	err := filepath.WalkDir(s.cfg.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "seen" {
			seen, err = os.ReadFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server works in there: files and folders come and go
		}
		return err
	})
	if err != nil || len(processes) < 3 || looked < 10_000_000 || !bytes.Contains(seen, []byte("LINESHAFT_RUN_ID="+s.runID)) || !bytes.Contains(seen, []byte("ANTHROPIC_API_KEY=")) {
		s.t.Errorf("%d processes with %d bytes of memory were looked at, and %d bytes that the agent saw: that cannot be all; %v", len(processes), looked, len(seen), err)
	}
	for name, key := range keys {
		if bytes.Contains(seen, []byte(key)) {
			s.t.Errorf("the agent saw %s", name)
		}
	}
}

// memory shows what a process can write to and has in memory, part by part.
func memory(dir string, look func(part []byte)) {
	maps, err := os.ReadFile(filepath.Join(dir, "smaps"))
	if err != nil {
		return
	}
	file, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	part := make([]byte, 64<<20) // agents reserve much more in one piece, which is mostly empty
	var begin, size uint64
	for line := range strings.Lines(string(maps)) {
		if m := mapping.FindStringSubmatch(line); m != nil {
			begin, _ = strconv.ParseUint(m[1], 16, 63)
			end, _ := strconv.ParseUint(m[2], 16, 63)
			size = min(end-begin, uint64(len(part)))
			if m[3] != "rw" {
				size = 0
			}
		}
		if resident, ok := strings.CutPrefix(line, "Rss:"); ok && size > 0 && strings.TrimSpace(resident) != "0 kB" {
			n, _ := file.ReadAt(part[:size], int64(begin)) // some parts are the kernel's own
			look(part[:n])
		}
	}
}

// mapping is the first line of a part in smaps.
var mapping = regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) (rw)?`)
