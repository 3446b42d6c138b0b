// Package chart lays out the charts of the dashboard, which the template "chart" draws: bars and
// steps over time, rows of bars, and the numbers at their axes.
package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Charts are drawn on a field of this size and stretched to the available width; the text
// beside them is HTML, so that letters keep their shape.
const (
	chartWidth  = 600.0
	chartHeight = 160.0
)

// Slot is a stretch of time along a chart.
type Slot struct {
	// Name is how people read it, such as "14:00 to 15:00"; Tick is short.
	Name, Tick string
	// Said is what a pointer that rests on it shows, Href the list of the runs in it.
	Said, Href string
}

// Series is one kind of value for each slot; NaN is none.
type Series struct {
	Name, Class string
	// Href is the list behind it, if there is one.
	Href   string
	Values []float64
	// Texts are the values as the table shows them.
	Texts []string
}

// Shape is a rectangle of a bar.
type Shape struct{ Class, X, Y, W, H string }

// Stroke is the way of a line.
type Stroke struct{ Class, Path string }

// Chart is all that the template "chart" draws.
type Chart struct {
	ID, Title, Desc string
	// Empty is said in place of a drawing that would show nothing.
	Empty string
	// High and Middle are written at the axis.
	High, Middle string
	Ticks        []string
	Slots        []Slot
	Series       []Series
	Shapes       []Shape
	Strokes      []Stroke
	// Hits are the fields that a pointer rests on, one for each slot.
	Hits []Shape
}

// TableRow has the numbers of a slot.
type TableRow struct {
	Slot

	Texts []string
}

// Rows are the table with the same numbers.
func (c Chart) Rows() []TableRow {
	rows := make([]TableRow, len(c.Slots))
	for i, s := range c.Slots {
		rows[i].Slot = s
		for _, of := range c.Series {
			rows[i].Texts = append(rows[i].Texts, of.Texts[i])
		}
	}
	return rows
}

func newChart(id, title string, slots []Slot, all []Series) Chart {
	c := Chart{ID: id, Title: title, Slots: slots, Series: all}
	width := chartWidth / float64(max(len(slots), 1))
	for i := range slots {
		c.Hits = append(c.Hits, Shape{X: number(float64(i) * width), Y: "0", W: number(width), H: number(chartHeight)})
	}
	ticks := 4
	if len(slots)%7 == 0 {
		ticks = 7 // of a week each day has one, else they would be uneven
	}
	for i := 0; i < ticks && len(slots) > 0; i++ {
		c.Ticks = append(c.Ticks, slots[i*len(slots)/ticks].Tick)
	}
	return c
}

// Stacked draws a bar for each slot, the series on top of each other.
func Stacked(id, title string, slots []Slot, all []Series) Chart {
	return stacked(newChart(id, title, slots, all), roundCount, shortCount)
}

// Dollars is Stacked for amounts of money, which may be fractions.
func Dollars(id, title string, slots []Slot, all []Series) Chart {
	return stacked(newChart(id, title, slots, all), roundDollars, shortDollars)
}

func stacked(c Chart, round func(float64) float64, short func(float64) string) Chart {
	slots, all := c.Slots, c.Series
	most := 0.0
	for i := range slots {
		most = max(most, sumAt(all, i))
	}
	top := round(most)
	c.High, c.Middle = short(top), short(top/2)
	width := chartWidth / float64(max(len(slots), 1))
	for i := range slots {
		base := 0.0
		for _, of := range all {
			value := plainValue(of.Values[i])
			if value <= 0 {
				continue
			}
			low, high := chartHeight*base/top, chartHeight*(base+value)/top
			base += value
			c.Shapes = append(c.Shapes, Shape{
				Class: of.Class, X: number((float64(i) + .12) * width), Y: number(chartHeight - high), W: number(.76 * width), H: number(max(high-low, .5)),
			})
		}
	}
	return c
}

// Steps draws each series of durations, in seconds, as a line of steps; it has a
// gap where there is no value.
func Steps(id, title string, slots []Slot, all []Series) Chart {
	c := newChart(id, title, slots, all)
	most := 0.0
	for _, of := range all {
		for _, value := range of.Values {
			most = max(most, plainValue(value))
		}
	}
	top := roundSeconds(most)
	c.High, c.Middle = shortTime(top), shortTime(top/2)
	width := chartWidth / float64(max(len(slots), 1))
	for _, of := range all {
		var path strings.Builder
		open := false
		for i, value := range of.Values {
			if math.IsNaN(value) {
				open = false
				continue
			}
			y := chartHeight * (1 - plainValue(value)/top)
			if open {
				fmt.Fprintf(&path, "V%s", number(y))
			} else {
				fmt.Fprintf(&path, "M%s %s", number(float64(i)*width), number(y))
			}
			fmt.Fprintf(&path, "H%s", number(float64(i+1)*width))
			open = true
		}
		c.Strokes = append(c.Strokes, Stroke{of.Class, path.String()})
	}
	return c
}

func sumAt(all []Series, i int) float64 {
	sum := 0.0
	for _, of := range all {
		sum += plainValue(of.Values[i])
	}
	return sum
}

// plainValue keeps out what cannot be drawn.
func plainValue(v float64) float64 {
	if math.IsNaN(v) || v < 0 {
		return 0
	}
	return min(v, 1e15)
}

func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// roundCount is an even number of 1, 2 or 5 times a power of ten that is not below v.
func roundCount(v float64) float64 {
	if v <= 2 {
		return 2
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range []float64{1, 2, 4, 5, 6, 8, 10} {
		if top := times * power; top >= v && math.Mod(top, 2) == 0 {
			return top
		}
	}
	return 10 * power
}

// roundDollars is an amount that is not below v, and whose half is whole cents.
func roundDollars(v float64) float64 {
	for _, top := range []float64{.02, .1, .2, .4, 1} {
		if v <= top {
			return top
		}
	}
	return roundCount(v)
}

// roundSeconds is a duration that people like to read and that is not below v.
func roundSeconds(v float64) float64 {
	for _, top := range []float64{.1, .2, .5, 1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1200, 1800, 3600, 7200, 4 * 3600, 6 * 3600, 12 * 3600, 86400} {
		if v <= top {
			return top
		}
	}
	return 86400 * roundCount(v/86400)
}

// shortTime is a duration for the axis.
func shortTime(seconds float64) string {
	for _, unit := range []struct {
		length float64
		name   string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}} {
		if seconds >= unit.length {
			return Trim(seconds/unit.length) + " " + unit.name
		}
	}
	return Trim(seconds*1000) + " ms"
}

// shortCount is a number for the axis.
func shortCount(v float64) string {
	for _, unit := range []struct {
		from, size float64
		name       string
	}{{1e12, 1e12, " T"}, {1e9, 1e9, " G"}, {1e6, 1e6, " M"}, {1e4, 1e3, " k"}} {
		if v >= unit.from {
			return Trim(v/unit.size) + unit.name
		}
	}
	return Trim(v)
}

// shortDollars is an amount for the axis.
func shortDollars(v float64) string {
	if v != math.Trunc(v) {
		return fmt.Sprintf("$%.2f", v)
	}
	return "$" + shortCount(v)
}

// Trim writes a number with no more than one digit behind the point.
func Trim(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Row is a line of a chart of horizontal bars: a name, a number, a length.
type Row struct {
	Name, Href, Class, Count string
	// Width is of 100.
	Width string
}

// Rows makes the longest as wide as there is room; what is not nothing can be seen.
func Rows(rows []Row, values []float64) []Row {
	most := 1.0
	for _, value := range values {
		most = max(most, plainValue(value))
	}
	for i := range rows {
		width := 100 * plainValue(values[i]) / most
		if width > 0 {
			width = max(width, 1)
		}
		rows[i].Width = number(width)
	}
	return rows
}

// SlotOf names a stretch of time, which is short for a chart of a day or less.
func SlotOf(from, until time.Time, long bool) Slot {
	if long {
		return Slot{Name: from.Format("Mon 2 Jan 15:04") + " to " + until.Format("15:04"), Tick: from.Format("Mon 2")}
	}
	return Slot{Name: from.Format("15:04") + " to " + until.Format("15:04"), Tick: from.Format("15:04")}
}
