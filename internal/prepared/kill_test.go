package prepared

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// killConfig has room for a few layers, so that some go while others come.
func killConfig(dir string) Config { return Config{Dir: dir, MaxBytes: 6 << 20, MaxAge: time.Hour} }

// keepUntilKilled makes layers of a tree, one after the other, until it is killed.
func keepUntilKilled(dir, source string) int {
	ctx := context.Background()
	s, err := Open(ctx, killConfig(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "ready")
	for {
		k, err := s.Key(recipe(strconv.Itoa(rand.IntN(12))))
		if err == nil {
			err = s.Keep(ctx, k, source, Facts{Made: time.Now(), Cost: time.Second})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		s.Wait()
	}
}

// a process that is killed while it keeps layers leaves whole ones, and nothing else
// that the next process would keep.
func TestX14KilledWhileKeeping(t *testing.T) {
	t.Parallel()
	rounds := 24
	if os.Getenv("LINESHAFT_SOAK") != "" {
		rounds = 200
	}
	dir, source := folderFor(t), fill(t, t.TempDir())
	want := describe(t, source)
	seen := 0
	for round := range rounds {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "keep", dir, source)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("round %d: it says %q, %v", round, line, err)
		}
		// The moment is what is tried here.
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		seen += checkStore(t, dir, want)
	}
	if seen == 0 {
		t.Error("no layer was ever there: nothing was tried")
	}
}

// checkStore opens what a killed process left and compares every layer.
func checkStore(t *testing.T, dir, want string) int {
	t.Helper()
	s, err := Open(t.Context(), killConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if entries, err := os.ReadDir(s.path("new")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	layers, bytes := s.Usage()
	if entries, err := os.ReadDir(s.path("layers")); err != nil || len(entries) != layers || bytes > s.config.MaxBytes {
		t.Errorf("%d layers of %d bytes, and the folders %v, %v", layers, bytes, entries, err)
	}
	for i := range 12 {
		l := s.Take(key(t, s, recipe(strconv.Itoa(i))))
		if l == nil {
			continue
		}
		to := folderFor(t)
		if err := l.CopyTo(t.Context(), to); err != nil {
			t.Errorf("layer %d: %v", i, err)
		} else if got := describe(t, to); got != want {
			t.Errorf("layer %d is\n%s\nwant\n%s", i, got, want)
		}
		l.Release()
	}
	return layers
}
