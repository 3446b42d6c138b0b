package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each method sends what its operation asks for.
func TestI3MethodsSendTheirOperation(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		answer string
		call   func(context.Context, *Client) (any, error)
	}{
		"POST /api/v1/agent/runs/cancel": {`{"cancelled":["r1"]}`, func(ctx context.Context, c *Client) (any, error) {
			return c.Runs.CancelAll(ctx, RunQuery{States: []RunState{StateQueued}, FactoryOnly: true, Metadata: map[string]string{"a": "b"}, Limit: 5})
		}},
		"GET /api/v1/agent/runs/r%2F1/conversation": {`{"conversation_id":"c","steps":[]}`, func(ctx context.Context, c *Client) (any, error) {
			return c.Runs.Conversation(ctx, "r/1")
		}},
		"GET /api/v1/agent/runs/r1/timeline": {`{"events":[]}`, func(ctx context.Context, c *Client) (any, error) { return c.Runs.Timeline(ctx, "r1") }},
		"GET /api/v1/agent/runs/r1/handoff/attachments": {`{"attachments":[{"filename":"a"}]}`, func(ctx context.Context, c *Client) (any, error) {
			return c.Runs.Attachments(ctx, "r1")
		}},
		"GET /api/v1/agent/run-by-external-reference?url=https%3A%2F%2Fa.example%2F1": {`{"run_id":"r1"}`, func(ctx context.Context, c *Client) (any, error) {
			return c.Runs.ByReference(ctx, "https://a.example/1")
		}},
		"GET /api/v1/agent/runs/r1?explain=1": {runJSON("QUEUED"), func(ctx context.Context, c *Client) (any, error) { return c.Runs.Explain(ctx, "r1") }},
		"GET /api/v1/agent/conversations/c1":  {`{}`, func(ctx context.Context, c *Client) (any, error) { return c.Conversations.Get(ctx, "c1") }},
		"POST /api/v1/agent/conversations/c1/followups": {`{"run_id":"r1","outcome":"live_session"}`, func(ctx context.Context, c *Client) (any, error) {
			return c.Conversations.Followup(ctx, "c1", FollowupRequest{Message: "go on"})
		}},
		"POST /api/v1/agent/conversations/c1/interrupt": {`{"run_id":"r1"}`, func(ctx context.Context, c *Client) (any, error) { return c.Conversations.Interrupt(ctx, "c1") }},
		"GET /api/v1/agent/artifacts/a1":                {`{}`, func(ctx context.Context, c *Client) (any, error) { return c.Artifacts.Get(ctx, "a1") }},
		"GET /api/v1/networking/egress-ranges":          {`{"cidrs":[]}`, func(ctx context.Context, c *Client) (any, error) { return c.EgressRanges(ctx) }},
		"GET /api/v1/factory-files/schemas":             {`{"versions":["v1"]}`, func(ctx context.Context, c *Client) (any, error) { return c.Definitions.SchemaVersions(ctx) }},
		"GET /api/v1/factory-files/schemas/v1":          {`{"version":"v1"}`, func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Schemas(ctx, "v1") }},
		"GET /api/v1/factory-files/schemas/v1/agent":    {`{"type":"object"}`, func(ctx context.Context, c *Client) (any, error) { return c.Definitions.Schema(ctx, "v1", "agent") }},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			client, s := scripted(t, answer(200, c.answer))
			if value, err := c.call(t.Context(), client); err != nil || value == nil {
				t.Fatalf("%v, %v", value, err)
			}
			got := s.requests()[0]
			line := got.method + " " + got.path
			if got.query != "" {
				line += "?" + got.query
			}
			if line != want {
				t.Errorf("sent %s", line)
			}
			if strings.HasSuffix(want, "/runs/cancel") && got.body != `{"filter":{"factory_only":true,"metadata":{"a":"b"},"state":["QUEUED"]}}` {
				t.Errorf("body %s", got.body)
			}
		})
	}
}

func TestI3CancelAllNeedsACondition(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, "{}"))
	if _, err := c.Runs.CancelAll(t.Context(), RunQuery{Limit: 3}); !errors.Is(err, ErrUsage) || len(s.requests()) != 0 {
		t.Errorf("error %v after %d requests", err, len(s.requests()))
	}
}

// The parts of a path are never empty or a way up.
func TestI3PartsOfPathsAreChecked(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, "{}"))
	for name, call := range map[string]func(string) error{
		"artifact":     func(id string) error { _, err := c.Artifacts.Get(t.Context(), id); return err },
		"download":     func(id string) error { _, err := c.Artifacts.Download(t.Context(), id); return err },
		"conversation": func(id string) error { _, err := c.Conversations.Get(t.Context(), id); return err },
		"transcript":   func(id string) error { _, err := c.Runs.Transcript(t.Context(), id); return err },
		"schema":       func(id string) error { _, err := c.Definitions.Schema(t.Context(), "v1", id); return err },
		"version":      func(id string) error { _, err := c.Definitions.Schema(t.Context(), id, "x"); return err },
	} {
		for _, id := range []string{"", ".", ".."} {
			if err := call(id); !errors.Is(err, ErrUsage) {
				t.Errorf("%s %q: error %v", name, id, err)
			}
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A file comes from where the server sends us, without the key, and after failures.
func TestI3DownloadFollowsAndRetries(t *testing.T) {
	t.Parallel()
	store, files := scripted(t, answer(200, "the file"))
	c, s := scripted(t,
		answer(503, ""), hangUp,
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, store.base.Scheme+"://"+store.base.Host+"/f", http.StatusFound)
		})
	for _, open := range []func() (io.ReadCloser, error){
		func() (io.ReadCloser, error) { return c.Artifacts.Download(t.Context(), "a1") },
		func() (io.ReadCloser, error) { return c.Runs.Transcript(t.Context(), "r1") },
		func() (io.ReadCloser, error) { return c.Conversations.Transcript(t.Context(), "c1") },
	} {
		file, err := open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(file)
		if string(text) != "the file" || err != nil || file.Close() != nil {
			t.Errorf("read %q, %v", text, err)
		}
	}
	if n := len(s.requests()); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
	for _, got := range files.requests() {
		if got.header.Get("Authorization") != "" {
			t.Error("the key went to the store of files")
		}
	}
}

func TestI3DownloadFails(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(404, `{"code":"resource_not_found"}`))
	if _, err := c.Artifacts.Download(t.Context(), "a1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	c, _ = scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "the fi")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	file, err := c.Artifacts.Download(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.ReadAll(file); !errors.Is(err, ErrConnection) {
		t.Errorf("a cut file: %v", err)
	}
	c, _ = scripted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := c.With(WithTimeout(50*time.Millisecond), WithMaxRetries(0)).Artifacts.Download(t.Context(), "a1"); !errors.Is(err, ErrTimeout) {
		t.Errorf("a file that does not come: %v", err)
	}
}

// Changes of states are resumed by their cursors.
func TestI3StreamStatesResumes(t *testing.T) {
	t.Parallel()
	stream := func(text string, cut bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
			if cut {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}
	}
	frame := func(cursor, run string) string {
		return "id: " + cursor + "\ndata: {\"id\":\"e\",\"sequence\":1,\"type\":\"state\",\"run_id\":\"" + run + "\",\"data\":{\"to\":\"QUEUED\"}}\n\n"
	}
	c, s := scripted(t, stream(frame("c1", "r1")+frame("c2", "r2")+"id: c3\nda", true), stream(frame("c3", "r3"), false), answer(403, ""))
	var runs []string
	var last error
	for change, err := range c.Runs.StreamStates(t.Context(), RunQuery{Name: "n", Cursor: "c0", Limit: 7}) {
		if last = err; err == nil {
			runs = append(runs, change.RunID+"@"+change.Cursor)
		}
	}
	if got := strings.Join(runs, " "); got != "r1@c1 r2@c2 r3@c3" || !errors.Is(last, ErrDenied) {
		t.Errorf("changes %s, then %v", got, last)
	}
	var resumed []string
	for _, got := range s.requests() {
		resumed = append(resumed, got.header.Get("Last-Event-ID"))
		if got.path != "/api/v1/agent/events/stream" || got.query != "name=n" {
			t.Errorf("asked for %s?%s", got.path, got.query)
		}
	}
	if got := strings.Join(resumed, " "); got != "c0 c2 c3" {
		t.Errorf("resumed after %s", got)
	}
}

// With changes a copy.
func TestI3WithLeavesTheClientAsItIs(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"role":"admin"}`, "X-Extra", "yes"))
	var raw Response
	if _, err := c.With(WithHeader("X-Team", "red"), WithResponse(&raw)).Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	if raw.Status != 200 || raw.Header.Get("X-Extra") != "yes" || string(raw.Body) != `{"role":"admin"}` {
		t.Errorf("response %+v", raw)
	}
	raw = Response{}
	if _, err := c.Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := s.requests()
	if got[0].header.Get("X-Team") != "red" || got[1].header.Get("X-Team") != "" || raw.Status != 0 {
		t.Errorf("headers %v and %v, response %+v", got[0].header, got[1].header, raw)
	}
}

// Every kind of error differs from all others.
func TestI3KindsOfErrors(t *testing.T) {
	t.Parallel()
	kinds := []error{
		ErrInvalid, ErrUnauthenticated, ErrDenied, ErrNotFound, ErrConflict, ErrTooLarge, ErrNotSupported, ErrRateLimited,
		ErrServer, ErrConnection, ErrTimeout, ErrAnswer, ErrUsage,
	}
	for status, want := range map[int]error{
		400: ErrInvalid, 401: ErrUnauthenticated, 403: ErrDenied, 404: ErrNotFound, 409: ErrConflict, 413: ErrTooLarge,
		422: ErrNotSupported, 429: ErrRateLimited, 500: ErrServer, 503: ErrServer, 599: ErrServer, 405: nil, 418: nil,
	} {
		c, _ := scripted(t, answer(status, ""))
		err := c.Do(t.Context(), http.MethodGet, "/x", nil, nil)
		for _, kind := range kinds {
			if is := errors.Is(err, kind); is != errors.Is(kind, want) {
				t.Errorf("%d is %q: %v", status, kind, is)
			}
		}
	}
}
