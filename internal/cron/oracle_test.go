package cron_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// minute is one minute of real time, with what the clock of a zone shows.
type minute struct {
	at   time.Time
	wall time.Time // as if it were UTC
}

// wanted is a slot by the oracle.
type wanted struct {
	at   time.Time
	name string
}

// walk lists every minute of a stretch of time.
func walk(zone *time.Location, from, to time.Time) []minute {
	var all []minute
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		l := at.In(zone)
		all = append(all, minute{at, time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)})
	}
	return all
}

// expression is a random one together with what it means, so that the oracle need
// not read it.
type expression struct {
	text   string
	sets   [5][64]bool
	either bool
}

func (e *expression) fits(wall time.Time) bool {
	if !e.sets[0][wall.Minute()] || !e.sets[1][wall.Hour()] || !e.sets[3][int(wall.Month())] {
		return false
	}
	day, weekday := e.sets[2][wall.Day()], e.sets[4][int(wall.Weekday())]
	if e.either {
		return day || weekday
	}
	return day && weekday
}

// slots walks every minute and applies the rules word by word.
func (e *expression) slots(minutes []minute) []wanted {
	var slots []wanted
	real := !slices.Contains(e.sets[1][:24], false)
	newest := minutes[0].wall // the latest wall time shown so far
	for i, m := range minutes[1:] {
		again := !m.wall.After(newest) // the clock was set back and has shown this before
		fires := e.fits(m.wall) && (real || !again)
		if !real {
			for skipped := minutes[i].wall.Add(time.Minute); skipped.Before(m.wall); skipped = skipped.Add(time.Minute) {
				fires = fires || e.fits(skipped)
			}
		}
		if fires {
			name := m.wall.Format("2006-01-02T15:04")
			if again {
				offset := m.wall.Sub(m.at)
				name += fmt.Sprintf("%+03d:%02d", int(offset.Hours()), int(offset.Abs().Minutes())%60)
			}
			slots = append(slots, wanted{m.at, name})
		}
		if !again {
			newest = m.wall
		}
	}
	return slots
}

func randomField(r *rand.Rand, low, high int, often []int) (string, [64]bool) {
	var set [64]bool
	pick := func() int {
		if len(often) > 0 && r.IntN(3) > 0 {
			return often[r.IntN(len(often))]
		}
		return low + r.IntN(high-low+1)
	}
	fill := func(from, to, step int) {
		for v := from; v <= to; v += step {
			set[v] = true
		}
	}
	var terms []string
	for range 1 + r.IntN(3) {
		a, b, step := pick(), pick(), 1+r.IntN(high/2)
		switch r.IntN(6) {
		case 0:
			fill(low, high, step)
			terms = append(terms, fmt.Sprintf("*/%d", step))
		case 1:
			fill(min(a, b), max(a, b), 1)
			terms = append(terms, fmt.Sprintf("%d-%d", min(a, b), max(a, b)))
		case 2:
			fill(min(a, b), max(a, b), step)
			terms = append(terms, fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), step))
		case 3:
			fill(a, high, step)
			terms = append(terms, fmt.Sprintf("%d/%d", a, step))
		default:
			set[a] = true
			terms = append(terms, strconv.Itoa(a))
		}
	}
	return strings.Join(terms, ","), set
}

func randomExpression(r *rand.Rand) expression {
	var e expression
	bounds := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	often := [5][]int{{0, 15, 30, 59}, {0, 1, 2, 3}, {28, 29, 25, 26, 1}, {3, 4, 10, 11}, {0}}
	stars := [5]int{10, 3, 2, 2, 2} // one of so many is *; minutes seldom, or it takes long
	var words [5]string
	for i, b := range bounds {
		if r.IntN(stars[i]) == 0 {
			words[i] = "*"
			for v := b[0]; v <= b[1]; v++ {
				e.sets[i][v] = true
			}
			continue
		}
		words[i], e.sets[i] = randomField(r, b[0], b[1], often[i])
	}
	e.either = words[2][0] != '*' && words[4][0] != '*'
	e.text = strings.Join(words[:], " ")
	return e
}

// TestF6NextAgainstEveryMinute compares with a walk over every minute of two years.
func TestF6NextAgainstEveryMinute(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu", "Africa/Casablanca"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(uint64(i), 20260329))
			minutes := walk(zone, instant(t, "2025-12-31T00:00:00Z"), instant(t, "2028-01-02T00:00:00Z"))
			for range rounds(8) {
				e := randomExpression(r)
				if !possible(e) {
					refused(t, timing(e.text, name), "cron", "never fires")
					continue
				}
				compare(t, r, e, name, e.slots(minutes))
			}
		})
	}
}

// compare walks the slots from the first to the last, and from random instants.
func compare(t *testing.T, r *rand.Rand, e expression, zone string, want []wanted) {
	t.Helper()
	s := mustParse(t, e.text, zone)
	begin, end := instant(t, "2026-01-01T00:00:00Z"), instant(t, "2028-01-01T00:00:00Z")
	from := slices.IndexFunc(want, func(w wanted) bool { return w.at.After(begin) })
	seen, after := map[string]bool{}, begin
	for i := max(from, 0); from >= 0 && i < len(want) && !want[i].at.After(end); i++ {
		slot, ok := s.Next(after)
		if !ok || !slot.At.Equal(want[i].at) || slot.Name != want[i].name {
			t.Fatalf("%q in %s after %s: %s at %s, want %s at %s", e.text, zone, after, slot.Name, slot.At.UTC(), want[i].name, want[i].at)
		}
		if seen[slot.Name] {
			t.Fatalf("%q in %s has two slots named %s", e.text, zone, slot.Name)
		}
		seen[slot.Name], after = true, slot.At
	}
	if slot, ok := s.Next(after); ok && !slot.At.After(end) {
		t.Fatalf("%q in %s fires at %s as well", e.text, zone, slot.Name)
	}
	for range 50 {
		at := begin.Add(time.Duration(r.Int64N(int64(end.Sub(begin)))))
		i, _ := slices.BinarySearchFunc(want, at, func(w wanted, at time.Time) int { return w.at.Compare(at) })
		for i < len(want) && !want[i].at.After(at) {
			i++
		}
		if i < len(want) {
			if slot, _ := s.Next(at); slot.Name != want[i].name {
				t.Fatalf("%q in %s after %s: %s, want %s", e.text, zone, at, slot.Name, want[i].name)
			}
		}
		if last, ok := s.Last(begin, at); i > 0 && want[i-1].at.After(begin) && (!ok || last.Name != want[i-1].name) {
			t.Fatalf("%q in %s: the last until %s is %s, want %s", e.text, zone, at, last.Name, want[i-1].name)
		}
	}
}

// possible looks at every day of 28 years, in which each date has had each weekday.
func possible(e expression) bool {
	e.sets[0][0], e.sets[1][0] = true, true
	for day := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2029; day = day.AddDate(0, 0, 1) {
		if e.fits(day) {
			return true
		}
	}
	return false
}

// rounds is n, or twenty times that when LINESHAFT_SOAK asks for the long tests.
func rounds(n int) int {
	if os.Getenv("LINESHAFT_SOAK") != "" {
		return 20 * n
	}
	return n
}

func timing(expression, zone string) lineshaft.Timing {
	return lineshaft.Timing{Cron: expression, Timezone: zone}
}
