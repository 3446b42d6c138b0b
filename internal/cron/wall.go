package cron

import (
	"math/bits"
	"time"
)

// A wall time is what a clock on the wall shows, written as if that were UTC: it can
// be added up and compared without a zone in the way.

// horizon is how far a search looks. 29 February falls on a given weekday at least
// every 40 years.
const horizon = 50

// allHours is the set of every hour.
const allHours = 1<<24 - 1

// next is the first wall time that fits and is not before from, a whole minute.
func (f fields) next(from time.Time) (time.Time, bool) {
	year, month, day := from.Date()
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	minute := from.Hour()*60 + from.Minute()
	for date.Year() <= year+horizon {
		if f.months&(1<<date.Month()) == 0 {
			date, minute = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC), 0
			continue
		}
		if f.fits(date) {
			if at, ok := f.inDay(minute); ok {
				return date.Add(time.Duration(at) * time.Minute), true
			}
		}
		date, minute = date.AddDate(0, 0, 1), 0
	}
	return time.Time{}, false
}

// fits says whether the schedule fires on a day at all, its month apart.
func (f fields) fits(date time.Time) bool {
	day, weekday := f.days&(1<<date.Day()) != 0, f.weekdays&(1<<date.Weekday()) != 0
	if f.either {
		return day || weekday
	}
	return day && weekday
}

// inDay is the first fitting minute of a day, counted from midnight.
func (f fields) inDay(from int) (minute int, ok bool) {
	hour := from / 60
	if f.hours&(1<<hour) != 0 {
		if rest := f.minutes >> (from % 60); rest != 0 {
			return from + bits.TrailingZeros64(rest), true
		}
	}
	later := f.hours >> (hour + 1)
	if later == 0 {
		return 0, false
	}
	return (hour+1+bits.TrailingZeros64(later))*60 + bits.TrailingZeros64(f.minutes), true
}

// span is a stretch of time in which a zone keeps its offset from UTC. A zero begin
// or end is open.
type span struct {
	begin, end time.Time
	offset     time.Duration
}

func spanAt(at time.Time, zone *time.Location) span {
	local := at.In(zone)
	_, seconds := local.Zone()
	begin, end := local.ZoneBounds()
	return span{begin: begin, end: end, offset: time.Duration(seconds) * time.Second}
}

func (s span) has(at time.Time) bool {
	return !at.Before(s.begin) && (s.end.IsZero() || at.Before(s.end))
}

// farthest is more than any zone is away from UTC.
const farthest = 30 * time.Hour

// first is the first instant at which the zone's clock shows wall; for a wall time
// that is skipped, the instant at which the clock jumps over it.
func first(wall time.Time, zone *time.Location) time.Time {
	at := wall.Add(-farthest)
	var jump time.Time
	for !at.After(wall.Add(farthest)) {
		s := spanAt(at, zone)
		shown := wall.Add(-s.offset)
		if s.has(shown) {
			return shown
		}
		if jump.IsZero() && shown.Before(s.begin) {
			jump = s.begin // the clock is past wall already where this span begins
		}
		if s.end.IsZero() {
			break
		}
		at = s.end
	}
	return jump
}

// show is what the zone's clock shows at an instant.
func show(at time.Time, offset time.Duration) time.Time { return at.UTC().Add(offset) }

// ceil is wall, or the next whole minute.
func ceil(wall time.Time) time.Time {
	whole := wall.Truncate(time.Minute)
	if whole.Before(wall) {
		return whole.Add(time.Minute)
	}
	return whole
}
