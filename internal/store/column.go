package store

import (
	"encoding/json"
	"fmt"
	"time"
)

// toTime, toFlag, toJSON and toText are where a scan puts columns that hold microseconds, 0 or 1,
// JSON, and a text or NULL. What must outlive damaged JSON scans a text: on PostgreSQL an error of
// a scan ends the transaction.
func toTime(t *time.Time) any { return (*timeColumn)(t) }
func toFlag(b *bool) any      { return (*flagColumn)(b) }
func toJSON(into any) any     { return jsonColumn{into} }
func toText(s *string) any    { return (*textColumn)(s) }

type (
	spanColumn time.Duration
	timeColumn time.Time
	flagColumn bool
	textColumn string
	jsonColumn struct{ into any }
)

// Scan reads seconds.
func (c *spanColumn) Scan(value any) error {
	n, ok := value.(int64)
	*c = spanColumn(time.Duration(n) * time.Second)
	return scanned(ok, value)
}

// Scan reads microseconds.
func (c *timeColumn) Scan(value any) error {
	n, ok := value.(int64)
	*c = timeColumn(fromMicros(n))
	return scanned(ok, value)
}

// Scan reads 0 or 1.
func (c *flagColumn) Scan(value any) error {
	n, ok := value.(int64)
	*c = n == 1
	return scanned(ok, value)
}

// Scan reads a text; NULL is none.
func (c *textColumn) Scan(value any) error {
	text, ok := value.(string)
	*c = textColumn(text)
	return scanned(ok || value == nil, value)
}

// Scan reads JSON.
func (c jsonColumn) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return scanned(false, value)
	}
	if err := json.Unmarshal([]byte(text), c.into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

func scanned(ok bool, value any) error {
	if !ok {
		return fmt.Errorf("a column holds %T", value)
	}
	return nil
}
