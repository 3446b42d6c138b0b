package hooks

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// A live log asks for what came after its newest, and also gets what another node wrote late.
func TestW18LiveLogGetsWhatWasLate(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	logOf := func(ids ...string) logData { // newest first; d05 came 5 s after d00
		log := logData{Fresh: "/deliveries", Kept: url.Values{"factory": {"f"}}}
		for _, id := range ids {
			seconds, err := time.ParseDuration(strings.TrimPrefix(id, "d") + "s")
			if err != nil {
				t.Fatal(err)
			}
			log.Deliveries = append(log.Deliveries, shownDelivery{Delivery: lineshaft.Delivery{ID: id, ReceivedAt: now.Add(seconds)}})
		}
		noteSeen(&log)
		return log
	}
	shown := logOf("d95", "d90", "d50", "d05")
	asked, err := url.Parse(shown.PollAt())
	if err != nil || asked.Path != "/deliveries" || asked.Query().Get("factory") != "f" {
		t.Fatalf("%s, %v", shown.PollAt(), err)
	}
	after, seen := asked.Query().Get("after"), strings.Fields(asked.Query().Get("seen"))
	if after != "d95" || !slices.Equal(seen, []string{"d95", "d90", "d50"}) {
		t.Errorf("it says that it has %q and %q", after, seen)
	}
	for _, test := range []struct {
		what      string
		now, want []string
	}{
		{"nothing new", []string{"d95", "d90", "d50", "d05"}, nil},
		{"newer ones", []string{"d97", "d96", "d95", "d90", "d50"}, []string{"d97", "d96"}},
		{"one that was late", []string{"d95", "d92", "d90", "d50", "d05"}, []string{"d92"}},
		{"a late and a newer one", []string{"d96", "d95", "d60", "d50"}, []string{"d96", "d60"}},
		{"one of long ago, that is on a later page", []string{"d95", "d20"}, nil},
		{"only newer ones", []string{"d99", "d98"}, []string{"d99", "d98"}},
	} {
		log := logOf(test.now...)
		keepFresh(&log, after, seen)
		var got []string
		for _, d := range log.Deliveries {
			got = append(got, d.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
	// What was late once is not given again.
	log := logOf("d95", "d92", "d90")
	if !strings.Contains(log.PollAt(), "d95+d92+d90") {
		t.Errorf("the next time it asks %s", log.PollAt())
	}
}
