package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures into docs/scaling.md")

// What docs/scaling.md shows is what the program prints.
func TestScalingPageHasTheFigures(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/scaling.md", "<!-- fleet:begin -->\n", "<!-- fleet:end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the figures", page)
	}
	var out bytes.Buffer
	report(&out, measured(), rented(), asked())
	want := before + begin + out.String() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("docs/scaling.md has other figures; run go test ./bench/fleet -update:\n%s", &out)
	}
}

// One seed is one fleet; another one differs a little, and no answer hangs on it.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	one, other := asked(), asked()
	other.seed = 2
	a, b := simulate(one), simulate(other)
	if !reflect.DeepEqual(a, simulate(one)) || reflect.DeepEqual(a, b) {
		t.Errorf("%+v and %+v", a, b)
	}
	if math.Abs(a.peakDeliveries/b.peakDeliveries-1) > 0.2 || math.Abs(a.busySlots/b.busySlots-1) > 0.01 {
		t.Errorf("seeds change too much: %+v and %+v", a, b)
	}
	for i, n := range needs(measured(), rented(), one) {
		if other := needs(measured(), rented(), other)[i]; other.what != n.what {
			t.Errorf("place %d is %q with one seed and %q with another", i, n.what, other.what)
		}
	}
}

// Whatever becomes dearer breaks earlier by as much, and comes first when it is dear enough.
func TestWhatBreaksFirst(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*costs, *machine, *load){
		"memory for the indexes of kept deliveries":           func(c *costs, _ *machine, _ *load) { c.deliveryIndexes *= 1000 },
		"disk for kept deliveries":                            func(_ *costs, m *machine, _ *load) { m.disk /= 1000 },
		"slots of workers in the busiest minute":              func(_ *costs, _ *machine, l *load) { l.runSeconds *= 1000 },
		"cores for deliveries and runs in the busiest minute": func(_ *costs, m *machine, _ *load) { m.cores /= 1000 },
	} {
		c, m, l := measured(), rented(), asked()
		before := map[string]float64{}
		for _, n := range needs(c, m, l) {
			before[n.what] = n.breaksAt
		}
		change(&c, &m, &l)
		first := needs(c, m, l)[0]
		if ratio := before[what] / first.breaksAt; first.what != what || math.Abs(ratio/1000-1) > 0.001 {
			t.Errorf("%q should come first and 1,000 times as early: %+v, %v times", what, first, ratio)
		}
	}
}

// Runs that come faster than workers end them wait; with slots enough nobody does.
func TestRunsWaitForSlots(t *testing.T) {
	t.Parallel()
	enough, few := asked(), asked()
	enough.slots, few.slots = 100, 4
	if w := simulate(enough); w.longestQueue != 0 || w.longestWait != 0 {
		t.Errorf("with slots for all: %+v", w)
	}
	// 4,000 slots end 67 runs a second, and 100 come: what is left waits, 14 days long.
	if w := simulate(few); w.busySlots < 0.99 || math.Abs(w.longestQueue/(33.3*days*daySeconds)-1) > 0.05 {
		t.Errorf("with too few slots: %+v", w)
	}
}

// The sums that can be made by hand.
func TestGrowth(t *testing.T) {
	t.Parallel()
	l := load{perSecond: 1000, startShare: 0.01, runs: 1e6, keepDays: 1, workers: 1, slots: 1, runSeconds: 1, seed: 1}
	c := costs{runRows: 900, runIndexes: 100, deliveryRows: 10, deliveryIndexes: 10}
	c.acceptsPerCore, c.startsPerCore, c.endsPerCore = 1e6, 1e6, 1e6
	g := grow(c, machine{memory: 2e9, disk: 1e12, cores: 1}, l)
	if g.perDay != 864_000 || g.indexRuns != 1e7 || g.diskRuns != 1e9 || g.finalBytes != 1e9 || g.monthIndexes != 864_000*30*100 {
		t.Errorf("%+v", g)
	}
	// 86,400,000 deliveries of 20 bytes are 1.7 GB: of a disk of 1 GB, 60 % used, there must be 3.
	if n := shards(c, machine{memory: 1e12, disk: 1e9, cores: 100}, l); n != 3 {
		t.Errorf("%d databases", n)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0.0", 12.34: "12.3", 999: "999", 1283.9: "1,280", 8_640_000: "8,640,000", 1e9: "1,000,000,000",
	} {
		if got := number(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	}
}
