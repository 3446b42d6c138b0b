package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// faultAgent is the word that makes the test program an agent.
const faultAgent = "ledger-agent"

const (
	agentBeat = 25 * time.Millisecond // between two signs of life
	agentLine = 50 * time.Millisecond // between two lines of output
)

// now is the clock that all processes of a machine share, whatever their dates say.
func now() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}

// playAgent is an agent that keeps a ledger in a folder outside: that it lives, every
// 25 ms, and each line before it prints it. It ignores what a polite agent would end
// at, holds a lock for its whole life, and runs until the test releases its run.
func playAgent(dir string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	base := filepath.Join(dir, os.Getenv("LINESHAFT_RUN_ID"))
	book, err := os.OpenFile(base+".ledger", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 1
	}
	life := fmt.Sprintf("%x-%x", os.Getpid(), now())
	note := func(what string, n int) { _, _ = fmt.Fprintf(book, "%s %s %d %d\n", life, what, n, now()) }
	fence, err := os.OpenFile(base+".fence", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return 1
	}
	if syscall.Flock(int(fence.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		note("second", os.Getpid())
	}
	note("begin", os.Getpid())
	go func() {
		for range time.Tick(agentBeat) {
			note("beat", 0)
		}
	}()
	n, last := 0, -1
	for range time.Tick(agentLine) {
		n++
		note("line", n)
		_, _ = fmt.Fprintln(os.Stdout, life, n) // a worker that is gone does not stop this agent
		if _, err := os.Stat(base + ".release"); err == nil && last < 0 {
			last = n + 3
		}
		if n == last {
			break
		}
	}
	note("end", n)
	return 0
}

// agentLife is what the ledger says about one life of an agent.
type agentLife struct {
	id          string
	pid         int
	begin, last time.Duration
	lines       int
	ended       bool
}

// text is all that the agent has said, or was about to say when it died.
func (l *agentLife) text() string {
	var b strings.Builder
	for n := range l.lines {
		fmt.Fprintln(&b, l.id, n+1)
	}
	return b.String()
}

// dead says whether nothing is left of the agent's process.
func (l *agentLife) dead() bool { return errors.Is(syscall.Kill(l.pid, 0), syscall.ESRCH) }

// agentLives reads the ledger of a run, the first life first.
func agentLives(t *testing.T, dir, runID string) []*agentLife {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, runID+".ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var lives []*agentLife
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) != 4 || !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		i := slices.IndexFunc(lives, func(l *agentLife) bool { return l.id == words[0] })
		if i < 0 {
			i, lives = len(lives), append(lives, &agentLife{id: words[0]})
		}
		lives[i].read(t, runID, words[1], words[2], words[3])
	}
	return lives
}

func (l *agentLife) read(t *testing.T, runID, what, number, at string) {
	t.Helper()
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	clock, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if l.begin == 0 {
		l.begin = time.Duration(clock)
	}
	l.last = max(l.last, time.Duration(clock))
	switch what {
	case "begin":
		l.pid = n
	case "line":
		l.lines = n
	case "end":
		l.ended = true
	case "second":
		t.Errorf("run %s: agent %s began while another one held the lock of the run", runID, l.id)
	}
}

// releaseAgent lets the agent of a run end on its own, in this life or the next.
func releaseAgent(t *testing.T, dir, runID string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, runID+".release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
