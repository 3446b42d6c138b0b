package page

import (
	"testing"
	"time"
)

func TestS4BrowsersInWords(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                  "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":                   "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                   "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1":  "Chrome on iPhone",
		"curl/8.5.0": "curl", "Go-http-client/1.1": "Go program", "Something (Windows)": "Browser on Windows", "": "Unknown browser", "<script>": "Unknown browser",
	} {
		if got := BrowserName(agent); got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
	}
}

func TestS4WrongKeysAreForgottenAfterAWhile(t *testing.T) {
	t.Parallel()
	var a attempts
	now := time.Unix(1_000_000, 0)
	for range wrongKeysMost {
		if wait := a.enter("192.0.2.1", now); wait != 0 {
			t.Fatalf("wait %s", wait)
		}
	}
	if wait := a.enter("192.0.2.1", now.Add(20*time.Second)); wait != 40*time.Second {
		t.Errorf("wait %s", wait)
	}
	a.leave("192.0.2.1")
	if wait := a.enter("192.0.2.1", now.Add(20*time.Second)); wait != 0 {
		t.Errorf("a place was given back, but wait %s", wait)
	}
	if wait := a.enter("192.0.2.1", now.Add(wrongKeysSpan)); wait != 0 {
		t.Errorf("after the time: wait %s", wait)
	}
	a.enter("192.0.2.9", now.Add(3*wrongKeysSpan))
	if len(a.since) != 1 {
		t.Errorf("%d addresses are kept", len(a.since))
	}
	a.leave("never seen")
}

func TestS4OneVisitorIsABlockOfAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "": "", "odd": "odd"} {
		if got := block(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

func TestI2LongTimesInWords(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"1 day": 24 * time.Hour, "90 days": 90 * 24 * time.Hour, "12 hours": 12 * time.Hour, "1 hour": time.Hour, "90 minutes": 90 * time.Minute, "1m30s": 90 * time.Second} {
		if got := days(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
