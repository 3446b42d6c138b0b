package cron

import (
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Bounds of @every.
const (
	MinEvery = time.Minute
	MaxEvery = 8760 * time.Hour
)

// Schedule is a timing that could be read.
type Schedule struct {
	zone   *time.Location
	fields fields
	// every is above zero for @every, which has no fields.
	every  time.Duration
	anchor time.Time
}

// Slot is one time at which a schedule fires.
type Slot struct {
	At time.Time
	// Name is the same for one slot on every node and in every process.
	Name string
}

// names are the expressions that have one.
var names = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
	"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads a timing. Errors are *lineshaft.Error about the field "cron" or
// "timezone". Slots of @every count from 1970 until Anchored says otherwise.
func Parse(t lineshaft.Timing) (*Schedule, error) {
	zone, err := loadZone(t.Timezone)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(t.Cron)
	if rest, ok := strings.CutPrefix(text, "@every"); ok {
		every, err := parseEvery(rest)
		if err != nil {
			return nil, err
		}
		return &Schedule{zone: zone, every: every, anchor: time.Unix(0, 0)}, nil
	}
	if strings.HasPrefix(text, "@") {
		named, ok := names[strings.ToLower(text)]
		if !ok {
			return nil, lineshaft.Invalid("cron", "%q is not one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually and @every 1h", lineshaft.Clip(text, 60))
		}
		text = named
	}
	fields, err := parseFields(text)
	if err != nil {
		return nil, err
	}
	return &Schedule{zone: zone, fields: fields}, nil
}

// Anchored is the schedule with @every counted from at, cut to its second. Other
// schedules stay as they are.
func (s *Schedule) Anchored(at time.Time) *Schedule {
	if s.every == 0 {
		return s
	}
	anchored := *s
	anchored.anchor = at.Truncate(time.Second)
	return &anchored
}

// Every is the distance of an @every schedule, and zero for others.
func (s *Schedule) Every() time.Duration { return s.every }

// Zone is the time zone that the schedule works in.
func (s *Schedule) Zone() *time.Location { return s.zone }

func parseEvery(text string) (time.Duration, error) {
	every, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || !strings.HasPrefix(text, " ") {
		return 0, lineshaft.Invalid("cron", "after @every comes a blank and a duration such as 90s, 15m or 36h")
	}
	if every < MinEvery || every > MaxEvery {
		return 0, lineshaft.Invalid("cron", "@every takes 1m to 8760h (a year), not %s; write for example @every 1h", every)
	}
	if every%time.Second != 0 {
		return 0, lineshaft.Invalid("cron", "@every takes whole seconds, not %s; write for example @every 90s", every)
	}
	return every, nil
}
