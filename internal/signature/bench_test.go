package signature

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Bodies as large as GitHub's largest.
func BenchmarkVerify(b *testing.B) {
	body := `{"id":"evt_1","webhookTimestamp":1700000000000,"text":"` + strings.Repeat("x", 27_000) + `"}`
	for _, s := range samples() {
		if !slices.Contains([]string{"github", "stripe", "standard_webhooks", "standard_webhooks v1a", "linear", "gitlab token"}, s.name) {
			continue
		}
		b.Run(strings.ReplaceAll(s.name, " ", "_"), func(b *testing.B) {
			s.body = body
			v, r := s.verifier(b), s.signed(b)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Verify(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestW9VerifyAllocatesLittle(t *testing.T) { //nolint:paralleltest // others would be counted too
	for _, s := range samples() {
		if !slices.Contains([]string{"github", "stripe", "standard_webhooks", "slack", "pagerduty"}, s.name) {
			continue
		}
		v, r := s.verifier(t), s.signed(t)
		// The least of some rounds: what pools keep is lost to the garbage collector now
		// and then, and with the race detector by chance.
		got := math.Inf(1)
		for range 5 {
			got = min(got, testing.AllocsPerRun(200, func() {
				if err := v.Verify(r); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if got > 5 {
			t.Errorf("%s: %v allocations", s.name, got)
		}
	}
}
