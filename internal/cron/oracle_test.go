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

// minute is one minute of real time, with what the clock of a zone shows. It is made
// of numbers, since the oracle looks at millions of them.
type minute struct {
	at, wall                          int64 // Unix time; wall as if the zone were UTC
	minute, hour, day, month, weekday int8
}

// wanted is a slot by the oracle.
type wanted struct {
	at   time.Time
	name string
}

// walk lists every minute of a stretch of time.
func walk(zone *time.Location, from, to time.Time) []minute {
	all := make([]minute, 0, to.Sub(from)/time.Minute)
	var today minute
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		wall := at.Unix() + int64(offset)
		if len(all) == 0 || wall/86400 != today.wall/86400 {
			today = onClock(wall)
		}
		m := today
		m.at, m.wall = at.Unix(), wall
		m.hour, m.minute = int8(wall/3600%24), int8(wall/60%60)
		all = append(all, m)
	}
	return all
}

// onClock is what a clock shows at a wall time.
func onClock(wall int64) minute {
	t := time.Unix(wall, 0).UTC()
	return minute{
		wall: wall, minute: int8(t.Minute()), hour: int8(t.Hour()),
		day: int8(t.Day()), month: int8(t.Month()), weekday: int8(t.Weekday()),
	}
}

// expression is a random one together with what it means, so that the oracle need
// not read it.
type expression struct {
	text   string
	sets   [5][64]bool
	either bool
}

func (e *expression) fits(m *minute) bool {
	if !e.sets[0][m.minute] || !e.sets[1][m.hour] || !e.sets[3][m.month] {
		return false
	}
	day, weekday := e.sets[2][m.day], e.sets[4][m.weekday]
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
	for i := 1; i < len(minutes); i++ {
		m := &minutes[i]
		again := m.wall <= newest // the clock was set back and has shown this before
		fires := e.fits(m) && (real || !again)
		if !real {
			for skipped := minutes[i-1].wall + 60; skipped < m.wall; skipped += 60 {
				unseen := onClock(skipped)
				fires = fires || e.fits(&unseen)
			}
		}
		if fires {
			slots = append(slots, wanted{time.Unix(m.at, 0).UTC(), m.name(again)})
		}
		if !again {
			newest = m.wall
		}
	}
	return slots
}

// name is the wall time, with its offset when the clock shows it again.
func (m *minute) name(again bool) string {
	name := time.Unix(m.wall, 0).UTC().Format("2006-01-02T15:04")
	if again {
		offset := time.Duration(m.wall-m.at) * time.Second
		name += fmt.Sprintf("%+03d:%02d", int(offset.Hours()), int(offset.Abs().Minutes())%60)
	}
	return name
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
			for range rounds(5) {
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
		if m := onClock(day.Unix()); e.fits(&m) {
			return true
		}
	}
	return false
}

// rounds is n, or thirty times that when LINESHAFT_SOAK asks for the long tests.
func rounds(n int) int {
	if os.Getenv("LINESHAFT_SOAK") != "" {
		return 30 * n
	}
	return n
}

func timing(expression, zone string) lineshaft.Timing {
	return lineshaft.Timing{Cron: expression, Timezone: zone}
}
