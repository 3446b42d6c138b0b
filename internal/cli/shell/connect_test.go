package shell

import (
	"testing"
)

func TestSameServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"https://a.example", "https://A.example:443/", true},
		{"http://a.example:80/api/v1", "http://a.example", true},
		{"http://[::1]:8484", "http://[::1]:8484/", true},
		{"https://a.example:8484", "http://a.example:8484", true},
		{"http://a.example:8484", "https://a.example:8484", false},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "https://a.example.org", false},
		{"https://a.example@b.example", "https://a.example", false},
		{"::", "https://a.example", false},
	} {
		if got := sameServer(tc.a, tc.b); got != tc.want {
			t.Errorf("sameServer(%q, %q) = %v", tc.a, tc.b, got)
		}
	}
}
