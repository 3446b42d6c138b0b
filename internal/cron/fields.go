package cron

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

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
	name     string
	position int // as gronx counts: 0 would be seconds
	low      int
	high     int
	words    []string // the first stands for low
	// moment is a time at which the field has the value.
	moment func(value int) time.Time
}

// kinds are in the order of an expression.
var kinds = [5]kind{
	{name: "minute", position: 1, low: 0, high: 59, moment: func(v int) time.Time { return time.Date(2023, 1, 1, 0, v, 0, 0, time.UTC) }},
	{name: "hour", position: 2, low: 0, high: 23, moment: func(v int) time.Time { return time.Date(2023, 1, 1, v, 0, 0, 0, time.UTC) }},
	{name: "day of the month", position: 3, low: 1, high: 31, moment: func(v int) time.Time { return time.Date(2023, 1, v, 0, 0, 0, 0, time.UTC) }},
	{
		name: "month", position: 4, low: 1, high: 12, moment: func(v int) time.Time { return time.Date(2023, time.Month(v), 1, 0, 0, 0, 0, time.UTC) },
		words: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
	},
	{ // the first of 2023 was a Sunday
		name: "day of the week", position: 5, low: 0, high: 7, moment: func(v int) time.Time { return time.Date(2023, 1, 1+v, 0, 0, 0, 0, time.UTC) },
		words: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
	},
}

// term is one element of a field's list; gronx takes much more than that.
var term = regexp.MustCompile(`^(?:\*|([0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?)(?:/([0-9]{1,2}))?$`)

// parseFields reads exactly five fields and refuses those that never come true.
func parseFields(text string) (fields, error) {
	words := strings.Fields(text)
	if len(words) > 0 && strings.Contains(words[0], "TZ=") {
		return fields{}, lineshaft.Invalid("cron", "takes no %q; name the time zone in timezone", clip(words[0]))
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
		return fields{}, lineshaft.Invalid("cron", "%q never fires: no month that it names has such a day", clip(text))
	}
	return f, nil
}

// parse checks a field's grammar and asks gronx for each value whether it fits.
func (k kind) parse(text string) (uint64, error) {
	terms := strings.Split(text, ",")
	for i, t := range terms {
		plain, err := k.plain(t)
		if err != nil {
			return 0, err
		}
		terms[i] = plain
	}
	segment := strings.Join(terms, ",")
	var set uint64
	checker := &gronx.SegmentChecker{}
	for value := k.low; value <= k.high; value++ {
		checker.SetRef(k.moment(value))
		due, err := checker.CheckDue(segment, k.position)
		if err != nil {
			return 0, lineshaft.Invalid("cron", "the %s %q cannot be read; use *, numbers, ranges such as 1-5, lists and steps such as */10", k.name, clip(text))
		}
		if due {
			set |= 1 << value
		}
	}
	if k.position == 5 { // Sunday is 0 to Go
		set = set&^(1<<7) | set>>7
	}
	return set, nil
}

// plain checks one term and writes it in numbers.
func (k kind) plain(text string) (string, error) {
	parts := term.FindStringSubmatch(text)
	if parts == nil {
		return "", lineshaft.Invalid("cron", "the %s %q cannot be read; use *, numbers, ranges such as 1-5, lists and steps such as */10", k.name, clip(text))
	}
	step := ""
	if parts[3] != "" {
		n, err := strconv.Atoi(parts[3])
		if err != nil || n < 1 || n > k.high {
			return "", lineshaft.Invalid("cron", "the step of the %s %q must be 1 to %d; use @every for longer ones", k.name, clip(text), k.high)
		}
		step = "/" + strconv.Itoa(n)
	}
	if parts[1] == "" {
		return "*" + step, nil
	}
	low, err := k.value(parts[1])
	if err != nil {
		return "", err
	}
	if parts[2] == "" {
		return strconv.Itoa(low) + step, nil
	}
	high, err := k.value(parts[2])
	if err != nil {
		return "", err
	}
	if parts[2] == "SUN" {
		high = k.high // FRI-SUN ends a week, it does not begin one
	}
	if low > high {
		return "", lineshaft.Invalid("cron", "the %s range %q ends before it begins; write two, such as %s-%d,%d-%s", k.name, clip(text), parts[1], k.high, k.low, parts[2])
	}
	return strconv.Itoa(low) + "-" + strconv.Itoa(high) + step, nil
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
		return 0, lineshaft.Invalid("cron", "%q is no %s: use %d to %d%s", clip(text), k.name, k.low, k.high, also)
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
