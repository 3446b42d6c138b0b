package workspace

import (
	"testing"
	"time"
)

// A folder that was never made ready is in nobody's way: the next execution, even
// after this worker died, starts with an empty one.
func TestX4OnlyPreparedWorkspacesAreKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		preparing, prepared, died bool
		kept                      bool
	}{
		"nothing to prepare":      {false, false, false, true},
		"prepared":                {true, true, false, true},
		"half":                    {true, false, false, false},
		"died when prepared":      {true, true, true, true},
		"died half-way":           {true, false, true, false},
		"died, nothing to do yet": {false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, Limits{})
			w := open(t, m, OpenRequest{RunID: "run-1", Number: 1, Preparing: test.preparing})
			write(t, w, "file", "x")
			if test.prepared {
				if err := w.Prepared(); err != nil {
					t.Fatal(err)
				}
			}
			if test.died { // its successor has the same folder and none of the memory
				next, err := NewManager(m.dir+"/..", Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if left, err := next.Adopt(t.Context(), time.Now().Add(time.Hour)); err != nil || len(left) != 1 {
					t.Fatalf("adopted %+v, %v", left, err)
				}
				m = next
			} else if err := w.Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			second := open(t, m, OpenRequest{RunID: "run-1", Number: 2, Keep: true, Preparing: test.preparing})
			if second.Kept() != test.kept {
				t.Errorf("kept %v, want %v", second.Kept(), test.kept)
			}
			if err := second.Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			// A kept one stays ready; one that was made again is not.
			third := open(t, m, OpenRequest{RunID: "run-1", Number: 3, Keep: true, Preparing: test.preparing})
			if third.Kept() != test.kept {
				t.Errorf("then kept %v, want %v", third.Kept(), test.kept)
			}
		})
	}
}
