// Command fleet says what breaks first when Lineshaft is asked for more than any machine here can hold: it
// plays two weeks of deliveries by a seed, with costs that were measured, and compares what they take with what a
// database server has. docs/scaling.md shows what it prints.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	c, m, l := measured(), rented(), asked()
	flag.Uint64Var(&l.seed, "seed", l.seed, "what decides the minutes")
	flag.Float64Var(&l.perSecond, "deliveries", l.perSecond, "deliveries per second, on average")
	flag.Float64Var(&l.startShare, "starts", l.startShare, "share of them that start a run")
	flag.IntVar(&l.workers, "workers", l.workers, "workers")
	flag.IntVar(&l.slots, "slots", l.slots, "runs at once of each worker")
	flag.Float64Var(&l.runSeconds, "seconds", l.runSeconds, "length of a run, on average")
	flag.Float64Var(&l.keepDays, "keep", l.keepDays, "days that deliveries are kept")
	flag.Float64Var(&m.cores, "cores", m.cores, "cores of the database server")
	flag.Float64Var(&m.memory, "memory", m.memory, "its memory, in bytes")
	flag.Float64Var(&m.disk, "disk", m.disk, "its disk, in bytes")
	flag.Parse()
	report(os.Stdout, c, m, l)
}

// report prints the answer as Markdown.
func report(out io.Writer, c costs, m machine, l load) {
	w, g := simulate(l), grow(c, m, l)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("%s deliveries a second, %.0f %% of them start a run of %.0f s; %s workers with %d slots; one database with %.0f cores, "+
		"%.0f GB of memory and %.0f TB of disk; deliveries are kept for %.0f days; seed %d.",
		number(l.perSecond), l.startShare*100, l.runSeconds, number(float64(l.workers)), l.slots,
		m.cores, m.memory/1e9, m.disk/1e12, l.keepDays, l.seed)
	say("")
	say("| breaks in this order | needed | there is | breaks at (deliveries a second) | then |")
	say("| --- | --- | --- | --- | --- |")
	for _, n := range needs(c, m, l) {
		say("| %s | %s | %s | %s | %s |", n.what, figure(n.needed, n.unit), figure(n.has, n.unit), number(n.breaksAt), n.remedy)
	}
	say("")
	say("- The busiest minute has %s deliveries and %s starts a second. Slots are %.0f %% busy on average; "+
		"at worst %s runs wait, the last of them for %.0f s.",
		number(w.peakDeliveries), number(w.peakStarts), w.busySlots*100, number(w.longestQueue), w.longestWait)
	say("- %s runs come in a day, %s in a month. After %s runs (day %.0f) their indexes take half of the memory: "+
		"**partition runs and events by month before that**. After %s runs (day %.0f) they alone fill the disk.",
		number(g.perDay), number(g.monthRuns), number(g.indexRuns), g.indexDay, number(g.diskRuns), g.diskDay)
	say("- %s runs (day %.0f) are %.1f TB, %.1f TB of it indexes.", number(l.runs), g.finalDay, g.finalBytes/1e12, g.finalIndexes/1e12)
	many := shards(c, m, l)
	say("- With %.0f %% of everything used, this load takes **%d databases** of that size. "+
		"In each of them a month has %s runs, and the indexes of the newest %.1f months fit into half of the memory.",
		headroom*100, many, number(g.monthRuns/float64(many)), g.monthsInReach)
}

// number prints with three digits that count, and commas.
func number(value float64) string {
	if value < 100 {
		return fmt.Sprintf("%.1f", value)
	}
	step := 1.0
	for value/step >= 1000 {
		step *= 10
	}
	text := fmt.Sprintf("%.0f", float64(int64(value/step+0.5))*step)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func figure(value float64, unit string) string { return strings.TrimSpace(number(value) + " " + unit) }
