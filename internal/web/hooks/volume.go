package hooks

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/chart"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// volumeRanges are how far back the chart of deliveries looks.
var volumeRanges = []struct {
	value, name, words string
	bar                time.Duration
	bars               int
}{
	{"1h", "1 hour", "last hour", 5 * time.Minute, 12},
	{"24h", "24 hours", "last 24 hours", time.Hour, 24},
	{"7d", "7 days", "last 7 days", 6 * time.Hour, 28},
}

// volumeData is how many deliveries came, as a chart.
type volumeData struct {
	Chart  chart.Chart
	Ranges []logTab
	At     time.Time
	// CountedFrom is the oldest that was counted when there are too many; else zero.
	CountedFrom time.Time
}

// readTimes takes the stretch of time that a log is about from an address, for its links to keep.
func readTimes(l *logData, given url.Values) (err error) {
	for name, at := range map[string]*time.Time{"since": &l.Since, "until": &l.Until} {
		text := given.Get(name)
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return lineshaft.Invalid(name, "write a time such as 2026-01-31T14:00:00Z")
		}
		l.Kept.Set(name, text)
	}
	if l.Range = cmp.Or(given.Get("range"), "24h"); given.Get("range") != "" {
		l.Kept.Set("range", l.Range)
	}
	return nil
}

// Between says which stretch of time the log is about; empty for all.
func (l logData) Between() string {
	const form = "Mon 2 Jan 15:04"
	switch {
	case l.Since.IsZero() && l.Until.IsZero():
		return ""
	case l.Since.IsZero():
		return "Until " + l.Until.UTC().Format(form) + " UTC"
	case l.Until.IsZero():
		return "Since " + l.Since.UTC().Format(form) + " UTC"
	}
	return l.Since.UTC().Format(form) + " to " + l.Until.UTC().Format(form) + " UTC"
}

// AnyTime is the same log without that.
func (l logData) AnyTime() string { return l.link("since", "", "until", "") }

// link is the address of the log with some of its values changed, given as names and values.
func (l logData) link(changes ...string) string {
	values := maps.Clone(l.Kept)
	values.Set("only", l.Only)
	values.Set("q", l.Text)
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
	}
	maps.DeleteFunc(values, func(_ string, v []string) bool { return v[0] == "" })
	return page.WithQuery(l.At, values)
}

// addVolume draws how many deliveries came to what the log is about, beside its first page.
func (s pages) addVolume(r *page.Request, log *logData, factory, webhook string) error {
	if r.Cursor() != "" || r.Asked() || len(log.Deliveries) == 0 && !log.Narrowed() && log.Between() == "" {
		return nil
	}
	for _, over := range volumeRanges {
		if over.value != log.Range {
			continue
		}
		query := trigger.VolumeQuery{FactoryUID: factory, WebhookUID: webhook, Bar: over.bar, Bars: over.bars}
		found, err := s.Control.DeliveryVolume(r.Context(), r.Caller, query)
		if err != nil {
			return err
		}
		log.Volume = &volumeData{Chart: volumeChart(*log, found, over.words), At: found.At, CountedFrom: found.CountedFrom}
		for _, one := range volumeRanges {
			log.Volume.Ranges = append(log.Volume.Ranges, logTab{one.name, log.link("range", one.value), one.value == log.Range})
		}
		return nil
	}
	return lineshaft.Invalid("range", "choose 1h, 24h or 7d")
}

// volumeChart draws a bar for each stretch of time, which leads to the deliveries in it.
func volumeChart(log logData, found trigger.Volume, words string) chart.Chart {
	first := found.Bars[0].From.UTC().Format(time.RFC3339)
	kinds := []struct {
		name, class, only string
		of                func(trigger.VolumeBar) int64
	}{
		{"Started", "succeeded", "started", func(b trigger.VolumeBar) int64 { return b.Started }},
		{"Not matched", "cancelled", "unmatched", func(b trigger.VolumeBar) int64 { return b.NotMatched }},
		{"Duplicates", "duplicate", "duplicate", func(b trigger.VolumeBar) int64 { return b.Duplicates }},
		{"Failed to start", "unstarted", "failed", func(b trigger.VolumeBar) int64 { return b.Failed }},
		{"Rejected", "failed", "refused", func(b trigger.VolumeBar) int64 { return b.Rejected }},
	}
	all := make([]chart.Series, len(kinds))
	slots := make([]chart.Slot, len(found.Bars))
	total := int64(0)
	for i, bar := range found.Bars {
		slots[i] = chart.SlotOf(bar.From.UTC(), bar.Until.UTC(), log.Range == "7d")
		slots[i].Href = log.link("since", bar.From.UTC().Format(time.RFC3339), "until", bar.Until.UTC().Format(time.RFC3339))
		slots[i].Said = slots[i].Name + ": " + page.Plural(int(bar.Total()), "delivery", "deliveries")
		total += bar.Total()
	}
	desc := fmt.Sprintf("In the %s, %s came;", words, page.Plural(int(total), "delivery", "deliveries"))
	for k, kind := range kinds {
		sum := int64(0)
		all[k] = chart.Series{Name: kind.name, Class: kind.class, Href: log.link("only", kind.only, "since", first, "until", "")}
		for i, bar := range found.Bars {
			n := kind.of(bar)
			sum += n
			all[k].Values = append(all[k].Values, float64(n))
			all[k].Texts = append(all[k].Texts, page.Count(n))
			if n > 0 {
				slots[i].Said += fmt.Sprintf(", %s: %s", strings.ToLower(kind.name), page.Count(n))
			}
		}
		desc += fmt.Sprintf(" %s: %s,", strings.ToLower(kind.name), page.Count(sum))
	}
	c := chart.Stacked("volume", "Deliveries over time", slots, all)
	c.Desc = desc[:len(desc)-1] + "."
	if total == 0 {
		c.Empty = "No delivery came in the " + words + "."
	}
	return c
}
