package factories

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// timingWords says when something is due, with the time zone that it is meant in.
func timingWords(t lineshaft.Timing) string {
	return cmp.Or(cronWords(t.Cron), "On schedule "+t.Cron) + ", " + cmp.Or(t.Timezone, "UTC")
}

// timingNames are the timings that have a name.
var timingNames = map[string]string{
	"@yearly": "Every 1 January at 00:00", "@annually": "Every 1 January at 00:00", "@monthly": "On day 1 of each month at 00:00",
	"@weekly": "Every Sunday at 00:00", "@daily": "Every day at 00:00", "@midnight": "Every day at 00:00", "@hourly": "Every hour",
}

// cronWords puts the common expressions into people's words. Those that it does not know it
// shows as written; whether an expression is valid is checked elsewhere.
func cronWords(cron string) string {
	cron = strings.ToLower(strings.TrimSpace(cron))
	if words := timingNames[cron]; words != "" {
		return words
	}
	if every, ok := strings.CutPrefix(cron, "@every "); ok {
		return everyWords(strings.TrimSpace(every))
	}
	fields := strings.Fields(cron)
	if len(fields) != 5 || fields[3] != "*" {
		return ""
	}
	minute, hour, day, week := fields[0], fields[1], fields[2], fields[4]
	if hour == "*" {
		if day != "*" || week != "*" {
			return ""
		}
		return minuteWords(minute)
	}
	at, ok := clockWords(minute, hour)
	switch {
	case !ok:
		return ""
	case day == "*" && week == "*":
		return "Every day at " + at
	case day == "*":
		return weekWords(week, at)
	case week == "*":
		if n, err := strconv.Atoi(day); err == nil && n >= 1 && n <= 31 {
			return fmt.Sprintf("On day %d of each month at %s", n, at)
		}
	}
	return ""
}

func everyWords(text string) string {
	every, err := time.ParseDuration(text)
	if err != nil || every <= 0 {
		return ""
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if every%unit.size == 0 {
			return everyUnit(int(every/unit.size), unit.name)
		}
	}
	return ""
}

func everyUnit(n int, unit string) string {
	if n == 1 {
		return "Every " + unit
	}
	return fmt.Sprintf("Every %d %ss", n, unit)
}

func minuteWords(minute string) string {
	if minute == "*" {
		return "Every minute"
	}
	if step, ok := strings.CutPrefix(minute, "*/"); ok {
		// A step that does not divide the hour has a shorter one at its end.
		if n, err := strconv.Atoi(step); err == nil && n > 0 && n < 60 && 60%n == 0 {
			return everyUnit(n, "minute")
		}
		return ""
	}
	if n, err := strconv.Atoi(minute); err == nil && n >= 0 && n < 60 {
		return fmt.Sprintf("Every hour at minute %d", n)
	}
	return ""
}

func clockWords(minute, hour string) (string, bool) {
	m, err := strconv.Atoi(minute)
	if err != nil || m < 0 || m > 59 {
		return "", false
	}
	var times []string
	for one := range strings.SplitSeq(hour, ",") {
		h, err := strconv.Atoi(one)
		if err != nil || h < 0 || h > 23 {
			return "", false
		}
		times = append(times, fmt.Sprintf("%02d:%02d", h, m))
	}
	return strings.Join(times, " and "), len(times) <= 2
}

func weekWords(week, at string) string {
	if from, to, ok := strings.Cut(week, "-"); ok {
		first, last := weekday(from), weekday(to)
		if first == "" || last == "" {
			return ""
		}
		return first + " to " + last + " at " + at
	}
	var days []string
	for one := range strings.SplitSeq(week, ",") {
		day := weekday(one)
		if day == "" {
			return ""
		}
		days = append(days, day)
	}
	return "Every " + strings.Join(days, " and ") + " at " + at
}

func weekday(text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 7 {
		return time.Weekday(n % 7).String()
	}
	for day := range 7 {
		if name := time.Weekday(day).String(); strings.ToLower(name[:3]) == text {
			return name
		}
	}
	return ""
}
