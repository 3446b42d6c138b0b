package runs

import (
	"errors"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft/internal/stream"
)

// shareOut is what claims get that look at a queue one after the other, before any of
// them has taken its runs out.
func shareOut(queued int, limits ...int) []int {
	var lines claimLines
	hub := stream.NewHub()
	places := make([]*claimPlace, len(limits))
	for i := range limits {
		places[i] = lines.join("x", nil, hub)
	}
	shares := make([]int, len(limits))
	for i, p := range places {
		count, front := p.atFront(limits[i])
		if !front {
			continue // the one before found nothing and stays
		}
		shares[i] = p.take(min(queued, count), limits[i])
	}
	for _, p := range places {
		p.leave()
	}
	return shares
}

// missed lets two claims wait, of which the first finds that its run is gone; it says
// who is at the front then.
func missed() string {
	var lines claimLines
	hub := stream.NewHub()
	first, second := lines.join("x", nil, hub), lines.join("x", nil, hub)
	first.taken(first.take(1, 1), 0, nil)
	if _, front := second.atFront(1); front {
		return "second"
	}
	return "first"
}

// A claim takes an even share while others wait, and all that it can alone. What was
// promised to one is not given to the next.
func TestX2ClaimTakesItsShare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		queued int
		limits []int
		want   []int
	}{
		{"alone", 9, []int{5}, []int{5}},
		{"alone, few runs", 3, []int{5}, []int{3}},
		{"an even share", 12, []int{12, 12, 12, 12}, []int{3, 3, 3, 3}},
		{"more than there is room for", 100, []int{2, 2, 2}, []int{2, 2, 2}},
		{"small and large workers", 10, []int{1, 9, 9}, []int{1, 5, 4}},
		{"fewer runs than workers", 2, []int{4, 4, 4}, []int{1, 1, 0}},
		{"nothing", 0, []int{4, 4}, []int{0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := shareOut(tc.queued, tc.limits...); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// A claim that finds another node was faster waits at the front, and the next does not
// look in its place.
func TestX2WhoGotNothingIsFirstAgain(t *testing.T) {
	t.Parallel()
	if got := missed(); got != "first" {
		t.Errorf("%s is at the front", got)
	}
}

// A claim that got all it asked for does not count what is queued the next time, unless
// others share it or are about to take some; after one that got less, it counts.
func TestX2ClaimThatWasFullLooksNoMore(t *testing.T) {
	t.Parallel()
	var lines claimLines
	p := lines.join("x", nil, stream.NewHub())
	defer p.leave()
	counts := func() int {
		count, _ := p.atFront(5)
		return count
	}
	again := func(got int, err error) {
		p.taken(p.take(5, 5), got, err)
		p.line.places = []*claimPlace{p} // it comes again
	}
	if counts() != 5 {
		t.Error("the first claim does not look")
	}
	again(5, nil)
	if counts() != 0 {
		t.Error("it looks although the last was full")
	}
	p.line.promised = 3
	if counts() != 8 {
		t.Error("it does not look although others take some")
	}
	p.line.promised = 0
	other := lines.join("x", nil, nil)
	if counts() != 10 {
		t.Error("it does not look although another waits")
	}
	other.leave()
	for name, err := range map[string]error{"got less": nil, "failed": errors.New("no database")} {
		again(5, nil)
		again(0, err)
		if counts() != 5 {
			t.Errorf("it does not look although the last one %s", name)
		}
	}
}
