package git

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedClient is a client with mirrors in a folder that outlives it.
func killedClient(cache string) (*Client, error) {
	return New(Config{Cache: cache, AllowFile: true, MaxMirrors: 1 << 30})
}

// cloneUntilKilled clones again and again, twice at the same time, until it is killed.
func cloneUntilKilled(cache, url, dir string) int {
	c, err := killedClient(cache)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	failed := make(chan error)
	for i := range 2 {
		go func() {
			for n := 0; ; n++ {
				to := filepath.Join(dir, fmt.Sprint(os.Getpid(), "-", i, "-", n))
				_, err := c.Clone(context.Background(), url, to, "") // a process of its own: it lives until it is killed
				if err == nil {
					err = os.RemoveAll(to)
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	fmt.Fprintln(os.Stdout, "ready")
	fmt.Fprintln(os.Stderr, <-failed)
	return 1
}

// killSession kills a process, and each git that it has started (on Linux).
func killSession(t *testing.T, leader int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// Behind the name, which may have anything in it: state, parent, group, session.
		fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) > 3 && fields[3] == strconv.Itoa(leader) && pid != leader {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// halvesIn are the files of fetches that were not completed.
func halvesIn(mirrors string) (halves []string) {
	for _, pattern := range []string{"pack", "??"} {
		found, _ := filepath.Glob(filepath.Join(mirrors, "*.git", "objects", pattern, "tmp_*"))
		halves = append(halves, found...)
	}
	return halves
}

// a process that is killed, with its git or alone, while it makes a mirror, fetches into it and clones from it, leaves one
// that gives the next process what the host has, and the next fetch gives back what half a fetch has taken.
func TestX14MirrorOfAKilledProcess(t *testing.T) {
	t.Parallel()
	rounds := 5
	if os.Getenv("LINESHAFT_SOAK") != "" {
		rounds = 60
	}
	root, cache, dir := t.TempDir(), t.TempDir(), t.TempDir()
	t.Cleanup(func() { // some git may still write there
		if err := errors.Join(remove(context.WithoutCancel(t.Context()), cache), remove(context.WithoutCancel(t.Context()), dir)); err != nil {
			t.Error(err)
		}
	})
	o := newOrigin(t, filepath.Join(root, "o", "r.git"))
	url := httpForge(t, root, "").URL + "/o/r.git"
	noise := make([]byte, 100_000)
	push := func() string {
		t.Helper()
		_, _ = rand.Read(noise) // never fails
		return o.push("main", map[string]string{"noise": string(noise)})
	}
	c, err := killedClient(cache)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	clone := func() {
		t.Helper()
		want, to := push(), filepath.Join(t.TempDir(), "w")
		began = time.Now()
		if got, err := c.Clone(t.Context(), url, to, ""); err != nil || got != want {
			t.Fatalf("cloned %s, %v; want %s", got, err, want)
		}
		shell(t, to, "fsck", "--full")
		if left := halvesIn(filepath.Join(cache, "mirrors")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	clone()
	within, halves := time.Since(began), 0
	for round := range rounds {
		push()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "clone", cache, url, dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			_ = cmd.Wait()
			t.Fatalf("round %d: %v: %s", round, err, complaints.String())
		}
		// The moment is what is tried here.
		timer := time.NewTimer(time.Duration(mathrand.Int64N(int64(within))))
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if round%4 > 0 {
			killSession(t, cmd.Process.Pid)
		} else {
			t.Cleanup(func() { killSession(t, cmd.Process.Pid) })
		}
		_ = cmd.Wait() // it was killed
		if complaints.Len() > 0 {
			t.Errorf("round %d: %s", round, complaints.String())
		}
		halves += len(halvesIn(filepath.Join(cache, "mirrors")))
		clone()
	}
	t.Logf("%d kills left %d halves of fetches", rounds, halves)
}

// what a killed fetch has left goes with the next one, and does not count as a part of the repository.
func TestX14HalvesOfAMirrorGo(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "", func(cfg *Config) { cfg.MaxMirrors = 2 << 20 })
	m.o.push("main", map[string]string{"a": "1"})
	m.clone(t, "")
	half := strings.Repeat("x", 3<<20)
	write(t, filepath.Join(m.mirror(t), "objects/pack/tmp_pack_AbCdEf"), half)
	write(t, filepath.Join(m.mirror(t), "objects/5b/tmp_obj_AbCdEf"), half)
	commit := m.o.push("main", map[string]string{"a": "2"})
	if _, got := m.clone(t, ""); got != commit {
		t.Errorf("cloned %s, want %s", got, commit)
	}
	if left := halvesIn(m.path("mirrors")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := os.Stat(m.mirror(t) + ".large"); err == nil {
		t.Error("the repository is taken for a large one")
	}
}
