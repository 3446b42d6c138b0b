package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// field checks that numbers can be drawn and lie within the field.
func field(t *testing.T, c Chart) {
	t.Helper()
	for _, s := range append(append([]Shape{}, c.Shapes...), c.Hits...) {
		x, y, w, h := value(t, s.X), value(t, s.Y), value(t, s.W), value(t, s.H)
		if x < 0 || y < -.01 || w <= 0 || h <= 0 || x+w > chartWidth+.02 || y > chartHeight || y+h > chartHeight+1 {
			t.Errorf("%s: %+v is outside", c.ID, s)
		}
	}
	for _, s := range c.Strokes {
		for _, n := range regexp.MustCompile(`[^MHV ]+`).FindAllString(s.Path, -1) {
			if v := value(t, n); v < 0 || v > chartWidth {
				t.Errorf("%s: %q is outside", c.ID, s.Path)
			}
		}
	}
	if c.High == "" || c.Middle == "" || strings.Contains(c.High+c.Middle, "NaN") || strings.Contains(c.High+c.Middle, "Inf") {
		t.Errorf("%s: axis %q %q", c.ID, c.High, c.Middle)
	}
}

func value(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		t.Errorf("%q cannot be drawn", text)
	}
	return v
}

func slotsOf(n int) []Slot {
	list := make([]Slot, n)
	for i := range list {
		list[i] = Slot{Name: "n" + strconv.Itoa(i), Tick: "t" + strconv.Itoa(i)}
	}
	return list
}

func TestChartsCanAlwaysBeDrawn(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, values := range map[string][]float64{
		"none": {}, "one of nothing": {0}, "one": {7}, "zeros": {0, 0, 0}, "huge": {1e18, 1, math.MaxFloat64, math.Inf(1)},
		"tiny": {1e-12, 0, 1e-9}, "gaps": {nan, 3, nan, nan, 4, nan}, "no value": {nan, nan}, "below nothing": {-1, -1e18, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []Series{{Name: "a", Class: "a", Values: values}, {Name: "b", Class: "b", Values: values}}
			field(t, Stacked("bars", "Bars", slotsOf(len(values)), all))
			field(t, Dollars("dollars", "Dollars", slotsOf(len(values)), all))
			field(t, Steps("steps", "Steps", slotsOf(len(values)), all))
		})
	}
}

// Amounts below a dollar fill their chart, and the axis says what they are.
func TestDollarsHaveTheirSign(t *testing.T) {
	t.Parallel()
	for amount, want := range map[float64][2]string{
		0: {"$0.02", "$0.01"}, .51: {"$1", "$0.50"}, .08: {"$0.10", "$0.05"}, 1: {"$1", "$0.50"}, 1.5: {"$2", "$1"}, 37: {"$40", "$20"}, 15e3: {"$20 k", "$10 k"},
	} {
		c := Dollars("x", "X", slotsOf(1), []Series{{Values: []float64{amount}}})
		if got := [2]string{c.High, c.Middle}; got != want {
			t.Errorf("the axis of $%g has %q, want %q", amount, got, want)
		}
	}
}

func TestStackedChartIsToScale(t *testing.T) {
	t.Parallel()
	c := Stacked("x", "X", slotsOf(4), []Series{{Class: "low", Values: []float64{10, 0, 5, 0}}, {Class: "high", Values: []float64{10, 0, 0, 20}}})
	want := []Shape{
		{"low", "18", "80", "114", "80"},
		{"high", "18", "0", "114", "80"}, // half and half of 20
		{"low", "318", "120", "114", "40"},
		{"high", "468", "0", "114", "160"},
	}
	if len(c.Shapes) != len(want) || c.High != "20" || c.Middle != "10" {
		t.Fatalf("%+v %s %s", c.Shapes, c.High, c.Middle)
	}
	for i := range want {
		if c.Shapes[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, c.Shapes[i], want[i])
		}
	}
	if len(c.Hits) != 4 || c.Hits[3] != (Shape{"", "450", "0", "150", "160"}) || strings.Join(c.Ticks, " ") != "t0 t1 t2 t3" {
		t.Errorf("%+v %v", c.Hits, c.Ticks)
	}
}

func TestStepChartHasGapsAndSinglePoints(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	c := Steps("x", "X", slotsOf(6), []Series{{Class: "p50", Values: []float64{nan, 30, 60, nan, 0, nan}}})
	if got, want := c.Strokes[0].Path, "M100 80H200V0H300M400 160H500"; got != want || c.High != "1 min" || c.Middle != "30 s" {
		t.Errorf("%s, want %s; %s %s", got, want, c.High, c.Middle)
	}
}

func TestAxisNumbersArePlain(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "2", 1: "2", 2: "2", 3: "4", 7: "8", 9: "10", 11: "20", 41: "50", 99: "100", 101: "200", 12_345: "20 k", 1_000_001: "2 M", 3e9: "4 G", 9e13: "100 T"} {
		if got := shortCount(roundCount(v)); got != want {
			t.Errorf("axis for %v ends at %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "100 ms", .3: "500 ms", 1: "1 s", 3: "4 s", 61: "2 min", 5000: "2 h", 80_000: "1 d", 100_000: "2 d", 1e12: "20000000 d"} {
		if got := shortTime(roundSeconds(v)); got != want {
			t.Errorf("axis for %v s ends at %s, want %s", v, got, want)
		}
	}
}

func TestBarRowsShowWhatIsNotNothing(t *testing.T) {
	t.Parallel()
	rows := Rows(make([]Row, 4), []float64{0, 1, 1e6, math.NaN()})
	for i, want := range []string{"0", "1", "100", "0"} {
		if rows[i].Width != want {
			t.Errorf("row %d is %s wide, want %s", i, rows[i].Width, want)
		}
	}
	if rows := Rows(make([]Row, 1), []float64{0}); rows[0].Width != "0" {
		t.Errorf("nothing at all: %+v", rows)
	}
}
