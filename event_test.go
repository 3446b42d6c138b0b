package lineshaft_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestR9DraftHoldsItsData(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	draft := lineshaft.NewDraft(lineshaft.EventState, at, lineshaft.StateData{From: lineshaft.Queued, To: lineshaft.Pending, Worker: "w1"})
	if draft.Type != lineshaft.EventState || !draft.Time.Equal(at) {
		t.Errorf("draft is %+v", draft)
	}
	if got, want := string(draft.Data), `{"from":"QUEUED","to":"PENDING","worker":"w1"}`; got != want {
		t.Errorf("data is %s, want %s", got, want)
	}
}

// An event that cannot be encoded still takes its place in the log.
func TestR9DraftThatCannotBeEncodedBecomesANotice(t *testing.T) {
	t.Parallel()
	draft := lineshaft.NewDraft(lineshaft.EventToolCall, time.Unix(1, 0), lineshaft.ToolCallData{ID: "1", Input: map[string]any{"x": math.Inf(1)}})
	if draft.Type != lineshaft.EventNotice {
		t.Fatalf("it became %s", draft.Type)
	}
	var notice lineshaft.NoticeData
	if err := json.Unmarshal(draft.Data, &notice); err != nil || notice.Level != "error" || notice.Text == "" {
		t.Errorf("notice is %s (%v)", draft.Data, err)
	}
}

func TestR9TextOfProcessesIsMadeValid(t *testing.T) {
	t.Parallel()
	draft := lineshaft.NewDraft(lineshaft.EventOutput, time.Unix(1, 0), lineshaft.OutputData{Stream: "stdout", Text: "a\xff\x00b"})
	var out lineshaft.OutputData
	if err := json.Unmarshal(draft.Data, &out); err != nil || out.Text != "a\ufffd\x00b" {
		t.Errorf("text is %q (%v)", out.Text, err)
	}
}
