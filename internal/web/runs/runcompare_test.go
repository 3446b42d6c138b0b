package runs

import "testing"

func TestDifferencesOfNumbersAreGrouped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b int64
		want string
	}{{52112, 3340, "+1,460%"}, {1, 2, "-50%"}, {5, 5, ""}, {5, 0, ""}, {2_000_000, 1, "+199,999,900%"}} {
		if got := percentMore(test.a, test.b); got != test.want {
			t.Errorf("%d beside %d differs by %q, want %q", test.a, test.b, got, test.want)
		}
	}
}
