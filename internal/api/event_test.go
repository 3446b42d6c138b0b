package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
)

// frame is one Server-Sent Event as a client sees it.
type frame struct {
	id, event string
	data      RunEvent
}

// sseReader reads a stream frame by frame.
type sseReader struct {
	t     *testing.T
	lines *bufio.Scanner
	body  io.Closer
}

// next returns the next frame; false at the end of the stream. Comments and hints
// are passed over.
func (s *sseReader) next() (frame, bool) {
	s.t.Helper()
	var f frame
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				s.t.Errorf("data %q: %v", value, err)
			}
		case "":
			if s.lines.Text() == "" && f.event != "" {
				return f, true
			}
		}
	}
	return f, false
}

// all reads to the end of the stream.
func (s *sseReader) all() []frame {
	s.t.Helper()
	var list []frame
	for {
		f, ok := s.next()
		if !ok {
			return list
		}
		list = append(list, f)
	}
}

// listen serves the bench over a real connection.
func (b *bench) listen() *httptest.Server {
	srv := httptest.NewServer(b.srv)
	b.Cleanup(srv.Close)
	return srv
}

func (b *bench) follow(ctx context.Context, srv *httptest.Server, path string, header map[string]string) *sseReader {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, get, srv.URL+Prefix+path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", sse.ContentType)
	r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleViewer))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := srv.Client().Do(r)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != sse.ContentType ||
		response.Header.Get("X-Accel-Buffering") != "no" || response.Header.Get("Cache-Control") != "no-store" {
		b.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &sseReader{b.T, lines, response.Body}
}

func said(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: text})
}

func TestR9EventsAsJSON(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1, said("one"), said("two"), said("three"))
	path := "/agent/runs/" + id + "/events"
	whole := decode[ListRunEventsResponse](t, b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200}))
	if whole.PageInfo.HasNextPage || len(whole.Events) < 6 {
		t.Fatalf("%+v", whole)
	}
	for i, e := range whole.Events {
		if e.Sequence != int64(i+1) || e.ID == "" || len(e.Time) != len("2026-08-01T09:30:00.000000Z") || e.RunID != "" {
			t.Errorf("%d: %+v", i, e)
		}
	}
	var paged []RunEvent
	for cursor := ""; ; {
		page := decode[ListRunEventsResponse](t, b.check(t, scenario{method: get, path: path + "?limit=2&cursor=" + cursor, as: lineshaft.RoleViewer, status: 200}))
		paged = append(paged, page.Events...)
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(paged) != fmt.Sprint(whole.Events) {
		t.Errorf("pages differ from the whole:\n%v\n%v", paged, whole.Events)
	}
	last := len(whole.Events)
	b.play(t, []scenario{
		{name: "after", method: get, path: fmt.Sprintf("%s?after=%d", path, last-1), as: lineshaft.RoleViewer, status: 200, has: []string{"three"}, not: []string{"two"}},
		{name: "after the end", method: get, path: path + "?after=9999", as: lineshaft.RoleViewer, status: 200, has: []string{`{"events":[],"page_info":{"has_next_page":false}}`}},
		{name: "limit 5000", method: get, path: path + "?limit=5000", as: lineshaft.RoleViewer, status: 200},
		{name: "limit 5001", method: get, path: path + "?limit=5001", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"limit: "}},
		{name: "limit 0", method: get, path: path + "?limit=0", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"},
		{name: "negative after", method: get, path: path + "?after=-1", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"after: "}},
		{name: "garbage after", method: get, path: path + "?after=x", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"after: "}},
		{name: "garbage cursor", method: get, path: path + "?cursor=x", as: lineshaft.RoleViewer, status: 400, code: "invalid_request", has: []string{"cursor: "}},
	})
}

func TestR9GarbageLastEventIDIsRefused(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	for _, value := range []string{"x", "-1", "1.5", "99999999999999999999", "0x10", "1 2"} {
		b.check(t, scenario{
			method: get, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleViewer, status: 400, code: "invalid_request",
			header: map[string]string{"Accept": sse.ContentType, "Last-Event-ID": value}, has: []string{"Last-Event-ID: "},
		})
	}
	b.check(t, scenario{
		method: get, path: "/agent/events/stream", as: lineshaft.RoleViewer, status: 400, code: "invalid_request",
		header: map[string]string{"Last-Event-ID": "garbage"}, has: []string{"cursor: "},
	})
	b.check(t, scenario{method: get, path: "/agent/events/stream?state=NOPE", as: lineshaft.RoleViewer, status: 400, code: "invalid_request"})
	b.check(t, scenario{method: get, path: "/agent/runs/nope/events", as: lineshaft.RoleViewer, header: map[string]string{"Accept": sse.ContentType}, status: 404, code: "resource_not_found"})
}

func TestR9AcceptChoosesTheForm(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/event-stream": true, "Text/Event-Stream": true, "text/event-stream;charset=utf-8": true,
		"application/json, text/event-stream": true, "text/event-streams": false, ";;": false,
	} {
		if got := accepts(accept, sse.ContentType); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

func TestR9ReplayThenLiveThenEnd(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	srv := b.listen()
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1, said("before"))
	stream := b.follow(t.Context(), srv, "/agent/runs/"+id+"/events", nil)
	var got []frame
	for {
		f, ok := stream.next()
		if !ok {
			t.Fatalf("ended early after %v", got)
		}
		got = append(got, f)
		if strings.Contains(string(f.data.Data), "before") {
			break
		}
	}
	b.report(job, 2, said("during"))
	b.end(job, lineshaft.Succeeded)
	got = append(got, stream.all()...)
	for i, f := range got {
		if f.id != fmt.Sprint(i+1) || f.data.Sequence != int64(i+1) || f.event != f.data.Type {
			t.Errorf("frame %d: %+v", i, f)
		}
	}
	if last := got[len(got)-1]; last.event != "state" || !strings.Contains(string(last.data.Data), "SUCCEEDED") {
		t.Errorf("the last event is %+v", last)
	}
}

func TestR9ReconnectAtAnyEventSeesEachOnce(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	srv := b.listen()
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1, said("a"), said("b"), said("c"))
	b.end(job, lineshaft.Succeeded)
	whole := b.follow(t.Context(), srv, "/agent/runs/"+id+"/events", nil).all()
	for cut := range len(whole) + 1 {
		for _, how := range []struct {
			query  string
			header map[string]string
		}{
			{"", map[string]string{"Last-Event-ID": fmt.Sprint(cut)}},
			{fmt.Sprint("?after=", cut), nil},
			{"?after=0", map[string]string{"Last-Event-ID": fmt.Sprint(cut)}},
		} {
			rest := b.follow(t.Context(), srv, "/agent/runs/"+id+"/events"+how.query, how.header).all()
			if fmt.Sprint(rest) != fmt.Sprint(whole[cut:]) {
				t.Errorf("after %d (%v): %v", cut, how, rest)
			}
		}
	}
}

func TestR9StateStreamFollowsAllRuns(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	srv := b.listen()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := b.follow(ctx, srv, "/agent/events/stream?state=QUEUED&state=CANCELLED&name=watched", nil)
	b.start(lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{Name: "other"}})
	id := b.start(lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{Name: "watched"}})
	first, ok := stream.next()
	if !ok || first.event != "state" || first.data.RunID != id || first.id == "" || !strings.Contains(string(first.data.Data), `"to":"QUEUED"`) {
		t.Fatalf("%+v", first)
	}
	if _, err := b.control.Cancel(t.Context(), b.admin(), id, false, nil); err != nil {
		t.Fatal(err)
	}
	second, _ := stream.next()
	if second.data.RunID != id || !strings.Contains(string(second.data.Data), `"to":"CANCELLED"`) {
		t.Fatalf("%+v", second)
	}
	for _, how := range []struct {
		query  string
		header map[string]string
	}{{"", map[string]string{"Last-Event-ID": first.id}}, {"&cursor=" + first.id, nil}} {
		resumed := b.follow(ctx, srv, "/agent/events/stream?state=QUEUED&state=CANCELLED&name=watched"+how.query, how.header)
		if again, _ := resumed.next(); fmt.Sprint(again) != fmt.Sprint(second) {
			t.Errorf("resumed with %+v, want %+v", again, second)
		}
	}
}

func TestR9StreamsEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	b := newServer(t, func(d *Deps) { d.Stopping = stopping })
	srv := b.listen()
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	run := b.follow(t.Context(), srv, "/agent/runs/"+id+"/events", nil)
	states := b.follow(t.Context(), srv, "/agent/events/stream", nil)
	if f, _ := run.next(); f.id != "1" {
		t.Fatalf("%+v", f)
	}
	close(stopping)
	run.all()
	states.all()
}

func TestR9HeartbeatsReachTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.heartbeat = 5 * time.Millisecond
	srv := b.listen()
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	stream := b.follow(t.Context(), srv, "/agent/runs/"+id+"/events", nil)
	for beats := 0; beats < 3; {
		if !stream.lines.Scan() {
			t.Fatal("the stream ended")
		}
		if stream.lines.Text() == ": heartbeat" {
			beats++
		}
	}
}

func TestS2RevokedKeysAndForeignRunsGetNoStream(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.key(lineshaft.RoleRun) // of another run
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	header := map[string]string{"Accept": sse.ContentType}
	b.play(t, []scenario{
		{name: "nobody", method: get, path: "/agent/runs/" + id + "/events", header: header, status: 401, code: "authentication_required"},
		{name: "worker", method: get, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleWorker, header: header, status: 403, code: "not_authorized"},
		{name: "another run", method: get, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleRun, header: header, status: 404, code: "resource_not_found"},
	})
}
