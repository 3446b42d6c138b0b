package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// The bounds of the transcript that an agent gets of what was before it. The end counts
// most, so the beginning is left out.
const (
	transcriptBytes  = 1 << 20
	transcriptRuns   = 50
	transcriptEvents = 2000
	// transcriptPart is how much of the input or the output of one tool is shown.
	transcriptPart = 2 << 10
)

// transcriptFor writes what was said and done in a conversation before an execution, for
// an agent that has no session to load.
func (s *Runs) transcriptFor(ctx context.Context, e *store.Execution) (io.ReadCloser, error) {
	run, err := s.Store.GetRun(ctx, e.RunID)
	if err != nil {
		return nil, err
	}
	runs, err := s.Store.ListConversationBefore(ctx, run.ConversationID, run.ID, transcriptRuns)
	if err != nil {
		return nil, err
	}
	runs = slices.Insert(runs, 0, store.ConversationRun{ID: run.ID, Title: run.Title})
	var parts []string
	left := transcriptBytes
	for _, one := range runs { // newest first
		if left <= 0 {
			break
		}
		events, err := s.Store.ListEventsBefore(ctx, one.ID, math.MaxInt64, transcriptEvents, int64(left))
		if err != nil {
			return nil, err
		}
		text := describeRun(one, events)
		left -= len(text)
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	return io.NopCloser(strings.NewReader("What was said and done before, oldest first. The beginning of a long conversation is left out.\n\n" + strings.Join(parts, "\n"))), nil
}

// describeRun writes a part of a run's log for an agent to read.
func describeRun(run store.ConversationRun, events []lineshaft.Event) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Run %s: %s\n", run.ID, run.Title)
	for _, e := range events {
		describeEvent(&out, e)
	}
	return out.String()
}

func describeEvent(out *strings.Builder, e lineshaft.Event) {
	switch e.Type {
	case lineshaft.EventMessage:
		var data lineshaft.MessageData
		if json.Unmarshal(e.Data, &data) == nil {
			fmt.Fprintf(out, "\n## %s\n\n%s\n", data.Role, data.Text)
		}
	case lineshaft.EventToolCall:
		var data struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(e.Data, &data) == nil {
			fmt.Fprintf(out, "\n## tool %s\n\n%s\n", data.Name, lineshaft.Clip(string(bytes.TrimSpace(data.Input)), transcriptPart))
		}
	case lineshaft.EventToolResult:
		var data struct {
			Name   string          `json:"name"`
			State  string          `json:"state"`
			Output json.RawMessage `json:"output"`
		}
		if json.Unmarshal(e.Data, &data) == nil {
			fmt.Fprintf(out, "\n## tool %s %s\n\n%s\n", data.Name, data.State, lineshaft.Clip(string(bytes.TrimSpace(data.Output)), transcriptPart))
		}
	case lineshaft.EventOutput:
		var data lineshaft.OutputData
		if json.Unmarshal(e.Data, &data) == nil && data.ToolCallID == "" {
			fmt.Fprintf(out, "\n## output\n\n%s\n", lineshaft.Clip(data.Text, transcriptPart))
		}
	case lineshaft.EventState, lineshaft.EventThought, lineshaft.EventPlan, lineshaft.EventUsage,
		lineshaft.EventPermission, lineshaft.EventArtifact, lineshaft.EventNotice:
	}
}
