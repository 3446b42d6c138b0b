package runs

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

// No state at all is a choice that no run fits, and not the choice of every state.
func TestS3NoStateIsNotEveryState(t *testing.T) {
	t.Parallel()
	none := []lineshaft.RunState{}
	if live := liveStates(none); len(live) != 0 || selects(none, lineshaft.Queued) {
		t.Errorf("none selects %v", live)
	}
	if live := liveStates(nil); len(live) == 0 || !selects(nil, lineshaft.Queued) {
		t.Errorf("all selects %v", live)
	}
}
