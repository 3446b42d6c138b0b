package worker

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

// maxEvent is the size of the largest event. Events travel whole, and the control
// plane takes no call of any size.
const maxEvent = 1 << 20

// fit makes an event small enough to be sent: its long texts are cut. What is too
// large without long texts is left out and a notice says so.
func (e *execution) fit(draft lineshaft.Draft) lineshaft.Draft {
	if len(draft.Data) <= maxEvent {
		return draft
	}
	size := len(draft.Data)
	decoder := json.NewDecoder(bytes.NewReader(draft.Data))
	decoder.UseNumber()
	var data any
	if decoder.Decode(&data) == nil {
		for most := maxEvent / 2; most >= 1<<10; most /= 4 {
			data = cutTexts(data, most)
			if raw, err := json.Marshal(data); err == nil && len(raw) <= maxEvent {
				draft.Data = raw
				return draft
			}
		}
	}
	return e.leftOut(draft.Type, size)
}

// leftOut stands for an event that cannot be sent.
func (e *execution) leftOut(kind lineshaft.EventType, size int) lineshaft.Draft {
	return e.noticeDraft("warning", fmt.Sprintf("An event of type %s with %d bytes was left out: it is too large.", kind, size))
}

// cutTexts cuts the texts in decoded JSON that are longer than most.
func cutTexts(value any, most int) any {
	switch v := value.(type) {
	case string:
		return cutText(v, most)
	case []any:
		for i := range v {
			v[i] = cutTexts(v[i], most)
		}
	case map[string]any:
		for key := range v {
			v[key] = cutTexts(v[key], most)
		}
	}
	return value
}

// cutMark is at the end of a text that was cut.
const cutMark = "… (cut)"

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return lineshaft.CutBytes(text, most-len(cutMark)) + cutMark
}
