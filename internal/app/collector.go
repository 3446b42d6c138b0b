package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is how much the heap may hold before garbage is collected. The collector waits until
// what is alive has doubled, and a server lives on a few megabytes: under load it would take a
// seventh of the processor time. A larger heap is collected as ever, so that no request costs more.
const heapFloor = 40 << 20

// floorHeap holds the collector to the floor for as long as the process lives, unless somebody has
// set how it works.
func floorHeap() {
	if os.Getenv("GOGC") == "" {
		adjustCollector(new(cycle))
	}
}

// cycle becomes garbage in each cycle of the collector, whose end it shows. It has some size: the
// smallest values share memory with others and may outlive it.
type cycle struct {
	percent int
	_       [24]byte
}

func adjustCollector(c *cycle) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := growth(live[0].Value.Uint64()); percent != c.percent {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
	runtime.SetFinalizer(&cycle{percent: c.percent}, adjustCollector)
}

// growth is by how many percent a heap may grow before it is collected.
func growth(live uint64) int {
	if live == 0 || live >= heapFloor/2 {
		return 100
	}
	return min(int((heapFloor-live)*100/live), 1000)
}
