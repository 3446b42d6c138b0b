package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	days          = 14
	minutesPerDay = 24 * 60
	daySeconds    = 24 * 60 * 60.0
	// A working day is this much above the average at its height, and below it at night.
	wave = 0.4
	// Minutes differ by about this much from what the time of day has.
	noise = 0.15
	// headroom is how much of anything is used on purpose; the rest is for bursts, repairs and vacuum.
	headroom = 0.6
)

// week is what the simulated days had.
type week struct {
	peakDeliveries, peakStarts float64 // in a second of the busiest minute
	longestQueue               float64 // runs
	longestWait                float64 // seconds
	busySlots                  float64 // of all, on average
}

// simulate plays minutes: deliveries come in waves, some start runs, runs wait for slots.
func simulate(l load) (w week) {
	random := rand.New(rand.NewPCG(l.seed, 0))
	perMinute := float64(l.workers*l.slots) * 60 / l.runSeconds // how many runs can end
	queue, ended := 0.0, 0.0
	for minute := range days * minutesPerDay {
		time := 2 * math.Pi * float64(minute%minutesPerDay) / minutesPerDay
		rate := l.perSecond * (1 + wave*math.Sin(time)) * math.Exp(noise*random.NormFloat64()-noise*noise/2)
		starts := rate * l.startShare * 60
		starts = max(0, starts+math.Sqrt(starts)*random.NormFloat64())
		done := min(queue+starts, perMinute)
		queue += starts - done
		ended += done
		w.peakDeliveries, w.peakStarts = max(w.peakDeliveries, rate), max(w.peakStarts, starts/60)
		w.longestQueue, w.longestWait = max(w.longestQueue, queue), max(w.longestWait, queue/perMinute*60)
	}
	w.busySlots = ended / (perMinute * days * minutesPerDay)
	return w
}

// need is one thing that there may be too little of.
type need struct {
	what   string
	unit   string
	needed float64
	has    float64
	// breaksAt is the rate of deliveries, on average, at which it is used up.
	breaksAt float64
	remedy   string
}

// needs compares what the load takes with what the machine and the workers have; what breaks first comes first.
func needs(c costs, m machine, l load) []need {
	w := simulate(l)
	kept := l.perSecond * l.keepDays * daySeconds
	all := []need{
		{
			what: "memory for the indexes of kept deliveries", unit: "GB", needed: kept * c.deliveryIndexes / 1e9, has: m.memory / 1e9,
			remedy: "factories over more databases; a shorter `--delivery-retention` where it is longer than 7 days",
		},
		{
			what: "disk for kept deliveries", unit: "TB", needed: kept * (c.deliveryRows + c.deliveryIndexes) / 1e12, has: m.disk / 1e12,
			remedy: "factories over more databases",
		},
		{
			what: "slots of workers in the busiest minute", needed: w.peakStarts * l.runSeconds, has: float64(l.workers * l.slots),
			remedy: "more workers; runs wait meanwhile",
		},
		{
			what: "cores for deliveries and runs in the busiest minute", has: m.cores,
			needed: w.peakDeliveries*(1-l.startShare)/c.acceptsPerCore +
				w.peakStarts/c.startsPerCore + w.peakStarts/c.endsPerCore + float64(l.workers)/1000*c.coresPerIdleThousand,
			remedy: "servers on machines of their own, then factories over more databases",
		},
	}
	for i := range all {
		all[i].breaksAt = l.perSecond * all[i].has / all[i].needed
	}
	slices.SortStableFunc(all, func(a, b need) int { return cmp.Compare(a.breaksAt, b.breaksAt) })
	return all
}

// growth is when runs, which are kept for ever unless a retention is set, become too many.
type growth struct {
	perDay        float64 // runs
	indexRuns     float64 // how many runs have indexes of the half of the memory
	indexDay      float64
	diskRuns      float64 // how many runs fill the disk, if nothing else is there
	diskDay       float64
	finalBytes    float64 // of all runs that are asked for
	finalIndexes  float64
	finalDay      float64
	monthRuns     float64
	monthIndexes  float64 // bytes
	monthsInReach float64 // whose indexes fit into the half of the memory, with as many databases as the load takes
}

func grow(c costs, m machine, l load) (g growth) {
	g.perDay = l.perSecond * l.startShare * daySeconds
	g.indexRuns = m.memory / 2 / c.runIndexes
	g.diskRuns = m.disk / (c.runRows + c.runIndexes)
	g.finalBytes, g.finalIndexes = l.runs*(c.runRows+c.runIndexes), l.runs*c.runIndexes
	g.indexDay, g.diskDay, g.finalDay = g.indexRuns/g.perDay, g.diskRuns/g.perDay, l.runs/g.perDay
	g.monthRuns = g.perDay * 30
	g.monthIndexes = g.monthRuns * c.runIndexes
	g.monthsInReach = m.memory / 2 / (g.monthIndexes / float64(shards(c, m, l)))
	return g
}

// shards is how many databases the load takes when each is used as far as it should be. Workers are not
// counted: more of them need no other database.
func shards(c costs, m machine, l load) int {
	most := 1.0
	for _, n := range needs(c, m, l) {
		if n.what != "slots of workers in the busiest minute" {
			most = max(most, n.needed/n.has/headroom)
		}
	}
	return int(math.Ceil(most))
}
