package runs

import (
	"strings"
	"testing"
)

// H-14: a file of runs is bounded, and says so.
func TestH14ExportOfRunsEnds(t *testing.T) {
	t.Parallel()
	if why := exportEnd(maxExported-1, maxExportReads-1); why != "" {
		t.Error(why)
	}
	for _, why := range []string{exportEnd(maxExported, 1), exportEnd(0, maxExportReads)} {
		if !strings.HasPrefix(why, "the file ends here, after ") {
			t.Errorf("%q", why)
		}
	}
}
