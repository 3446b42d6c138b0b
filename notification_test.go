package lineshaft_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestC1AddressesOfEndpoints(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://example.com": true, "https://example.com:8443/a/b?token=x": true, "http://10.0.0.1/": true, "https://[2001:db8::1]:99/": true,
		"https://xn--bcher-kva.example/": true,
		"":                               false, "example.com": false, "/hook": false, "//example.com/": false, "ftp://example.com/": false, "file:///etc/passwd": false,
		"https://": false, "https://:443/": false, "https://user@example.com/": false, "https://user:pass@example.com/": false, "https://example.com/#x": false,
		"https://exa mple.com/": false, "https://example.com/\x00": false, "https://example.com/\n": false, "https://example.com:x/": false, "javascript:alert(1)": false,
		"https:example.com": false, "https://[::1": false, "https://example.com/%zz": false, "https://\xff/": false,
		"https://example.com/" + strings.Repeat("x", lineshaft.MaxNotificationURL): false,
	} {
		err := lineshaft.Notification{URL: address}.Validate()
		if (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
		if err != nil && (lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), "url")) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestS2LogsShowNoPathOrQuery(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com/a?token=x":          "https://example.com",
		"https://u:p@example.com:8443/a#f":       "https://example.com:8443",
		"https://hooks.example/services/T0/B0/x": "https://hooks.example",
		"https://exa mple":                       "",
	} {
		if got := lineshaft.CallbackTarget(address); got != want {
			t.Errorf("%q is shown as %q", address, got)
		}
	}
}

// The waits grow, never go beyond the end, and the last attempt is made at the end.
func TestC1Backoff(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0.9, 1, 1.1} {
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		end := begin.Add(lineshaft.NotificationPeriod)
		now, attempts, last := begin, 1, time.Duration(0)
		for {
			next := lineshaft.NextNotificationAttempt(now, end, attempts, 0, jitter)
			if next.IsZero() {
				break
			}
			wait := next.Sub(now)
			if wait <= 0 || next.After(end) || wait < last && !next.Equal(end) {
				t.Fatalf("attempt %d: %s after %s", attempts, wait, last)
			}
			now, last, attempts = next, wait, attempts+1
		}
		if !now.Equal(end) || attempts < 15 || attempts > 22 {
			t.Errorf("jitter %v: %d attempts, the last %s before the end", jitter, attempts, end.Sub(now))
		}
	}
	want := []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour}
	for i, wait := range want {
		if got := lineshaft.NotificationBackoff(i + 1); got != wait {
			t.Errorf("after %d attempts: %s, want %s", i+1, got, wait)
		}
	}
}
