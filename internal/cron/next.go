package cron

import "time"

const (
	slotName   = "2006-01-02T15:04"
	offsetName = "2006-01-02T15:04-07:00"
)

// Next is the first slot after an instant. It is false only for schedules that have
// no slot in the next fifty years.
func (s *Schedule) Next(after time.Time) (Slot, bool) {
	switch {
	case s.every > 0:
		return s.nextEvery(after), true
	case s.fields.hours == allHours:
		return s.nextReal(after)
	default:
		return s.nextWall(after)
	}
}

// Last is the newest slot after one instant and not after another, however many lie
// between.
func (s *Schedule) Last(after, until time.Time) (Slot, bool) {
	last, ok := s.Next(after)
	if !ok || last.At.After(until) {
		return Slot{}, false
	}
	// No slot is between end and until, and no two are closer than a minute.
	for end := until; end.Sub(last.At) >= time.Minute; {
		middle := last.At.Add(end.Sub(last.At) / 2)
		if slot, ok := s.Next(middle); ok && !slot.At.After(end) {
			last = slot
		} else {
			end = middle
		}
	}
	return last, true
}

// nextWall is for schedules that name hours: each wall time once. The instants of
// growing wall times never go back, so that the first one after is the next.
func (s *Schedule) nextWall(after time.Time) (Slot, bool) {
	wall := show(after, spanAt(after, s.zone).offset).Truncate(time.Minute)
	for {
		fit, ok := s.fields.next(wall)
		if !ok {
			return Slot{}, false
		}
		if at := first(fit, s.zone); at.After(after) {
			// A skipped time takes the name of the minute that makes up for it.
			shown := ceil(show(at, spanAt(at, s.zone).offset))
			return Slot{At: first(shown, s.zone).In(s.zone), Name: shown.Format(slotName)}, true
		}
		wall = fit.Add(time.Minute)
	}
}

// nextReal is for schedules of every hour: each minute at which the clock fits.
func (s *Schedule) nextReal(after time.Time) (Slot, bool) {
	at := after.Add(1) // the resolution of time itself: strictly after
	for limit := after.AddDate(horizon, 0, 0); at.Before(limit); {
		here := spanAt(at, s.zone)
		fit, ok := s.fields.next(ceil(show(at, here.offset)))
		if !ok {
			return Slot{}, false
		}
		fires := fit.Add(-here.offset)
		if here.has(fires) {
			name := fit.Format(slotName)
			if first(fit, s.zone).Before(fires) { // the clock shows it for the second time
				name = fires.In(s.zone).Format(offsetName)
			}
			return Slot{At: fires.In(s.zone), Name: name}, true
		}
		at = here.end
	}
	return Slot{}, false
}

func (s *Schedule) nextEvery(after time.Time) Slot {
	passed := max(after.Sub(s.anchor), 0)
	at := s.anchor.Add(passed - passed%s.every + s.every)
	return Slot{At: at.In(s.zone), Name: at.UTC().Format(time.RFC3339)}
}
