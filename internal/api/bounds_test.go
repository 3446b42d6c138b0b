package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// eightMiB is where a page ends (H-14).
const eightMiB = 8 << 20

func wrote(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: text})
}

// noisy starts a run whose log has pieces of that length.
func (b *bench) noisy(pieces, length int) (runID string) {
	runID = b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	for i := range pieces {
		b.report(job, int64(i+1), wrote(fmt.Sprintf("%06d", i)+strings.Repeat("x", length-6)))
	}
	return runID
}

// allocated is how many bytes of memory fn takes in all. Nothing else may run beside it.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A page of the log ends at 8 MiB with a cursor that leads on without a gap or a repeat.
func TestH14EventsPageEndsAtBytes(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.noisy(24, 1<<20)
	path := "/agent/runs/" + id + "/events?limit=5000&cursor="
	next, pages := int64(1), 0
	for cursor := ""; ; pages++ {
		w := b.check(t, scenario{method: get, path: path + cursor, as: lineshaft.RoleViewer, status: 200})
		if w.Body.Len() > eightMiB+eightMiB/50 {
			t.Errorf("page %d has %d bytes", pages, w.Body.Len())
		}
		page := decode[ListRunEventsResponse](t, w)
		for _, e := range page.Events {
			if e.Sequence != next {
				t.Fatalf("page %d has event %d where %d comes next", pages, e.Sequence, next)
			}
			next++
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
		if !page.PageInfo.HasNextPage || len(page.Events) == 0 {
			t.Fatalf("page %d: %+v with %d events", pages, page.PageInfo, len(page.Events))
		}
	}
	if pages < 3 || next < 24 {
		t.Errorf("%d pages, up to event %d", pages, next)
	}
}

// One event that is longer than a page is a page of its own.
func TestH14LongEventMakesProgress(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	b.report(job, 1, wrote(strings.Repeat("a", 9<<20)))
	b.report(job, 2, wrote("the end"))
	path, cursor := "/agent/runs/"+id+"/events?cursor=", ""
	for range 10 {
		page := decode[ListRunEventsResponse](t, b.check(t, scenario{method: get, path: path + cursor, as: lineshaft.RoleViewer, status: 200}))
		if len(page.Events) == 0 {
			t.Fatalf("nothing after %q", cursor)
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			if last := page.Events[len(page.Events)-1]; !strings.Contains(string(last.Data), "the end") {
				t.Errorf("ends with %s", last.Data)
			}
			return
		}
	}
	t.Error("no end")
}

// discarded takes an answer and keeps its length alone.
type discarded struct {
	*httptest.ResponseRecorder

	bytes int
}

// Write implements http.ResponseWriter.
func (d *discarded) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return io.Discard.Write(p)
}

// A long log, a long conversation and a list of long prompts take memory by the page, not
// by what is stored.
func TestH14AnswersTakeBoundedMemory(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	b := newServer(t)
	id := b.noisy(48, 1<<20)
	for range 40 {
		b.start(lineshaft.NewRun{Prompt: strings.Repeat("p", 1<<20), Config: lineshaft.AgentConfig{BasePrompt: strings.Repeat("b", 1<<20)}})
	}
	for path, most := range map[string]uint64{
		"/agent/runs/" + id + "/events?limit=5000": 120 << 20,
		"/agent/runs/" + id + "/conversation":      120 << 20,
		"/agent/runs?limit=500":                    400 << 20,
	} {
		w := &discarded{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), get, Prefix+path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleViewer))
		got := allocated(func() { b.srv.ServeHTTP(w, r) })
		if w.Code != 200 || got > most || w.bytes > eightMiB+eightMiB/50 {
			t.Errorf("%s: status %d, %d bytes of answer, %d MiB allocated; want at most %d MiB", path, w.Code, w.bytes, got>>20, most>>20)
		}
	}
}

// Lists have the beginning of prompts, cut between characters; the run itself has all of
// them.
func TestH14ListsCutPrompts(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	long := "é" + strings.Repeat("aé", 10_000) // the bound lies inside of a character
	servers := map[string]lineshaft.MCPServer{}
	for i := range 400 {
		servers[fmt.Sprintf("server-%d", i)] = lineshaft.MCPServer{URL: "https://tools.example/" + strings.Repeat("u", 100)}
	}
	id := b.start(lineshaft.NewRun{Prompt: long, Title: "long", Config: lineshaft.AgentConfig{BasePrompt: long, Name: "kept", MCPServers: servers}})
	short := b.start(lineshaft.NewRun{Prompt: strings.Repeat("x", 4096), Title: "short"})
	for _, path := range []string{"/agent/runs", "/agent/tasks", "/agent/runs?q=long", "/agent/runs?sort_by=title"} {
		list := decode[ListRunsResponse](t, b.check(t, scenario{method: get, path: path, as: lineshaft.RoleViewer, status: 200}))
		for _, run := range list.Runs {
			if run.RunID == short {
				if run.PromptTruncated || len(run.Prompt) != 4096 {
					t.Errorf("%s: %d bytes of a prompt of 4096, truncated %v", path, len(run.Prompt), run.PromptTruncated)
				}
				continue
			}
			if run.RunID != id || !run.PromptTruncated || run.AgentConfig.Name != "kept" {
				t.Fatalf("%s: %.200v", path, run)
			}
			for _, text := range []string{run.Prompt, run.SubmittedPrompt, run.AgentConfig.BasePrompt} {
				if text != "" && (len(text) < 4090 || len(text) > 4096 || !strings.HasPrefix(long, text)) {
					t.Errorf("%s: %d bytes, ending in %q", path, len(text), text[max(0, len(text)-4):])
				}
			}
			if text, err := json.Marshal(run.AgentConfig); err != nil || len(text) > 24<<10 {
				t.Errorf("%s: a configuration of %d bytes", path, len(text))
			}
		}
	}
	run := decode[RunItem](t, b.check(t, scenario{method: get, path: "/agent/runs/" + id, as: lineshaft.RoleViewer, status: 200}))
	if run.PromptTruncated || run.Prompt != long || run.AgentConfig.BasePrompt != long {
		t.Errorf("the run itself has %d and %d bytes of %d", len(run.Prompt), len(run.AgentConfig.BasePrompt), len(long))
	}
}

// A list continues where its bytes ended, without a gap or a repeat.
func TestH14RunsPageEndsAtBytes(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	const many = 140
	for range many { // each takes about 72 KB in an answer: six bytes for each of these
		b.start(lineshaft.NewRun{Prompt: strings.Repeat("\x01", 8<<10), Config: lineshaft.AgentConfig{BasePrompt: strings.Repeat("\x02", 8<<10)}})
	}
	seen, pages := map[string]bool{}, 0
	for cursor := ""; ; pages++ {
		w := b.check(t, scenario{method: get, path: "/agent/runs?limit=500&sort_by=created_at&cursor=" + cursor, as: lineshaft.RoleViewer, status: 200})
		if w.Body.Len() > eightMiB+eightMiB/50 {
			t.Errorf("page %d has %d bytes", pages, w.Body.Len())
		}
		page := decode[ListRunsResponse](t, w)
		for _, run := range page.Runs {
			if seen[run.RunID] {
				t.Fatalf("%s is there twice", run.RunID)
			}
			seen[run.RunID] = true
		}
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != many || pages == 0 {
		t.Errorf("%d runs on %d more pages", len(seen), pages)
	}
}

// Tens of thousands of open tool calls are found by their ids: the work grows with their
// number, not with its square.
func TestH14OpenToolCallsAreFoundByID(t *testing.T) {
	t.Parallel()
	const calls = 40_000
	b := newConversation()
	for i := range calls {
		b.add(&lineshaft.Event{Type: lineshaft.EventToolCall, Data: fmt.Appendf(nil, `{"id":"c%d","name":"n"}`, i)})
	}
	if len(b.waiting) != calls {
		t.Fatalf("%d calls are found by id", len(b.waiting))
	}
	for i := range calls {
		b.add(&lineshaft.Event{Type: lineshaft.EventOutput, Data: fmt.Appendf(nil, `{"stream":"stdout","tool_call_id":"c%d","text":"t%d"}`, i, i)})
		b.add(&lineshaft.Event{Type: lineshaft.EventToolResult, Data: fmt.Appendf(nil, `{"id":"c%d","output":{"x":1}}`, i)})
	}
	if len(b.waiting) != 0 {
		t.Errorf("%d calls wait", len(b.waiting))
	}
	got := b.finish("c", "").Steps[0].Messages
	if n := len(got[1].Content); n != calls || got[1].Content[n-1].Name != "n" || decoded(got[1].Content[n-1].Output)["stdout"] != fmt.Sprintf("t%d", calls-1) {
		t.Errorf("%d results, the last %+v", n, got[1].Content[n-1])
	}
}

// A conversation that is too long for one answer says so and continues at its cursor: what
// a call wrote is shown on the page where it was written, and its result where it came.
func TestH14ConversationGoesOn(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "x"})
	job := b.claim()
	kind := func(kind lineshaft.EventType, data string) lineshaft.Draft {
		return lineshaft.Draft{Type: kind, Time: time.Now(), Data: json.RawMessage(data)}
	}
	b.report(job, 1, kind("tool_call", `{"id":"t","name":"tool","category":"command"}`), kind("output", `{"stream":"stdout","tool_call_id":"t","text":"before"}`))
	for i := range 5 {
		b.report(job, int64(i+3), wrote(strings.Repeat("x", 1<<20)))
	}
	b.report(job, 8, kind("output", `{"stream":"stdout","tool_call_id":"t","text":"after"}`), kind("tool_result", `{"id":"t","name":"tool","state":"completed"}`))
	path := "/agent/runs/" + id + "/conversation"
	first := b.check(t, scenario{
		method: get, path: path, as: lineshaft.RoleViewer, status: 200,
		has: []string{`"name":"truncated"`, `"state":"running"`, `"stdout":"before"`}, not: []string{"after"},
	})
	if first.Body.Len() > eightMiB+eightMiB/50 {
		t.Errorf("%d bytes", first.Body.Len())
	}
	info := decode[ConversationResponse](t, first).PageInfo
	if info == nil || !info.HasNextPage {
		t.Fatal("no cursor")
	}
	b.check(t, scenario{
		method: get, path: path + "?cursor=" + info.NextCursor, as: lineshaft.RoleViewer, status: 200,
		has: []string{`"state":"completed"`, `"text":"after"`}, not: []string{"before", `"truncated"`, "page_info"},
	})
}

// The output written block by block is what the types say.
func TestH14WrittenAnswersAreTheTypes(t *testing.T) {
	t.Parallel()
	talked := talk(
		entry("message", `{"role":"user","text":"<do> \"it\""}`),
		entry("tool_call", `{"id":"1","category":"command","name":"sh","input":{"command":"rm x"}}`),
		entry("output", `{"stream":"stderr","tool_call_id":"1","text":"no\n"}`),
		entry("tool_result", `{"id":"1","output":{"exit_code":1}}`),
		entry("message", `{"role":"user","text":"again"}`),
		entry("plan", `{"steps":[]}`),
	)
	for _, answer := range []written{
		talked,
		ConversationResponse{Steps: []ConversationStep{}},
		talked.cutAt("7"),
		ListRunsResponse{Runs: []RunItem{}},
		ListRunsResponse{Runs: []RunItem{{RunID: "1"}, {RunID: "2"}}, PageInfo: pageInfo("x")},
	} {
		var text strings.Builder
		out := newJSONWriter(&text)
		answer.writeJSON(out)
		if err := out.finish(); err != nil {
			t.Fatal(err)
		}
		want, err := marshal(answer)
		if err != nil || text.String() != string(want) {
			t.Errorf("%v\n%s\n%s", err, text.String(), want)
		}
	}
}

// cutAt is the conversation with a cursor.
func (c ConversationResponse) cutAt(cursor string) ConversationResponse {
	info := pageInfo(cursor)
	c.PageInfo = &info
	return c
}

// A reader that takes its time holds neither the processor nor a place that others need.
func TestH14SlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.noisy(3, 300<<10)
	slow := &stuck{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), goOn: make(chan struct{})}
	r := httptest.NewRequestWithContext(t.Context(), get, Prefix+"/agent/runs/"+id+"/events", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleViewer))
	over := make(chan struct{})
	go func() { defer close(over); b.srv.ServeHTTP(slow, r) }()
	<-slow.begun
	for range 8 { // more than there are processors and places
		b.check(t, scenario{method: get, path: "/agent/runs/" + id + "/events", as: lineshaft.RoleViewer, status: 200})
		b.check(t, scenario{method: get, path: "/agent/runs", as: lineshaft.RoleViewer, status: 200})
	}
	close(slow.goOn)
	<-over
}

// stuck is a reader that takes nothing until it may continue.
type stuck struct {
	*httptest.ResponseRecorder

	begun, goOn chan struct{}
	once        sync.Once
}

// Write implements http.ResponseWriter.
func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.goOn
	return len(p), nil
}
