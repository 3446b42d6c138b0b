package cron

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// fields are the five of an expression, as sets of bits.
type fields struct {
	minutes, hours, days, months, weekdays uint64
	// either says that a day need fit only one of days and weekdays.
	either bool
}

// kind is what there is to know of one of the five.
type kind struct {
	name  string
	low   int
	high  int
	words []string // the first stands for low
}

// kinds are in the order of an expression.
var kinds = [5]kind{
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day of the month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, words: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{name: "day of the week", low: 0, high: 7, words: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

// term is one element of a field's list.
var term = regexp.MustCompile(`^(?:\*|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:/([0-9]{1,2}))?$`)

// parseFields reads exactly five fields and refuses those that never come true.
func parseFields(text string) (fields, error) {
	words := strings.Fields(strings.ReplaceAll(text, "?", "*"))
	if len(words) > 0 && strings.Contains(words[0], "TZ=") {
		return fields{}, lineshaft.Invalid("cron", "takes no %q; name the time zone in timezone", lineshaft.Clip(words[0], 60))
	}
	if len(words) != len(kinds) {
		return fields{}, lineshaft.Invalid("cron", "needs five fields (minute, hour, day of the month, month, day of the week) and has %d; there are none for seconds and years. Examples: \"0 9 * * 1-5\", @daily, @every 1h", len(words))
	}
	var sets [len(kinds)]uint64
	for i, k := range kinds {
		set, err := k.parse(strings.ToUpper(words[i]))
		if err != nil {
			return fields{}, err
		}
		sets[i] = set
	}
	f := fields{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4]}
	f.either = !strings.HasPrefix(words[2], "*") && !strings.HasPrefix(words[4], "*")
	if !f.possible() {
		return fields{}, lineshaft.Invalid("cron", "%q never fires: no month that it names has such a day", lineshaft.Clip(text, 60))
	}
	return f, nil
}

// parse reads a field as the set of its values.
func (k kind) parse(text string) (uint64, error) {
	var set uint64
	for t := range strings.SplitSeq(text, ",") {
		low, high, step, err := k.span(t)
		if err != nil {
			return 0, err
		}
		for value := low; value <= high; value += step {
			set |= 1 << value
		}
	}
	if k.high == 7 { // Sunday is 0 to Go
		set = set&^(1<<7) | set>>7
	}
	return set, nil
}

// span reads one term: every step-th value from low to high.
func (k kind) span(text string) (low, high, step int, err error) {
	parts := term.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, 0, lineshaft.Invalid("cron",
			"the %s %q cannot be read; use *, numbers, ranges such as 1-5, lists and steps such as */10", k.name, lineshaft.Clip(text, 60))
	}
	step = 1
	if parts[3] != "" {
		if step, err = strconv.Atoi(parts[3]); err != nil || step < 1 || step > k.high {
			return 0, 0, 0, lineshaft.Invalid("cron", "the step of the %s %q must be 1 to %d; use @every for longer ones", k.name, lineshaft.Clip(text, 60), k.high)
		}
	}
	if parts[1] == "" {
		return k.low, k.high, step, nil
	}
	if low, err = k.value(parts[1]); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case parts[2] == "SUN":
		high = k.high // FRI-SUN ends a week, it does not begin one
	case parts[2] != "":
		if high, err = k.value(parts[2]); err != nil {
			return 0, 0, 0, err
		}
	case parts[3] != "" && k.high == 7:
		low, high = low%7, 6 // the week has Sunday once
	case parts[3] != "":
		high = k.high // 5/10 goes on to the end
	default:
		high = low
	}
	if low > high {
		return 0, 0, 0, lineshaft.Invalid("cron", "the %s range %q ends before it begins; write two, such as %s-%d,%d-%s", k.name, lineshaft.Clip(text, 60), parts[1], k.high, k.low, parts[2])
	}
	return low, high, step, nil
}

// value reads a number or a word.
func (k kind) value(text string) (int, error) {
	for i, word := range k.words {
		if word == text {
			return k.low + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < k.low || n > k.high {
		also := ""
		if k.words != nil {
			also = ", or " + k.words[0] + " and so on"
		}
		return 0, lineshaft.Invalid("cron", "%q is not a valid %s: use %d to %d%s", lineshaft.Clip(text, 60), k.name, k.low, k.high, also)
	}
	return n, nil
}

// possible says whether any day fits. Each date falls on each weekday sooner or later,
// so that only the lengths of months matter.
func (f fields) possible() bool {
	if f.either {
		return true
	}
	for month := time.January; month <= time.December; month++ {
		longest := time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day() // a leap year
		if f.months&(1<<month) != 0 && f.days&(1<<(longest+1)-1) != 0 {
			return true
		}
	}
	return false
}
