package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	controlbase "github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web"
)

var sequences = regexp.MustCompile(`data-seq="(\d+)"`)

func shownSequences(text string) string {
	var list []string
	for _, found := range sequences.FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return strings.Join(list, " ")
}

// S-3: who sees which buttons, and what happens to those who press them all the same.
func TestS3ButtonsOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	runID, _ := s.working(lineshaft.NewRun{})
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin} {
		buttons := role == lineshaft.RoleManager || role == lineshaft.RoleAdmin // nobody else's run
		s.as(role)
		status, _, text := s.get("/runs/" + runID)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", role, status)
		}
		for _, button := range []string{">Interrupt<", ">Cancel run<", ">Send<"} {
			if strings.Contains(text, button) != buttons {
				t.Errorf("%s: %s is shown: %t", role, button, !buttons)
			}
		}
		if buttons {
			continue
		}
		for path, form := range map[string]url.Values{"followups": {"message": {"x"}}, "cancel": {"children": {"cancel"}}, "interrupt": nil} {
			if status, _, _ := s.post("/runs/"+runID+"/"+path, form); status != http.StatusForbidden {
				t.Errorf("%s: POST %s: %d", role, path, status)
			}
		}
	}
	s.as(lineshaft.RoleViewer)
	if status, _, _ := s.post("/runs/"+runID+"/rerun", nil); status != http.StatusForbidden {
		t.Errorf("rerun as a viewer: %d", status)
	}
	if run, err := s.control.GetRun(t.Context(), s.admin, runID); err != nil || run.State != lineshaft.InProgress {
		t.Errorf("the run is %v (%v)", run, err)
	}
}

// interrupt, cancel and run again, as pages and as parts of a page.
func TestR7ActionsOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, _ := s.working(lineshaft.NewRun{Title: "First"})
	part := map[string]string{"Hx-Request": "true"}
	if status, _, text := s.do(http.MethodPost, "/runs/"+runID+"/interrupt", nil, part); status != http.StatusOK || strings.Contains(text, "<html") || !strings.Contains(text, "asked to stop") {
		t.Errorf("interrupt: %d %s", status, text)
	}
	s.shows("/runs/"+runID, "In progress", "interrupted; a follow-up continues the run", "Say below what to do next", "!>Interrupt<", "!the agent is working")
	if status, at, text := s.post("/runs/"+runID+"/cancel", nil); status != http.StatusOK || at != "/runs/"+runID || !strings.Contains(text, "Run again") || strings.Contains(text, ">Interrupt<") {
		t.Errorf("cancel: %d at %s", status, at)
	}
	if status, _, text := s.do(http.MethodPost, "/runs/"+runID+"/interrupt", nil, part); status != http.StatusConflict || strings.Contains(text, "<html") {
		t.Errorf("interrupt of an ended run: %d %s", status, text)
	}
	status, at, text := s.post("/runs/"+runID+"/rerun", nil)
	if status != http.StatusOK || at == "/runs/"+runID || !strings.Contains(text, "First") || !strings.Contains(text, "A new run of the same request") {
		t.Errorf("rerun: %d at %s", status, at)
	}
	// A follow-up that cannot be sent is not lost.
	if status, _, text = s.post("/runs/"+runID+"/followups", url.Values{"message": {"half <typed>\x00"}}); status != http.StatusBadRequest || !strings.Contains(text, "half &lt;typed&gt;") || !strings.Contains(text, `role="alert"`) {
		t.Errorf("bad follow-up: %d\n%s", status, text)
	}
	if status, _, text = s.do(http.MethodPost, "/runs/"+runID+"/followups", url.Values{"message": {""}}, part); status != http.StatusBadRequest || strings.Contains(text, "<html") {
		t.Errorf("empty follow-up of a part: %d %s", status, text)
	}
}

func TestR7CancelWithChildren(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, _ := s.working(lineshaft.NewRun{})
	child, err := s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "c", Title: "Child <1>", ParentRunID: runID, Source: lineshaft.SourceAPI}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, text := s.get("/runs/" + runID)
	for _, want := range []string{"Child &lt;1&gt;", "/runs/" + child.RunID, "Also cancel the runs that it started (1 not ended)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if _, _, text = s.get("/runs/" + child.RunID); !strings.Contains(text, "Parent run") || !strings.Contains(text, `href="/runs/`+runID+`"`) {
		t.Error("the child does not name its parent")
	}
	s.post("/runs/"+runID+"/cancel", url.Values{"children": {"cancel"}})
	if run, err := s.control.GetRun(t.Context(), s.admin, child.RunID); err != nil || run.State != lineshaft.Cancelled {
		t.Errorf("the child is %v (%v)", run, err)
	}
}

// I-2: a long log opens at its end, and each part before it is a page of its own.
func TestI2LongLogInParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, job := s.working(lineshaft.NewRun{})
	texts := make([]string, 700)
	for i := range texts {
		texts[i] = fmt.Sprintf("line %d\n", i)
	}
	s.tell(job, 1, texts...)
	run, err := s.control.GetRun(t.Context(), s.admin, runID)
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	address := "/runs/" + runID
	for pages := 0; address != ""; pages++ {
		status, _, text := s.get(address)
		if status != http.StatusOK || pages > 5 {
			t.Fatalf("%s: %d", address, status)
		}
		if pages == 0 && (!strings.Contains(text, "line 699\n") || !strings.Contains(text, fmt.Sprintf(`data-after="%d"`, run.LastSequence)) || !strings.Contains(text, `data-follow="true"`)) {
			t.Error("the first page is not the end")
		}
		if pages == 1 && (!strings.Contains(text, "Show later") || !strings.Contains(text, `data-follow="false"`)) {
			t.Error("nothing leads on from an earlier part")
		}
		part := shownSequences(text)
		if _, _, items := s.get(strings.Replace(address, runID, runID+"/items", 1)); shownSequences(items) != part || strings.Contains(items, "<html") {
			t.Errorf("%s: the part alone differs from the page", address)
		}
		seen = part + " " + seen
		address = ""
		if found := regexp.MustCompile(`<p id="earlier"><a class="button small" href="([^"]*)"`).FindStringSubmatch(text); found != nil {
			address = found[1]
		}
	}
	var want []string
	for i := range run.LastSequence {
		want = append(want, fmt.Sprint(i+1))
	}
	if strings.TrimSpace(seen) != strings.Join(want, " ") {
		t.Errorf("the parts together have %s", seen)
	}
	for _, bad := range []string{"0", "-1", "x", "9999999999999999999"} {
		if status, _, _ := s.get("/runs/" + runID + "?before=" + bad); status != http.StatusBadRequest {
			t.Errorf("before=%s: %d", bad, status)
		}
	}
	if status, _, text := s.get("/runs/" + runID + "?before=100000"); status != http.StatusOK || !strings.Contains(text, `data-follow="true"`) {
		t.Errorf("before the future: %d", status)
	}
}

// S-4: a page is bounded however large the events are.
func TestS4PageOfLargeEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, job := s.working(lineshaft.NewRun{})
	for i := range 40 {
		s.tell(job, int64(i*4+1), strings.Repeat("<", 60<<10), strings.Repeat("x", 60<<10), strings.Repeat("é", 30<<10), "\x1b[31mred\x1b[0m\n")
	}
	_, _, text := s.get("/runs/" + runID)
	if len(text) > 2<<20 || strings.Contains(text, "\x1b") || !strings.Contains(text, "red\n") {
		t.Errorf("the page has %d bytes", len(text))
	}
}

// S-4: the log is saved as text that no browser runs.
func TestS4LogToSave(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, job := s.working(lineshaft.NewRun{Prompt: "<script>alert(1)</script>"})
	texts := make([]string, 400)
	for i := range texts {
		texts[i] = fmt.Sprintf("out %d\n", i)
	}
	s.tell(job, 1, texts...)
	for path, want := range map[string]string{
		"/log": "out 399\n", "/log?event=2": "<script>alert(1)</script>",
		"/log?event=2&shown=1": "<script>alert(1)</script>",
	} {
		res, err := s.browser.Get(s.url + "/runs/" + runID + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		h, as := res.Header, "attachment"
		if strings.HasSuffix(path, "shown=1") {
			as = "inline" // it is text to the browser all the same
		}
		if err != nil || !strings.Contains(string(text), want) || h.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(h.Get("Content-Disposition"), as) ||
			h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %v %v", path, h, err)
		}
	}
	for path, want := range map[string]int{"/log?event=0": 400, "/log?event=x": 400, "/log?event=5000": 404} {
		if status, _, _ := s.get("/runs/" + runID + path); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _, _ := s.get("/runs/01890000-0000-7000-8000-000000000000/log"); status != http.StatusNotFound {
		t.Errorf("log of no run: %d", status)
	}
}

// I-2: what a run came from, what shaped it and what it left are named with links.
func TestI2SideOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	factory, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "Shop <b>"})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := s.control.CreateWebhook(t.Context(), s.admin, factory.UID, factories.NewWebhook{Name: "Orders"})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := s.control.ListAgents(t.Context(), s.admin, factory.UID, controlbase.MaxPage, "")
	if err != nil || len(agents.Items) == 0 {
		t.Fatal(agents, err)
	}
	runID, job := s.working(lineshaft.NewRun{
		AgentUID: agents.Items[0].UID, Metadata: map[string]string{lineshaft.MetadataWebhook: hook.UID, lineshaft.MetadataDelivery: "d-1", "team": "<ops>"},
		Config: lineshaft.AgentConfig{ModelID: "m<1>"}, Attachments: []lineshaft.NewAttachment{{FileName: "in.txt", MimeType: "text/html", Data: []byte("x")}},
	})
	blob, err := s.control.Upload(t.Context(), job.ExecutionRef, lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "out.html", FilePath: "out.html", MimeType: "text/html"}, strings.NewReader("<script>"))
	if err != nil || blob == "" {
		t.Fatal(blob, err)
	}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{
		lineshaft.NewDraft(lineshaft.EventUsage, time.Now(), lineshaft.UsageData{ModelID: "big<er>", InputTokens: 1000, OutputTokens: 20, CostMicros: 1_500_000}),
	}})
	s.end(job, lineshaft.TurnResult{State: lineshaft.Failed, Message: "it <broke>", Code: lineshaft.CodeAgentProcessFailed})
	_, _, text := s.get("/runs/" + runID)
	base := "/factories/" + factory.UID
	for _, want := range []string{
		"Shop &lt;b&gt;", `href="` + base + `"`, `href="` + base + "/webhooks/" + hook.UID + `"`, `href="` + base + "/webhooks/" + hook.UID + `/deliveries/d-1"`,
		`href="/agents/` + agents.Items[0].UID + `"`, "&lt;ops&gt;", "m&lt;1&gt;", "from run", "in.txt", `href="/runs/` + runID + "/artifacts/", `href="/runs/` + runID + "/attachments/", "out.html",
		"big&lt;er&gt;", "$1.50", "it &lt;broke&gt;", "agent_process_failed", "The end of the transcript shows what failed", "Execution 1: worked", "Failed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, "/downloads/") {
		t.Error("a link works by itself")
	}
	if strings.Contains(text, "webhook_id") {
		t.Error("what has a link is told twice")
	}
}

// I-2: a run that a schedule started leads to that schedule, as long as there is one.
func TestI2RunLeadsToItsSchedule(t *testing.T) {
	t.Parallel()
	ahead := time.Duration(0)
	s := newSite(t, func(c *controlbase.Config) { c.Clock = func() time.Time { return time.Now().Add(ahead) } })
	s.signIn(s.key)
	made := must(s.control.CreateSchedule(t.Context(), s.admin, trigger.NewSchedule{Name: "watch", Timing: lineshaft.Timing{Cron: "@every 2m"}, Enabled: true, Prompt: "look"}))
	ahead = 3 * time.Minute
	if fired := must(s.control.FireDue(t.Context())); fired != 1 {
		t.Fatalf("%d schedules fired", fired)
	}
	run := s.lastRun()
	s.shows("/runs/"+run.ID, `<dt>Schedule</dt><dd><a href="/schedules/`+made.ID+`"><bdi>watch</bdi></a>`)
	must(0, s.control.DeleteSchedule(t.Context(), s.admin, made.ID))
	s.shows("/runs/"+run.ID, `<dt>Schedule</dt>`, "!/schedules/"+made.ID)
}

// messages carry several events, follow each other without a hole, and the rest of
// the page comes with them.
func TestR9StreamOfManyEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, job := s.working(lineshaft.NewRun{})
	texts := make([]string, 1500)
	for i := range texts {
		texts[i] = fmt.Sprintf("line %d %s\n", i, strings.Repeat("<", 100))
	}
	s.tell(job, 1, texts...)
	s.end(job, lineshaft.TurnResult{State: lineshaft.Succeeded})
	begun := time.Now()
	messages, sides, ended := s.stream(runID, 0, "")
	if took := time.Since(begun); took < time.Duration(len(messages)-1)*40*time.Millisecond {
		t.Errorf("%d messages within %s", len(messages), took)
	}
	last := int64(0)
	for _, m := range messages {
		if m.First != last+1 || m.Last < m.First || m.Last-m.First >= 300 || len(m.HTML) > 1<<20 {
			t.Fatalf("after %d comes %d to %d with %d bytes", last, m.First, m.Last, len(m.HTML))
		}
		last = m.Last
	}
	run, err := s.control.GetRun(t.Context(), s.admin, runID)
	if err != nil || last != run.LastSequence || len(messages) > 30 || !ended {
		t.Errorf("%d messages to %d, ended %t, %v", len(messages), last, ended, err)
	}
	if len(sides) == 0 || !strings.Contains(sides[len(sides)-1], "Succeeded") || !strings.Contains(sides[len(sides)-1], "Run again") {
		t.Errorf("%d sides", len(sides))
	}
	// Wherever a browser comes back, by either way of saying so, it gets the rest and no more.
	for _, after := range []int64{1, 2, 777, last - 1} {
		for _, header := range []string{"", fmt.Sprint(after)} {
			messages, _, ended = s.stream(runID, map[bool]int64{true: after, false: 3}[header == ""], header)
			if len(messages) == 0 || messages[0].First != after+1 || messages[len(messages)-1].Last != last || !ended {
				t.Errorf("after %d (%q): %d messages", after, header, len(messages))
			}
		}
	}
	if messages, _, ended = s.stream(runID, last, ""); len(messages) != 0 || !ended {
		t.Errorf("at the end: %d messages", len(messages))
	}
	for _, bad := range []string{"x", "-1"} {
		if status, _, _ := s.get("/runs/" + runID + "/events?after=" + bad); status != http.StatusBadRequest {
			t.Errorf("after=%s: %d", bad, status)
		}
	}
}

// A page that is thousands of events behind must start again at the end.
func TestR9StreamOfAPageFarBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID, job := s.working(lineshaft.NewRun{})
	texts := make([]string, 1000)
	for i := range 6 {
		s.tell(job, int64(i*1000+1), texts...)
	}
	if _, _, text := s.get("/runs/" + runID + "/events?after=1"); !strings.Contains(text, "event: far\n") || strings.Contains(text, "line") {
		t.Errorf("%.200s", text)
	}
}

type streamed struct {
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	HTML  string `json:"html"`
}

// stream reads the stream of a run to its end.
func (s *site) stream(runID string, after int64, lastEventID string) (messages []streamed, sides []string, ended bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/runs/%s/events?after=%d", s.url, runID, after), nil)
	if err != nil {
		s.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewReader(res.Body)
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return messages, sides, ended
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		switch {
		case !ok:
		case event == "side":
			sides = append(sides, data)
		case event == "end":
			ended = true
		default:
			var m streamed
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				s.Fatal(err)
			}
			messages = append(messages, m)
		}
		if line == "\n" {
			event = ""
		}
	}
}

// A run of an agent that is gone cannot be run again: its page says so instead of offering it.
func TestR13RunAgainIsOfferedWhereItCanWork(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	agent, err := s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{Name: "helper"})
	if err != nil {
		t.Fatal(err)
	}
	runID := s.startFor(s.admin, lineshaft.NewRun{Prompt: "p", AgentUID: agent.UID})
	if _, err := s.control.Cancel(t.Context(), s.admin, runID, false, nil); err != nil {
		t.Fatal(err)
	}
	s.shows("/runs/"+runID, "Run again", "!cannot be run again")
	if err := s.control.DeleteAgent(t.Context(), s.admin, agent.UID); err != nil {
		t.Fatal(err)
	}
	s.shows("/runs/"+runID, "!Run again", "It cannot be run again: ", agent.UID)
	if status, _, _ := s.post("/runs/"+runID+"/rerun", nil); status < 400 {
		t.Errorf("the page says that it cannot, and it can: %d", status)
	}
}

// What people take from a run to a shell or a ticket is on its page, prompts that are not too
// long included.
func TestI2RunPageHasWhatIsCopied(t *testing.T) {
	t.Parallel()
	s := newSite(t).withDeps(func(*web.Deps) {})
	s.signIn(s.key)
	id := s.start("Say <b>hello</b>\n\n* twice")
	s.shows("/runs/"+id, ">"+id+"</pre>", "lineshaft runs logs -f "+id, "lineshaft runs rerun "+id,
		"curl -H &#34;Authorization: Bearer $LINESHAFT_API_KEY&#34; https://a.example/api/v1/agent/runs/"+id, ">Say &lt;b&gt;hello&lt;/b&gt;\n\n* twice</pre>")
	s.shows("/runs/"+s.start(strings.Repeat("long ", 10_000)), `aria-label="curl"`, `!aria-label="Prompt"`)
}

// A run that failed leads to its first error, without any script.
func TestI2FailedRunLeadsToItsFirstError(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	id, job := s.working(lineshaft.NewRun{})
	s.shows("/runs/"+id, "!Show the first error")
	bad := lineshaft.ToolResultData{ID: "c", Name: "shell", State: "failed"}
	events := []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventToolResult, time.Now(), bad)}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: events})
	s.end(job, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Failed})
	s.shows("/runs/"+id, `href="/runs/`+id+`/find?only=errors"`)
	if _, at, _ := s.get("/runs/" + id + "/find?only=errors"); !strings.HasPrefix(at, "/runs/"+id+"?at=") {
		t.Errorf("the first error is at %s", at)
	}
}

// The outline of a long log names what was asked and what failed, at most 50 at a time, and is read on demand.
func TestI2OutlineOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	id, job := s.working(lineshaft.NewRun{Prompt: "First " + hostile})
	draft := func(kind lineshaft.EventType, data any) lineshaft.Draft {
		return lineshaft.NewDraft(kind, time.Now(), data)
	}
	events := []lineshaft.Draft{draft(lineshaft.EventMessage, lineshaft.MessageData{Role: "assistant", Text: "I work on it"})}
	for n := range 60 {
		call := lineshaft.ToolCallData{ID: fmt.Sprint("c", n), Name: "bash", Input: map[string]any{"command": fmt.Sprintf("step %d;", n)}}
		good, bad := lineshaft.ToolResultData{ID: call.ID, Name: "bash", State: "completed"}, lineshaft.ToolResultData{ID: call.ID, Name: "bash", State: "failed"}
		events = append(events, draft(lineshaft.EventToolCall, call), draft(lineshaft.EventToolResult, good),
			draft(lineshaft.EventToolCall, call), draft(lineshaft.EventToolResult, bad))
	}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: 1, Events: events})
	must(s.control.Followup(t.Context(), s.admin, lineshaft.NewFollowup{RunID: id, Message: "And then this"}, nil))
	s.end(job, lineshaft.TurnResult{Turn: lineshaft.PromptTurn, State: lineshaft.Failed})
	s.shows("/runs/"+id, `hx-get="/runs/`+id+`/outline"`, `href="/runs/`+id+`/outline"`, "!data-event")
	_, _, first := s.get("/runs/" + id + "/outline")
	next := regexp.MustCompile(`/outline\?after=\d+`).FindString(first)
	if strings.Count(first, "data-event") != 50 || strings.Count(first, ">failed<") != 49 || next == "" || !strings.Contains(first, "First &lt;script&gt;") ||
		!strings.Contains(first, "step 48;") || strings.Contains(first, "step 49;") || strings.Contains(first, "I work on it") {
		t.Errorf("outline: %s", content(first))
	}
	s.shows("/runs/"+id+next, "step 59;", "Follow-up</span>", "And then this", "!step 48;", "!Continue after")
	if status, _, _ := s.get("/runs/" + id + "/outline?after=x"); status != http.StatusBadRequest {
		t.Errorf("after x: %d", status)
	}
}
