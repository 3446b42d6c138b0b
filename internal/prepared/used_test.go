package prepared

import (
	"testing"
	"time"
)

// a layer that a workspace is on top of stays, however old it is; others go although
// nobody prepares anything.
func TestX14SweepLeavesWhatIsUsed(t *testing.T) {
	t.Parallel()
	now, used := time.Now(), map[string]bool{}
	s := open(t, folderFor(t), func(c *Config) {
		c.Now, c.Used = func() time.Time { return now }, func() (map[string]bool, error) { return used, nil }
	})
	source := fill(t, t.TempDir())
	for _, commit := range []string{"1", "2"} {
		if err := s.Keep(t.Context(), key(t, s, recipe(commit)), source, Facts{Made: now}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Wait()
	used[key(t, s, recipe("2")).ID] = true
	now = now.Add(2 * time.Hour)
	sweep := func(want int) {
		t.Helper()
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if layers, _ := s.Usage(); layers != want {
			t.Errorf("%d layers, want %d", layers, want)
		}
	}
	sweep(1)
	id := key(t, s, recipe("2")).ID
	if l := s.Find(id); l == nil || l.ID() != id || s.Take(key(t, s, recipe("2"))) != nil {
		t.Errorf("for its workspace there is %v, and it is too old for others", l)
	}
	clear(used)
	sweep(0)
	if s.Find(id) != nil || s.TakeID(id) != nil {
		t.Error("it is still there")
	}
}
