package fakemodel_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/fakemodel"
)

func TestX13FakeModelRejects(t *testing.T) {
	t.Parallel()
	words := map[string]string{"anthropic": "rate_limit_error", "chat": "rate_limit_error", "responses": "rate_limit_error", "gemini": "RESOURCE_EXHAUSTED"}
	for _, d := range dialects() {
		s := start(t, fakemodel.Options{})
		s.Break(fakemodel.Fault{Kind: fakemodel.Reject, Status: 429, RetryAfter: 1500 * time.Millisecond, Times: 2}, fakemodel.Fault{Kind: fakemodel.Reject, Status: 500}, fakemodel.Fault{Kind: fakemodel.TooLong})
		for i, want := range []int{429, 429, 500, 400, 200} {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url(s, false), strings.NewReader(d.first))
			response, err := client(t).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s, request %d: %d, want %d", d.name, i, response.StatusCode, want)
			}
			if want == 429 && (response.Header.Get("Retry-After") != "2" || !strings.Contains(string(body), words[d.name])) {
				t.Errorf("%s: Retry-After %q, %s", d.name, response.Header.Get("Retry-After"), body)
			}
			if want == 400 && !strings.Contains(string(body), "context length") {
				t.Errorf("%s: %s", d.name, body)
			}
		}
		if got := s.Usage(""); got != fakemodel.CallUsage() {
			t.Errorf("usage %+v", got)
		}
	}
}

// Streams that hang end with the caller; those that are cut or bad end badly.
func TestX13FakeModelBreaksStreams(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for _, kind := range []fakemodel.FaultKind{fakemodel.Hang, fakemodel.HangStream, fakemodel.CutStream, fakemodel.Drop, fakemodel.Malformed} {
			for _, stream := range []bool{true, false} {
				t.Run(d.name+" "+string(kind), func(t *testing.T) {
					t.Parallel()
					broken(t, d, kind, stream)
				})
			}
		}
	}
}

func broken(t *testing.T, d dialect, kind fakemodel.FaultKind, stream bool) {
	t.Helper()
	s := start(t, fakemodel.Options{})
	s.Break(fakemodel.Fault{Kind: kind, Times: fakemodel.Always})
	const shortly = 200 * time.Millisecond
	hangs, begins := strings.HasPrefix(string(kind), "hang"), stream && strings.HasSuffix(string(kind), "_stream")
	patience := time.Minute // for what comes, on a busy machine
	if hangs && !begins {
		patience = shortly
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	body := d.first
	if stream {
		body = d.streamed(body)
	}
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, d.url(s, stream), strings.NewReader(body))
	response, err := client(t).Do(request)
	got := ""
	if err == nil {
		first := make([]byte, 1<<10)
		n, _ := response.Body.Read(first) // an error comes again
		if hangs {
			time.AfterFunc(shortly, cancel)
		}
		rest, failed := io.ReadAll(response.Body)
		got, err = string(first[:n])+string(rest), failed
		_ = response.Body.Close()
	}
	if kind == fakemodel.Malformed {
		if err != nil || !strings.Contains(got, "not JSON") {
			t.Errorf("%q, %v", got, err)
		}
		return
	}
	if err == nil {
		t.Errorf("the answer was whole: %s", got)
	}
	if hung := ctx.Err() != nil; hung != hangs {
		t.Errorf("hung %v: %v", hung, err)
	}
	if began := strings.Contains(got, "data: "); began != begins {
		t.Errorf("an event came %v: %q", began, got)
	}
	if usage := s.Usage(""); usage != (fakemodel.Usage{}) {
		t.Errorf("usage %+v", usage)
	}
	s.Fix()
	d.ask(t, s, d.first, "x", stream)
}

func TestX13FakeModelRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{})
	d := dialects()[0]
	d.ask(t, s, d.first, "x", false)
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := send(t, d.url(s, false), d.first); err == nil {
		t.Error("a connection was made")
	}
	if err := s.Accept(); err != nil {
		t.Fatal(err)
	}
	d.ask(t, s, d.first, "x", false)
}

func TestX12FakeModelOnASocket(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{})
	socket := filepath.Join(t.TempDir(), "s")
	if err := s.Socket(socket); err != nil {
		t.Fatal(err)
	}
	c := client(t)
	c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model/v1/models", http.NoBody)
	response, err := c.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
}

// A slow stream comes piece by piece.
func TestX13FakeModelPace(t *testing.T) {
	t.Parallel()
	s := start(t, fakemodel.Options{Pace: 2 * time.Millisecond})
	for _, d := range dialects() {
		began := time.Now()
		got := d.ask(t, s, d.first, "SAY: one two three four five six", true)
		if pieces := strings.Count(got, "data: "); pieces < 7 || time.Since(began) < time.Duration(pieces-1)*2*time.Millisecond {
			t.Errorf("%s: %d pieces in %s", d.name, pieces, time.Since(began))
		}
	}
}
