package prepared

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/overlay"
)

// bulk is a folder of which two layers fit into a store of 250 KiB.
func bulk(t *testing.T) (source string, limit func(*Config)) {
	t.Helper()
	source = t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "file"), make([]byte, 96<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	return source, func(c *Config) { c.MaxBytes = 250 << 10 }
}

// layers that are made at the same time have their space before they take it.
func TestX14HalvesHaveTheirSpace(t *testing.T) {
	t.Parallel()
	source, limit := bulk(t)
	s := open(t, folderFor(t), limit)
	half := func(id string) error {
		if err := s.begin(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		return s.copyHalf(t.Context(), id, source, s.path("new", id), &Facts{})
	}
	if err := errors.Join(half("a"), half("b")); err != nil {
		t.Fatal(err)
	}
	if err := half("c"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a third is made: %v", err)
	}
	if _, err := os.Stat(s.path("new", "c")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it takes space: %v", err)
	}
	s.end("c")
	s.end("a") // given up
	if err := half("c"); err != nil {
		t.Errorf("what was given up still has its space: %v", err)
	}
	s.end("b")
	s.end("c")
}

// many that are kept at once are never more than there is space for, and nothing of those
// that do not fit is left.
func TestX14ManyAreKeptAtOnce(t *testing.T) {
	t.Parallel()
	source, limit := bulk(t)
	s := open(t, folderFor(t), limit)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			err := s.Keep(t.Context(), key(t, s, recipe(strconv.Itoa(i))), source, Facts{Made: time.Now()}, func(f Facts, err error) {
				if err != nil || f.Bytes == 0 {
					t.Errorf("layer %d of %d bytes: %v", i, f.Bytes, err)
				}
			})
			if err != nil && !errors.Is(err, ErrNoRoom) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.Close(t.Context())
	layers, bytes := s.Usage()
	if layers == 0 || bytes > s.config.MaxBytes || len(s.reserved) != 0 {
		t.Errorf("%d layers of %d bytes, reserved %v", layers, bytes, s.reserved)
	}
	if left, err := os.ReadDir(s.path("new")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// a store that is closed gives up what it cannot wait for.
func TestX14CloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, folderFor(t))
	if err := s.begin(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	half := s.path("new", "a")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	s.finishing.Go(func() {
		s.finish(Key{ID: "a"}, half, Facts{}, func(*Facts) error {
			<-s.life.Done() // as a copy that takes long
			return context.Cause(s.life)
		}, func(_ Facts, err error) { told <- err })
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Close(ctx)
	if err := <-told; !errors.Is(err, errClosed) {
		t.Errorf("the layer ends with %v", err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a layer is left: %v", err)
	}
	if err := s.begin(t.Context(), "b"); !errors.Is(err, ErrTaken) {
		t.Errorf("a closed store begins another layer: %v", err)
	}
}

// who is ended does not wait for another's look at a layer.
func TestX14CheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, source := open(t, folderFor(t)), fill(t, t.TempDir())
	k := key(t, s, recipe("1"))
	if err := s.Keep(t.Context(), k, source, Facts{Made: time.Now()}, nil); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	l := s.Take(k)
	defer l.Release()
	l.looking <- struct{}{} // another looks
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the look ends with %v", err)
	}
	<-l.looking
	if err := l.Check(t.Context()); err != nil {
		t.Errorf("the layer is not good any more: %v", err)
	}
}

// a small part of a large disk is room enough.
func TestX14RoomThatIsLeft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		free, more, all uint64
		fits            bool
	}{
		{12 << 30, 10 << 30, 252 << 30, true},
		{12 << 30, 10<<30 + 1, 252 << 30, false},
		{2 << 30, 0, 252 << 30, true},
		{2<<30 - 1, 0, 252 << 30, false},
		{2 << 20, 0, 40 << 20, true},
		{2<<20 - 1, 0, 40 << 20, false},
	} {
		if got := missing(tc.free, tc.more, tc.all) <= 0; got != tc.fits {
			t.Errorf("%d of %d, and %d more: %v", tc.free, tc.all, tc.more, got)
		}
	}
}

// what a try of overlays left when it was killed goes when the next worker starts, also where the
// folder has a relative name.
func TestX14KilledTryLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := folderFor(t)
	if err := overlay.Check(t.Context(), dir); err != nil {
		t.Skipf("no overlays on this machine: %v", err)
	}
	left := filepath.Join(dir, "overlay-check-1")
	if err := errors.Join(os.Mkdir(left, 0o700), overlay.Anchor(left)); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, dir)
	if err != nil {
		t.Fatal(err)
	}
	open(t, relative)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", errors.Join(err, overlay.Clear(left)))
	}
}

// A disk that somebody has mounted for environments is theirs.
func TestX14DiskOfEnvironmentsStaysMounted(t *testing.T) {
	t.Parallel()
	dir := folderFor(t)
	if err := overlay.Anchor(dir); err != nil {
		t.Skipf("no mounts on this machine: %v", err)
	}
	t.Cleanup(func() { _ = overlay.Clear(dir) })
	open(t, dir).Close(t.Context())
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(mounts), " "+dir+" ") {
		t.Errorf("it is no longer mounted: %v", err)
	}
}
