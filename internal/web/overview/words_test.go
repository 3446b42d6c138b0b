package overview

import (
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/web/page"
)

func TestWordsForNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		d              time.Duration
		about, roughly string
	}{
		{0, "0 ms", "1 s"},
		{-time.Second, "0 ms", "1 s"},
		{4 * time.Millisecond, "4 ms", "1 s"},
		{1490 * time.Millisecond, "1.5 s", "1 s"},
		{81 * time.Second, "81 s", "1 min"},
		{6*time.Minute + 27*time.Second, "6.5 min", "6 min"},
		{99 * time.Minute, "99 min", "1 h"},
		{2 * time.Hour, "2 h", "2 h"},
		{49 * time.Hour, "2 days", "2 days"},
	} {
		if about, roughly := about(test.d), page.Roughly(test.d); about != test.about || roughly != test.roughly {
			t.Errorf("%s is about %q and roughly %q, want %q and %q", test.d, about, roughly, test.about, test.roughly)
		}
	}
	for _, test := range []struct {
		part, whole int64
		want        string
	}{{0, 0, "–"}, {0, 3, "0%"}, {3, 3, "100%"}, {999_999, 1_000_000, "99.9%"}, {1, 2, "50%"}, {2, 3, "66.7%"}, {7, 9, "77.8%"}, {1, 3, "33.3%"}} {
		if got := percent(test.part, test.whole); got != test.want {
			t.Errorf("%d of %d is %q, want %q", test.part, test.whole, got, test.want)
		}
	}
}
