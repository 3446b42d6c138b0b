package id_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/id"
)

func TestH7IDsSortByCreationTime(t *testing.T) {
	t.Parallel()
	source := id.New(time.Now)
	var ids []string
	for range 10_000 {
		text, at := source.Next()
		got, ok := id.Time(text)
		if !ok || !got.Equal(at) {
			t.Fatalf("id %s carries %v (ok %v), made at %v", text, got, ok, at)
		}
		ids = append(ids, text)
	}
	if !slices.IsSorted(ids) {
		t.Fatal("ids of one source are not in order")
	}
}

func TestIDsAreUniqueAcrossGoroutines(t *testing.T) {
	t.Parallel()
	frozen := time.UnixMicro(1_700_000_000_000_000)
	source := id.New(func() time.Time { return frozen })
	var mu sync.Mutex
	seen := map[string]bool{}
	times := map[time.Time]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				text, at := source.Next()
				mu.Lock()
				seen[text], times[at] = true, true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 4000 || len(times) != 4000 {
		t.Fatalf("%d ids, %d times; want 4000 of each", len(seen), len(times))
	}
}

func TestTimeSurvivesEveryMicrosecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(0, 1<<47).Draw(t, "micros")).UTC()
		text := id.Floor(at)
		got, ok := id.Time(text)
		if !ok || !got.Equal(at) {
			t.Fatalf("%v became %v through %s", at, got, text)
		}
		later := id.Floor(at.Add(time.Microsecond))
		if text >= later {
			t.Fatalf("%s is not before %s", text, later)
		}
	})
}

func TestFloorIsBelowEveryIDOfItsTime(t *testing.T) {
	t.Parallel()
	source := id.New(time.Now)
	text, at := source.Next()
	if floor := id.Floor(at); text < floor {
		t.Fatalf("%s < floor %s", text, floor)
	}
	if next := id.Floor(at.Add(time.Microsecond)); text >= next {
		t.Fatalf("%s >= floor of the next microsecond %s", text, next)
	}
}

func TestTimeRefusesRubbish(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "0190a5b0-1234-4abc-8def-0123456789ab", "0190a5b0x1234-7abc-8def-0123456789ab", "zz90a5b0-1234-7abc-8def-0123456789ab"} {
		if _, ok := id.Time(text); ok {
			t.Errorf("Time(%q) was taken", text)
		}
	}
	if id.Valid("zz90a5b0-1234-7abc-8def-0123456789ab") {
		t.Error("Valid took a UUID with letters beyond f")
	}
}

func TestSecretHasItsBits(t *testing.T) {
	t.Parallel()
	if a, b := id.Secret(32), id.Secret(32); len(a) != 43 || a == b {
		t.Fatalf("secrets %q %q", a, b)
	}
}

func TestH7EnvironmentIDs(t *testing.T) {
	t.Parallel()
	seen := map[rune]int{}
	for range 2000 {
		text := id.Alphanumeric(22)
		if len(text) != 22 {
			t.Fatalf("%q has %d characters", text, len(text))
		}
		for _, c := range text {
			seen[c]++
		}
	}
	if a, b := id.Alphanumeric(22), id.Alphanumeric(22); a == b {
		t.Error("the same twice")
	}
	if len(seen) != 62 { // 44,000 draws: one that is missing, or comes half as often again, is no chance
		t.Errorf("%d characters are in use", len(seen))
	}
	for c, n := range seen {
		if n < 475 || n > 950 {
			t.Errorf("%c came %d times of about 710", c, n)
		}
	}
}
