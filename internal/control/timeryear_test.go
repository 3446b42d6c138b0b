package control_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// planned is a schedule of the simulated year, with what its expression means: the
// oracle reads no expression and shares no code with what fires.
type planned struct {
	id    string
	zone  string
	cron  string
	every time.Duration
	// sets are the values that fire: minutes, hours, days, months, weekdays.
	sets [5]uint64
}

// slotAt is a slot by the oracle.
type slotAt struct {
	at   time.Time
	name string
}

var (
	yearBegins = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	yearEnds   = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
)

// plan makes a random schedule: sparse, and often about the hours at which clocks
// are changed.
func plan(r *rand.Rand) planned {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}
	p := planned{zone: zones[r.IntN(len(zones))]}
	minutes, hours, days, months, weekdays := []int{r.IntN(4) * 15}, []int{r.IntN(24)}, []int(nil), []int(nil), []int(nil)
	night := [][]int{{0}, {1}, {2}, {3}, {1, 2}, {2, 3}, {1, 2, 3, 4}}[r.IntN(7)]
	changes := []int{3, 4, 10, 11}[r.IntN(4)] // the months in which clocks are changed
	switch r.IntN(10) {
	case 0:
		hours, months, days = night[:1], []int{changes}, []int{1, 4, 5, 8, 25, 29}
	case 1: // every hour of some days
		hours, months, days = nil, []int{changes}, [][]int{{29}, {25}, {8}, {1}, {5}}[r.IntN(5)]
	case 2, 3: // the nights of Sundays
		hours, minutes, months, weekdays = night, [][]int{{0, 30}, {15}, {45}}[r.IntN(3)], []int{changes}, []int{0}
	case 4:
		days = []int{1 + r.IntN(31)}
	case 5:
		weekdays, months = []int{r.IntN(7)}, []int{1 + r.IntN(12)}
	case 6:
		p.every = time.Duration(500+r.IntN(900)) * time.Hour / 2
	default: // some day of a month
		days, months = []int{1 + r.IntN(28)}, []int{changes}
	}
	words := make([]string, 5)
	for i, set := range [][]int{minutes, hours, days, months, weekdays} {
		var list []string
		for _, v := range set {
			list = append(list, strconv.Itoa(v))
		}
		if words[i] = strings.Join(list, ","); set == nil {
			words[i] = "*"
		}
		p.sets[i] = bits(set)
	}
	if p.cron = strings.Join(words, " "); p.every > 0 {
		p.cron = "@every " + p.every.String()
	}
	return p
}

// bits are the values of a field; nil is all of them.
func bits(set []int) uint64 {
	if set == nil {
		return ^uint64(0)
	}
	var all uint64
	for _, v := range set {
		all |= 1 << v
	}
	return all
}

// fits looks at what a clock on the wall shows.
func (p *planned) fits(wall [5]uint8) bool {
	for i, set := range p.sets {
		if set&(1<<wall[i]) == 0 {
			return false
		}
	}
	return true
}

func fieldsOf(wall time.Time) [5]uint8 {
	return [5]uint8{uint8(wall.Minute()), uint8(wall.Hour()), uint8(wall.Day()), uint8(wall.Month()), uint8(wall.Weekday())}
}

// tick is a minute of real time and what a clock on the wall shows then.
type tick struct {
	at, wall time.Time
	minute   int64 // wall, as a number
	fields   [5]uint8
}

func ticks(zone *time.Location) []tick {
	var all []tick
	for at := yearBegins.Add(-48 * time.Hour); at.Before(yearEnds); at = at.Add(time.Minute) {
		l := at.In(zone)
		wall := time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
		all = append(all, tick{at, wall, wall.Unix() / 60, fieldsOf(wall)})
	}
	return all
}

// slots walks through the year minute by minute.
func (p *planned) slots(year []tick) []slotAt {
	var all []slotAt
	if p.every > 0 {
		for at := yearBegins.Add(p.every); at.Before(yearEnds); at = at.Add(p.every) {
			all = append(all, slotAt{at, at.Format(time.RFC3339)})
		}
		return all
	}
	newest, real := year[0].minute, p.sets[1]&(1<<24-1) == 1<<24-1
	for i := range year[1:] {
		now := &year[i+1]
		repeated := now.minute <= newest
		fires, offset := p.fits(now.fields), ""
		switch {
		case real && repeated:
			minutes := int(now.wall.Sub(now.at).Minutes())
			offset = fmt.Sprintf("%+03d:%02d", minutes/60, max(minutes, -minutes)%60)
		case repeated:
			fires = false
		case !real:
			for gap := year[i].minute + 1; gap < now.minute; gap++ {
				fires = fires || p.fits(fieldsOf(time.Unix(gap*60, 0).UTC()))
			}
		}
		if !repeated {
			newest = now.minute
		}
		if fires && now.at.After(yearBegins) {
			all = append(all, slotAt{now.at, now.wall.Format("2006-01-02T15:04") + offset})
		}
	}
	return all
}

// year is the simulation: nodes that come and go, and a clock that jumps.
type year struct {
	*testing.T
	nodes   []*control.Service
	first   *bench
	clock   *stopped
	random  *rand.Rand
	planned []*planned
	// looks are the times at which someone looked for what is due.
	looks []time.Time
}

// nodesOf opens three control planes on one database. SQLite has one process: there
// they share its store.
func nodesOf(t *testing.T, database string, clock *stopped) (*bench, []*control.Service) {
	t.Helper()
	set := func(cfg *base.Config) { cfg.Clock = clock.now }
	first := open(t, database, set)
	nodes := []*control.Service{first.s}
	for len(nodes) < 3 {
		if store.IsPostgres(database) {
			nodes = append(nodes, bare(t, database, set).s)
			continue
		}
		hub := stream.NewHub()
		streams := stream.New(first.store, hub, func(lineshaft.Event) []byte { return nil })
		s, err := control.New(t.Context(), first.store, hub, streams, base.Config{Lease: time.Minute, Clock: clock.now})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, s)
	}
	return first, nodes
}

// step lets time pass until something is due, and some more, and lets those nodes
// that are up fire; one of them may be killed while it does.
func (y *year) step() bool {
	next, err := y.first.store.DueTimers(y.Context(), yearEnds.Add(-time.Microsecond), 1)
	if err != nil {
		y.Fatal(err)
	}
	if len(next) == 0 {
		return false
	}
	late := time.Duration(y.random.Int64N(int64(20 * time.Second)))
	switch y.random.IntN(20) {
	case 0: // everything was down
		late = time.Duration(y.random.Int64N(int64(60 * time.Hour)))
	case 1, 2:
		late = time.Duration(y.random.Int64N(int64(100 * time.Minute)))
	}
	now := next[0].NextAt.Add(late).Truncate(time.Microsecond)
	if !now.Before(yearEnds) {
		now = yearEnds.Add(-time.Microsecond)
	}
	y.clock.set(now)
	y.looks = append(y.looks, now)
	killed, up := y.random.IntN(10), 1+y.random.IntN(3)
	patience := time.Duration(y.random.Int64N(int64(5 * time.Millisecond)))
	together(up, func(who int) {
		if who == killed {
			ctx, cancel := context.WithTimeout(y.Context(), patience)
			defer cancel()
			_, _ = y.nodes[who].FireDue(ctx) // how it went is not known to a killed node
			return
		}
		y.fire(y.nodes[who])
	})
	// The locks of a killed node are free when the database has noticed.
	for left := next; len(left) > 0; {
		y.fire(y.nodes[y.random.IntN(3)])
		if left, err = y.first.store.DueTimers(y.Context(), now, 1); err != nil || y.Failed() {
			y.Fatal(err)
		}
	}
	return true
}

func (y *year) fire(s *control.Service) {
	for n := 1; n > 0; {
		var err error
		if n, err = s.FireDue(y.Context()); err != nil {
			y.Error(err)
			return
		}
	}
}

// expected are the slots that must have a run: slots that came due between two looks
// collapse into the newest.
func (y *year) expected(slots []slotAt) map[string]bool {
	want, look := map[string]bool{}, 0
	for i, slot := range slots {
		for look < len(y.looks) && y.looks[look].Before(slot.at) {
			look++
		}
		if look == len(y.looks) {
			break // nobody has looked since
		}
		if i+1 == len(slots) || slots[i+1].at.After(y.looks[look]) {
			want[slot.name] = true
		}
	}
	return want
}

// started are the slots of every schedule that have a run, with how many.
func (y *year) started() map[string]map[string]int {
	found := map[string]map[string]int{}
	q := lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 500}
	for {
		page, err := y.first.s.ListRuns(y.Context(), y.first.admin, q)
		if err != nil {
			y.Fatal(err)
		}
		for _, run := range page.Runs {
			if found[run.ScheduleID] == nil {
				found[run.ScheduleID] = map[string]int{}
			}
			found[run.ScheduleID][run.FiredBy.Slot]++
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return found
		}
	}
}

// Three nodes fire the schedules of a year, through both changes of three clocks,
// with nodes that are killed, late and away: each slot has exactly one run.
func TestF6SimulatedYear(t *testing.T) {
	t.Parallel()
	zones := map[string][]tick{}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones[name] = ticks(zone)
	}
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		clock := &stopped{}
		clock.set(yearBegins)
		first, nodes := nodesOf(t, database, clock)
		y := &year{T: t, nodes: nodes, first: first, clock: clock, random: rand.New(rand.NewPCG(6, 2026))}
		for i := range yearSchedules() {
			p := plan(y.random)
			made, err := nodes[i%3].CreateSchedule(t.Context(), first.admin, trigger.NewSchedule{
				Name: fmt.Sprint(i), Timing: lineshaft.Timing{Cron: p.cron, Timezone: p.zone}, Enabled: true, Prompt: "p",
			})
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			p.id = made.ID
			y.planned = append(y.planned, &p)
		}
		for y.step() {
		}
		began, runs, slots := time.Now(), 0, 0
		started := y.started()
		for _, p := range y.planned {
			all := p.slots(zones[p.zone])
			want, got := y.expected(all), started[p.id]
			slots, runs = slots+len(all), runs+len(got)
			for slot := range want {
				if got[slot] != 1 {
					t.Errorf("%q in %s has %d runs for %s", p.cron, p.zone, got[slot], slot)
				}
			}
			for slot, n := range got {
				if !want[slot] {
					t.Errorf("%q in %s has %d runs for %s, which is no slot of it", p.cron, p.zone, n, slot)
				}
			}
		}
		t.Logf("%d schedules, %d looks, %d slots, %d runs; compared in %s", len(y.planned), len(y.looks), slots, runs, time.Since(began))
		if runs < 5*len(y.planned) || len(y.looks) < 200 {
			t.Errorf("that was no year: %d runs, %d looks", runs, len(y.looks))
		}
	})
}

// yearSchedules is how many schedules the year has: as many as a server may have in make soak.
func yearSchedules() int {
	if os.Getenv("LINESHAFT_SOAK") != "" {
		return lineshaft.MaxSchedules
	}
	return 40
}
