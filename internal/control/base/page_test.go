package base_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// Cursors go from one version to the next with a list that is being read: a field that is new in the filter may not change
// what lists without it are known by.
func TestD3CursorsOutliveAnUpgrade(t *testing.T) {
	t.Parallel()
	got, err := base.ListPrint(lineshaft.RunQuery{Sort: lineshaft.SortUpdated})
	if err != nil || got != "mss2hUFr9xI2AG9i" {
		t.Errorf("the list of all runs is %q, %v", got, err)
	}
}
