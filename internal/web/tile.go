package web

import (
	"fmt"
	"math"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

// tile is a number that people look for first.
type tile struct {
	Name, Value, Note, Href string
	// Kind colours the note: warn, bad or nothing.
	Kind string
}

// activeCount is a number of active runs, which is not counted to the end.
func activeCount(n int) string {
	if n >= overview.MaxActiveCount {
		return count(overview.MaxActiveCount) + "+"
	}
	return count(n)
}

func tiles(view *overview.Overview) []tile {
	active := map[lineshaft.RunState]int{}
	for _, a := range view.Active {
		active[a.State] = a.Count
	}
	running := min(active[lineshaft.Pending]+active[lineshaft.Claimed]+active[lineshaft.InProgress], overview.MaxActiveCount)
	total := view.Total
	queue := tile{Name: "Queued", Value: activeCount(active[lineshaft.Queued]), Note: "nothing waits", Href: "/runs?state=QUEUED"}
	if !view.OldestQueued.IsZero() {
		queue.Note = "oldest for " + roughly(view.At.Sub(view.OldestQueued))
	}
	run := tile{Name: "Running", Value: activeCount(running), Note: "none needs an answer", Href: "/runs?state=PENDING&state=CLAIMED&state=INPROGRESS"}
	if n := active[lineshaft.Blocked]; n > 0 {
		run.Note, run.Kind = needAnswer(n), "warn"
	}
	success := tile{Name: "Success rate", Value: percent(total.Succeeded, total.Judged()), Note: "no run to judge by"}
	if failed := total.Failed + total.Errored; failed > 0 {
		success.Note, success.Kind = count(failed)+" failed", "bad"
	} else if total.Judged() > 0 {
		success.Note = "none failed"
	}
	ended := tile{Name: "Ended", Value: count(total.Ended()), Note: "in the " + rangeWords(view.Range)}
	if total.Cancelled > 0 {
		ended.Note = count(total.Cancelled) + " cancelled"
	}
	return []tile{run, queue, ended, success, latencyTile("Median to start", total.Start), latencyTile("Median at work", total.Work)}
}

// roughly is a duration in its largest unit.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 1))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// about is a duration with no more digits than histograms know.
func about(d time.Duration) string {
	d = max(d, 0)
	for _, unit := range []struct {
		below, size time.Duration
		name        string
	}{{time.Second, time.Millisecond, "ms"}, {100 * time.Second, time.Second, "s"}, {100 * time.Minute, time.Minute, "min"}, {48 * time.Hour, time.Hour, "h"}} {
		if d < unit.below {
			return digits(float64(d)/float64(unit.size)) + " " + unit.name
		}
	}
	return digits(d.Hours()/24) + " days"
}

func digits(v float64) string {
	if v < 10 {
		return trim(v)
	}
	return fmt.Sprintf("%.0f", v)
}

func needAnswer(n int) string {
	if n == 1 {
		return "1 needs an answer"
	}
	return activeCount(n) + " need an answer"
}

func latencyTile(name string, l overview.Latency) tile {
	if l.Count == 0 {
		return tile{Name: name, Value: "–", Note: "no run started"}
	}
	return tile{Name: name, Value: about(l.P50), Note: "95 % within " + about(l.P95)}
}

// percent never rounds up to all when it was not all.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	tenths := math.Floor(float64(part) / float64(whole) * 1000)
	if tenths == 1000 || math.Mod(tenths, 10) == 0 {
		return fmt.Sprintf("%.0f %%", tenths/10)
	}
	return fmt.Sprintf("%.1f %%", tenths/10)
}
