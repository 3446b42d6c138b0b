package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// Paging is how a list goes on.
type Paging struct {
	NextCursor string `json:"next_cursor,omitempty" doc:"There is more: give it as cursor, with the same filters."`
}

// maxItems is where the items of an answer end (H-14). The text of an answer is shorter than
// its items, so that both stay within the 8 MiB of a page of the API.
const maxItems = 4 << 20

// showPage shows the items of a page until they are too long; the page then ends there.
func showPage[T, W any](page *base.Page[T], show func(*T) W) ([]W, error) {
	shown, cut, err := showWithin(page.Items, show)
	if err == nil && cut {
		err = page.Cut(len(shown))
	}
	return shown, err
}

// showWithin shows items until they have maxItems bytes, but at least one. Cut says that
// there are more.
func showWithin[T, W any](items []T, show func(*T) W) (shown []W, cut bool, err error) {
	shown = []W{}
	left := maxItems
	for i := range items {
		item := show(&items[i])
		length, err := lengthOf(item)
		if err != nil {
			return nil, false, err
		}
		if left -= length; left < 0 && i > 0 {
			return shown, true, nil
		}
		shown = append(shown, item)
	}
	return shown, false, nil
}

// lengthOf is how long something is in an answer.
func lengthOf(item any) (int, error) {
	text, err := json.Marshal(item)
	if err != nil {
		return 0, fmt.Errorf("encode answer: %w", err)
	}
	return len(text), nil
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
