package web_test

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// volumeBars are the bars of the chart of a page: where each leads, and how many deliveries it says.
func (h *hooked) volumeBars(path string) map[string]int {
	h.Helper()
	bars := map[string]int{}
	bar := regexp.MustCompile(`<a href="([^"]+)" tabindex="-1"><rect[^>]*><title>[^<]*: ([0-9]+) deliver`)
	for _, found := range bar.FindAllStringSubmatch(h.shows(path, `id="volume-title"`), -1) {
		bars[html.UnescapeString(found[1])], _ = strconv.Atoi(found[2])
	}
	return bars
}

func TestW18VolumeOfDeliveriesLeadsToThem(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	far := h.another("Far away", "builds")
	h.automate("Triage", "")
	h.shows("/deliveries", "!volume-title") // nothing came yet
	h.shows(h.at, "!volume-title")
	h.deliver("one", `{}`)
	h.deliver("one", `{}`)
	h.deliver("two", `{}`)
	far.deliver("three", `{}`)
	far.refuse("no signature")
	for path, want := range map[string]int{
		"/deliveries": 5, "/deliveries?range=1h": 5, "/deliveries?range=7d": 5, "/deliveries?factory=" + far.factory: 2,
		h.at: 3, far.at + "?range=7d": 2,
	} {
		bars, sum, listed := h.volumeBars(path), 0, 0
		for at, n := range bars {
			sum += n
			if n > 0 {
				listed += strings.Count(h.shows(at, "Any time", "!hx-get=\"/deliveries?after"), `class="delivery-item"`)
			}
		}
		if sum != want || listed != want || len(bars) < 12 {
			t.Errorf("%s: %d deliveries in %d bars, %d behind them, want %d", path, sum, len(bars), listed, want)
		}
	}
	h.shows("/deliveries", "5 deliveries came; started: 2, not matched: 1, duplicates: 1, failed to start: 0, rejected: 1.",
		"Show as a table", `only=refused&amp;since=`,
		"!Only the newest are counted")
	// A stretch of time is kept by lists and search, and one without deliveries says so.
	h.shows("/deliveries?since=2020-01-01T00:00:00Z&until=2020-01-01T01:00:00Z", "Wed 1 Jan 00:00 to Wed 1 Jan 01:00 UTC", "No matching deliveries",
		`href="/deliveries?only=started&amp;since=2020-01-01T00%3A00%3A00Z&amp;until=2020-01-01T01%3A00%3A00Z"`,
		`name="since" value="2020-01-01T00:00:00Z"`)
	h.shows("/deliveries?since=2020-01-01T00:00:00Z", "Since Wed 1 Jan 00:00 UTC", "no signature", "redeliver?since=2020-01-01T00%3A00%3A00Z")
	h.shows(h.at+"?until=2020-01-01T00:00:00Z", "Until Wed 1 Jan 00:00 UTC", "No matching deliveries")
	h.shows("/deliveries/redeliver?until=2020-01-01T00:00:00Z", "!/deliveries/redeliver\" method", "!type=\"checkbox\"")
	for _, wrong := range []string{"range=2h", "since=yesterday", "until=1"} {
		for _, at := range []string{"/deliveries?", h.at + "?"} {
			if status, _, _ := h.get(at + wrong); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
				t.Errorf("%s%s: %d", at, wrong, status)
			}
		}
	}
	// A key that sees one factory counts what it may see.
	h.as(lineshaft.RoleViewer, far.factory)
	sum := 0
	for _, n := range h.volumeBars("/deliveries") {
		sum += n
	}
	if sum != 2 {
		t.Errorf("a key of one factory counts %d deliveries", sum)
	}
}
