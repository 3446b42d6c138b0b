package mcpserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Paging is how a list goes on.
type Paging struct {
	NextCursor string `json:"next_cursor,omitempty" doc:"There is more: give it as cursor, with the same filters."`
}

// lines joins the lines of a list, with what to say when there are none and how to go on.
func lines(none string, list []string, next string) string {
	if len(list) == 0 {
		list = []string{none}
	}
	if next != "" {
		list = append(list, fmt.Sprintf("There is more: call again with cursor %s", next))
	}
	return strings.Join(list, "\n")
}

// stamp shows a time; the zero time is nothing.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// moment reads a time that was given as text; none is the zero time.
func moment(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, lineshaft.Invalid(field, "%s is no time; write it as 2026-01-31T12:00:00Z", quoted(text))
	}
	return at, nil
}
