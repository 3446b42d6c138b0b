package definition

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/cron"
)

// schedule is a cron expression, or an object with its name and time zone.
func schedule(to **lineshaft.Timing) value {
	long := option(to, timingKeys)
	plain := textRules{filled: true, most: 256}
	return value{
		read: func(r *reader, path string, n *node) {
			v := &lineshaft.Timing{}
			before := len(r.problems)
			if n.kind != textNode {
				r.object(path, n, timingKeys(v))
			} else if s, ok := r.readText(path, n, plain); ok {
				v.Cron = s
			}
			r.checkTiming(path, *v)
			if len(r.problems) == before {
				*to = v
			}
		},
		write: func() *node {
			n := long.write()
			if n != nil && len(n.fields) == 1 && n.fields[0].key == "cron" {
				return n.fields[0].value
			}
			return n
		},
		schema: func() schema { return schema{"oneOf": []any{plain.schema(), long.schema()}} },
	}
}

func timingKeys(t *lineshaft.Timing) []key {
	return []key{
		{name: "name", doc: "What tells it apart from other schedules of the automation.", null: sameAsAbsent, value: text(&t.Name, textRules{filled: true, trim: true, most: lineshaft.MaxNameRunes})},
		{name: "cron", doc: "Five fields, @daily and the like, or @every 1h.", required: true, value: text(&t.Cron, textRules{filled: true, most: 256})},
		{name: "timezone", doc: "An IANA name such as Europe/Berlin; UTC by default.", value: text(&t.Timezone, textRules{})},
		{name: "overlap", doc: "What a fire does while the last run is live: skip it, or queue.", value: text(&t.Overlap, textRules{words: []string{string(lineshaft.OverlapSkip), string(lineshaft.OverlapQueue)}})},
	}
}

// checkTiming reads a cron expression and a time zone, each by itself, so that one
// mistake does not hide the other.
func (r *reader) checkTiming(path string, t lineshaft.Timing) {
	if t.Cron != "" {
		if err := (lineshaft.Timing{Cron: t.Cron}).Validate(""); err != nil {
			r.blame(err, path)
		} else if _, err := cron.Parse(lineshaft.Timing{Cron: t.Cron}); err != nil {
			r.blame(err, path)
		}
	}
	if _, err := cron.Parse(lineshaft.Timing{Cron: "@daily", Timezone: t.Timezone}); err != nil {
		r.blame(err, path)
	}
}
