package runs

import (
	"strings"
	"testing"
)

func TestR6FollowupOutcomes(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]string{
		"queued_prompt": "part of its prompt", "live_session": "next turn", "handoff_execution": "queued again", "queue_pending": "for later", "later\x1b[2Jword": "laterword",
	} {
		if got := outcomeText(outcome, false); !strings.Contains(got, want) {
			t.Errorf("%s: %q", outcome, got)
		}
	}
}
