package prepared

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/overlay"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// killOwner is whose the workspaces are.
const killOwner = 61003

// killed is what a worker has that is killed: layers, of which there is room for a few, so
// that some go while others come, and workspaces on top of them or with copies.
type killed struct {
	store      *Store
	workspaces *workspace.Manager
	overlays   bool
}

func openKilled(ctx context.Context, dir string) (*killed, error) {
	k := &killed{overlays: overlay.Check(ctx, dir) == nil}
	var err error
	if k.workspaces, err = workspace.NewManager(dir, workspace.Limits{}); err != nil {
		return nil, err
	}
	if _, err := k.workspaces.Adopt(ctx, time.Now().Add(time.Hour)); err != nil {
		return nil, err
	}
	k.store, err = Open(ctx, Config{Dir: filepath.Join(dir, "prepared"), MaxBytes: 6 << 20, MaxAge: time.Hour, Used: k.workspaces.Layers, Free: k.workspaces.Free})
	return k, err
}

func (k *killed) find(id string) (workspace.Layer, bool) {
	l := k.store.Find(id)
	if l == nil {
		return workspace.Layer{}, false
	}
	return workspace.Layer{ID: id, Dir: l.Tree(), Owner: killOwner}, true
}

// prepare makes a layer, and others go.
func (k *killed) prepare(ctx context.Context, source string) error {
	key, err := k.store.Key(recipe(strconv.Itoa(rand.IntN(12))))
	if err == nil {
		err = k.store.Keep(ctx, key, source, Facts{Made: time.Now(), Cost: time.Second}, nil)
	}
	k.store.Wait()
	return unlessFull(err)
}

// unlessFull lets those pass that do not fit: the others are in use.
func unlessFull(err error) error {
	if errors.Is(err, ErrNoRoom) {
		return nil
	}
	return err
}

// use has a run of its own start on a layer, change all it finds, and end.
func (k *killed) use(ctx context.Context, run string) (err error) {
	key, err := k.store.Key(recipe(strconv.Itoa(rand.IntN(12))))
	if err != nil {
		return err
	}
	l := k.store.Take(key)
	if l == nil {
		return nil
	}
	defer l.Release()
	w, err := k.workspaces.Open(ctx, workspace.OpenRequest{RunID: run, Number: 1, Preparing: true})
	if err != nil {
		return err
	}
	if k.overlays && rand.IntN(3) > 0 {
		if err = l.Check(ctx); err == nil {
			err = w.MountLayer(ctx, workspace.Layer{ID: l.ID(), Dir: l.Tree(), Owner: killOwner})
		}
	} else {
		err = l.CopyTo(ctx, w.Dir())
	}
	if err == nil {
		err = errors.Join(w.Prepared(), os.WriteFile(filepath.Join(w.Dir(), "mine"), []byte(run), 0o600),
			os.RemoveAll(filepath.Join(w.Dir(), "void")))
	}
	if written := w.Written(); err == nil && written != "" {
		over, keyErr := k.store.Key(recipe("over " + strconv.Itoa(rand.IntN(4))))
		err = errors.Join(keyErr, unlessFull(k.store.KeepOver(ctx, over, l, filepath.Dir(written), killOwner, Facts{Made: time.Now()}, nil)))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(w.Dir(), "big"), []byte(run), 0o600))
	until := time.Now().Add(time.Hour)
	switch rand.IntN(4) {
	case 0:
		until = time.Time{}
	case 1: // it makes way for other layers
		w.Stored()
	}
	return errors.Join(err, w.Release(ctx, until))
}

// workUntilKilled prepares, uses and evicts, at the same time, until it is killed.
func workUntilKilled(dir, source string) int {
	ctx := context.Background()
	k, err := openKilled(ctx, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "ready")
	failed := make(chan error)
	go func() {
		for {
			if err := k.prepare(ctx, source); err != nil {
				failed <- fmt.Errorf("prepare: %w", err)
			}
		}
	}()
	for i := range 2 {
		go func() {
			for n := 0; ; n++ {
				if err := k.use(ctx, fmt.Sprintf("run-%d-%d-%d", os.Getpid(), i, n)); err != nil {
					failed <- fmt.Errorf("use: %w", err)
				}
			}
		}()
	}
	fmt.Fprintln(os.Stderr, <-failed)
	return 1
}

// a process that is killed while it prepares, uses and evicts leaves whole layers,
// runs that can continue, and nothing that the next process would not give back.
func TestX14KilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := 24
	if os.Getenv("LINESHAFT_SOAK") != "" {
		rounds = 200
	}
	dir, source := folderFor(t), fill(t, t.TempDir())
	t.Cleanup(func() { _ = overlay.Clear(dir) })
	want := describe(t, source)
	within := int64(120*time.Millisecond + 3*timeOfALayer(t, source))
	layers, runs := 0, 0
	for round := range rounds {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "work", dir, source)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			_ = cmd.Wait()
			t.Fatalf("round %d: it says %q, %v: %s", round, line, err, complaints.String())
		}
		// The moment is what is tried here.
		timer := time.NewTimer(time.Duration(rand.Int64N(within)))
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if complaints.Len() > 0 {
			t.Errorf("round %d: %s", round, complaints.String())
		}
		l, r := checkKilled(t, dir, want)
		layers, runs = layers+l, runs+r
	}
	t.Logf("%d layers and %d workspaces were looked at in %d rounds", layers, runs, rounds)
	if layers == 0 || runs == 0 {
		t.Error("nothing was tried")
	}
}

// timeOfALayer is how long this machine takes to make one: some must be made before a kill.
func timeOfALayer(t *testing.T, source string) time.Duration {
	t.Helper()
	k, err := openKilled(t.Context(), folderFor(t))
	if err != nil {
		t.Fatal(err)
	}
	defer k.store.Close(context.WithoutCancel(t.Context()))
	began := time.Now()
	if err := k.prepare(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// checkKilled opens what a killed process left, compares every layer, and continues every
// run that was at work, which gives its space back.
func checkKilled(t *testing.T, dir, want string) (layers, runs int) {
	t.Helper()
	k, err := openKilled(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer k.store.Close(context.WithoutCancel(t.Context()))
	runs = goOn(t, k)
	s := k.store
	if entries, err := os.ReadDir(s.path("new")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if entries, err := os.ReadDir(s.path("views")); err == nil {
		t.Errorf("left behind: %v", entries)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "workspaces")); err != nil || len(entries) > 0 {
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
		if err := errors.Join(l.Check(t.Context()), l.CopyTo(t.Context(), to)); err != nil {
			t.Errorf("layer %d: %v", i, err)
		} else if got := describe(t, to); got != want {
			t.Errorf("layer %d is\n%s\nwant\n%s", i, got, want)
		}
		l.Release()
	}
	for i := range 4 { // those that were made of what a run had written
		l := s.Take(key(t, s, recipe("over "+strconv.Itoa(i))))
		if l == nil {
			continue
		}
		mine, err := os.ReadFile(filepath.Join(l.Tree(), "mine"))
		err = errors.Join(err, l.Check(t.Context()), l.CopyTo(t.Context(), folderFor(t)))
		if err != nil || !strings.HasPrefix(string(mine), "run-") {
			t.Errorf("layer %d over another has %q, %v", i, mine, err)
		}
		l.Release()
	}
	return layers, runs
}

// goOn continues every run that was left. One that had been made ready has its files.
func goOn(t *testing.T, k *killed) (runs int) {
	t.Helper()
	left, err := k.workspaces.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range left {
		w, err := k.workspaces.Open(t.Context(), workspace.OpenRequest{RunID: l.RunID, Number: 2, Keep: true, Layer: k.find})
		if err != nil {
			t.Fatal(err)
		}
		if w.Kept() {
			runs++
			text, err := os.ReadFile(filepath.Join(w.Dir(), "a/b/c"))
			mine, _ := os.ReadFile(filepath.Join(w.Dir(), "mine")) // it may have been killed before
			if err != nil || string(text) != "deep" || len(mine) > 0 && string(mine) != l.RunID {
				t.Errorf("%s has %q and %q, %v", l.RunID, text, mine, err)
			}
		}
		if err := w.Release(t.Context(), time.Time{}); err != nil {
			t.Error(err)
		}
	}
	return runs
}
