package runs

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// What comes together in one transaction is bounded, whether it is a few large events or
// many small ones.
func TestX1BatchesOfReportsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reports, events, bytes int
		full                   bool
	}{
		"an end":            {0, 0, 0, false},
		"a start":           {1, 0, 0, false},
		"a few events":      {1, 20, 1000, false},
		"many reports":      {64, 1, 10, true},
		"many small events": {1, 3000, 10, true},
		"half large events": {1, 200, 40_000, true},
		"a large event":     {1, 1, 5 << 20, true},
	} {
		events := slices.Repeat([]lineshaft.Draft{{Data: make([]byte, c.bytes)}}, c.events)
		w := &said{reports: slices.Repeat([]lineshaft.Report{{Events: events}}, c.reports)}
		if weight := w.weight(); weight < 1 || (weight >= maxSaidBatch) != c.full || !c.full && weight > 2 {
			t.Errorf("%s weighs %d of %d", name, weight, maxSaidBatch)
		}
	}
}
