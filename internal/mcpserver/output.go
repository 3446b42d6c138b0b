package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
)

const (
	// maxOutput is how much of what processes wrote is shown with a run, outputEvents how
	// far back in its log that is looked for.
	maxOutput    = 4 << 10
	outputEvents = 50
)

// lastOutput is the end of what the processes of a run wrote. A run of the shell has
// nothing else to show.
func (s *Server) lastOutput(ctx context.Context, c *call, run *lineshaft.Run) (string, error) {
	var text string
	for end := run.LastSequence; end > 0 && len(text) <= maxOutput && run.LastSequence-end < outputEvents; {
		events, err := s.Control.EventsBefore(ctx, c.Caller, run.ID, end+1, outputEvents)
		if err != nil || len(events) == 0 {
			return "", err
		}
		text = outputOf(events) + text
		end = events[0].Sequence - 1
	}
	return ending(strings.TrimRight(text, "\r\n"), maxOutput), nil
}

func outputOf(events []lineshaft.Event) string {
	var b strings.Builder
	for i := range events {
		var wrote lineshaft.OutputData
		if e := &events[i]; e.Type == lineshaft.EventOutput && json.Unmarshal(e.Data, &wrote) == nil {
			b.WriteString(wrote.Text)
		}
	}
	return b.String()
}

// ending keeps the end of a long text and says so.
func ending(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	cut := len(text) - limit
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return fmt.Sprintf("(the last %d bytes) …%s", len(text)-cut, text[cut:])
}
