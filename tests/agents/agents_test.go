package agents

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const (
	// patience is for everything that one agent does here.
	patience = 10 * time.Minute
	// soon is for one step of that, on a machine that is busy with everything else.
	soon = 2 * time.Minute
)

// combination is one way to drive one agent.
type combination struct {
	agent, mode string
	// web names the tool over HTTP as this agent offers it; empty is not tried.
	web string
	// postgres keeps the run in PostgreSQL; keys looks for the keys in the sandbox.
	postgres, keys bool
	// silent says that the agent tells of a tool when it has ended and not before.
	silent bool
	// titled says that the agent asks the model for a title beside its first turn.
	titled bool
}

// combinations are the ways that are tried: one in make test, all in make test-all.
func combinations() []combination {
	all := []combination{
		{agent: "claude", mode: lineshaft.ModeACP, web: "mcp__web__ping", keys: true, titled: true},
		{agent: "codex", mode: lineshaft.ModeACP, postgres: true},
		{agent: "gemini", mode: lineshaft.ModeACP},
		{agent: "opencode", mode: lineshaft.ModeACP, web: "web_ping"},
		{agent: "claude", mode: lineshaft.ModeCommand, web: "mcp__web__ping"},
		{agent: "codex", mode: lineshaft.ModeCommand},
		{agent: "gemini", mode: lineshaft.ModeCommand},
		{agent: "opencode", mode: lineshaft.ModeCommand, web: "web_ping", silent: true},
	}
	if os.Getenv("LINESHAFT_TEST_ALL") == "" && os.Getenv("LINESHAFT_SOAK") == "" {
		return all[:1]
	}
	return all
}

// Each agent does a task with a tool, calls tool servers, remembers what was said when
// it is told more, in the same execution and in a later one, and leaves nothing behind
// when a tool is cut off. The API tells all of it.
func TestX6RealAgents(t *testing.T) {
	t.Parallel()
	agents, server := installed(t)
	for _, c := range combinations() {
		t.Run(c.agent+" "+c.mode, func(t *testing.T) {
			t.Parallel()
			database := ""
			if c.postgres {
				database = storetest.Postgres(t)
			}
			p := c.pace()
			s := open(t, agents, server, database, p.answer)
			t.Cleanup(p.release) // before the model waits for its answers
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			s.work(ctx, c, server, p)
			t.Logf("the work took %s", time.Since(began).Round(time.Millisecond))
			s.tools(c)
			s.memory("SAY: still here")
			s.usage(ctx, c)
			s.cancel(ctx, c)
			if told := s.told() + s.get("/api/v1/agent/runs/"+s.runID+"/transcript"); strings.Contains(told, s.realKey) || strings.Contains(told, s.ping) || strings.Contains(told, s.web) {
				t.Errorf("a secret was told: %s", told)
			}
		})
	}
}

// pace holds two answers of the model back: the first one until the run has its follow-ups,
// since it could end before them, and the last one until the run has counted the title, since
// a request that the end of a run cuts off can only be estimated.
type pace struct {
	begun, followed, titled chan struct{}
	begin, follow, title    func()
}

func (c combination) pace() *pace {
	p := &pace{begun: make(chan struct{}), followed: make(chan struct{}), titled: make(chan struct{})}
	p.begin, p.follow = sync.OnceFunc(func() { close(p.begun) }), sync.OnceFunc(func() { close(p.followed) })
	p.title = sync.OnceFunc(func() { close(p.titled) })
	if !c.titled {
		p.title()
	}
	return p
}

// release lets every answer go.
func (p *pace) release() {
	p.follow()
	p.title()
}

func (p *pace) answer(asked fakemodel.Conversation) fakemodel.Reply {
	text, _ := asked.Asked()
	switch {
	case strings.Contains(text, firstPrompt):
		p.begin()
		<-p.followed
	case strings.Contains(text, "SAY: still here"):
		<-p.titled
	}
	return fakemodel.Usual(asked)
}

const firstPrompt = "RUN: echo made-by-the-agent >made.txt; cat made.txt"

// work starts a run with two follow-ups that come while it runs, and waits for its end.
func (s *stage) work(ctx context.Context, c combination, server string, p *pace) {
	s.t.Helper()
	config := &client.AgentConfig{
		Harness:    &client.Harness{Type: c.agent, Mode: c.mode},
		MCPServers: map[string]client.MCPServer{"test server": {Command: server, Env: map[string]string{"PING_ENV": "{{PING}}"}}},
	}
	message := "MCP: ping over-there"
	if c.web != "" {
		config.MCPServers["web"] = client.MCPServer{URL: listen(s.t, server), Headers: map[string]string{"X-Ping-Header": "{{WEB}}"}}
		message += "\nTOOL: " + c.web + ` {"text":"far-away"}`
	}
	started, err := s.api.Runs.Create(ctx, client.RunRequest{Prompt: firstPrompt, Config: config})
	if err != nil {
		s.t.Fatal(err)
	}
	s.runID = started.RunID
	alive, stop := s.alive(ctx)
	defer stop()
	select {
	case <-p.begun:
	case <-alive.Done():
		s.t.Fatalf("the model was not asked\n%s", s.told())
	}
	s.await("the run is not in progress", soon, func() bool { // the agent may be quicker than the report that it runs
		run, err := s.api.Runs.Get(ctx, s.runID)
		return err == nil && run.State == client.StateInProgress
	})
	for _, m := range []string{message, "SAY: still here"} {
		if got, err := s.api.Runs.Followup(ctx, s.runID, client.FollowupRequest{Message: m}); err != nil || got.Outcome != "live_session" {
			s.t.Fatalf("follow-up: %+v, %v\n%s", got, err, s.told())
		}
	}
	p.follow()
	if c.titled {
		s.await("the title is not counted", soon, func() bool {
			asked := slices.ContainsFunc(s.model.Requests(), isTitle)
			run, err := s.api.Runs.Get(ctx, s.runID)
			sum := s.model.Usage("")
			return asked && err == nil && run.RequestUsage != nil && run.RequestUsage.TotalTokens == sum.Input+sum.Output
		})
		p.title()
	}
	run, err := s.api.Runs.Wait(ctx, s.runID, client.WaitOptions{Interval: 100 * time.Millisecond})
	if err != nil || run.State != client.StateSucceeded {
		s.t.Fatalf("run %s, %v\n%s", run.RawJSON(), err, s.told())
	}
}

// watch waits until the model's requests fit, and fails when the run ends before.
func (s *stage) watch(ctx context.Context, fit func([]fakemodel.Request) bool) {
	s.t.Helper()
	alive, stop := s.alive(ctx)
	defer stop()
	if err := s.model.Await(alive, fit); err != nil {
		s.t.Fatalf("the model was not asked: %v\n%s", err, s.told())
	}
}

// alive is a context that ends with the run: however it ends, there is nothing more to wait for.
func (s *stage) alive(ctx context.Context) (alive context.Context, stop func()) {
	alive, stop = context.WithCancel(ctx)
	go func() {
		_, _ = s.api.Runs.Wait(alive, s.runID, client.WaitOptions{}) // see above
		stop()
	}()
	return alive, stop
}

// parts are the conversation as the API has it. A message is where it was said, even if
// that was in the middle of a turn, so steps do not tell turns apart here.
type parts struct {
	asked, answered  []string
	actions, results []api.ConversationContent
	text             string
}

func (s *stage) parts() parts {
	s.t.Helper()
	conversation, text := s.conversation()
	p := parts{text: text}
	for _, step := range conversation.Steps {
		for _, m := range step.Messages {
			for _, c := range m.Content {
				switch {
				case c.Type == "action":
					p.actions = append(p.actions, c)
				case c.Type == "action_result":
					p.results = append(p.results, c)
				case c.Type == "text" && m.Role == "user":
					p.asked = append(p.asked, *c.Text)
				case c.Type == "text":
					p.answered = append(p.answered, *c.Text)
				}
			}
		}
	}
	// Codex says before each turn that it does not know the model.
	for i, text := range p.answered {
		p.answered[i] = unknownModel.ReplaceAllString(text, "")
	}
	p.answered = slices.DeleteFunc(p.answered, func(text string) bool { return text == "" })
	return p
}

var unknownModel = regexp.MustCompile("^Model metadata for `fake-1` not found[^;]*;[^.]*\\.")

// tools looks at the turns so far: the shell did its work, and the tool servers got
// their secrets, which nobody else sees.
func (s *stage) tools(c combination) {
	s.t.Helper()
	want := []string{"made-by-the-agent\n", "pong text=over-there env=***PING***"}
	if c.web != "" {
		want = append(want, "pong text=far-away env= header=***")
	}
	p := s.parts()
	if len(p.actions) != len(want) || len(p.results) != len(want) || len(p.asked) != 3 {
		s.t.Fatalf("actions %+v, results %+v\n%s", p.actions, p.results, p.text)
	}
	for i, r := range p.results {
		category := "integration"
		if i == 0 {
			category = "command"
		}
		var shown struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(r.Output, &shown)
		output := shown.Text
		if p.actions[i].ID != r.ActionID || p.actions[i].Category != category || r.Category != category || r.State != "completed" || !strings.Contains(output+"\n", want[i]) {
			s.t.Errorf("action %+v, result %+v, want %q", p.actions[i], r, want[i])
		}
		if i > 0 && !strings.Contains(r.Name, "ping") {
			s.t.Errorf("name %q", r.Name)
		}
	}
	if !slices.Equal(p.answered, []string{fakemodel.FinalText, fakemodel.FinalText, "still here"}) {
		s.t.Errorf("answers %q\n%s", p.answered, p.text)
	}
}

// memory proves with the model's requests that the agent still knows the first turns.
func (s *stage) memory(message string) {
	s.t.Helper()
	for _, request := range s.model.Requests() {
		body := string(request.Body)
		if strings.Contains(body, "made-by-the-agent") && strings.Contains(body, "over-there") && strings.Contains(body, message) {
			return
		}
	}
	s.t.Errorf("no request had all turns before %q\n%s", message, s.told())
}

// isTitle says whether a request that costs something is for a title: it offers no tools.
func isTitle(r fakemodel.Request) bool {
	return r.Usage != (fakemodel.Usage{}) && len(r.Conversation.Tools) == 0
}

// usage compares what the run shows with what the model counted. Agents that can do without
// a title ask for none.
func (s *stage) usage(ctx context.Context, c combination) {
	s.t.Helper()
	for i, request := range s.model.Requests() {
		if !c.titled && isTitle(request) {
			s.t.Errorf("request %d of %s offers no tools: %.2000s", i, c.agent, request.Body)
		}
	}
	run, err := s.api.Runs.Get(ctx, s.runID)
	if err != nil {
		s.t.Fatal(err)
	}
	sum := s.model.Usage("")
	used := run.RequestUsage
	if used == nil || used.TotalTokens != sum.Input+sum.Output || len(used.ModelTokenUsage) != 1 {
		s.t.Fatalf("usage %+v, the model counted %+v in %d requests\n%s", used, sum, len(s.model.Requests()), s.told())
	}
	one := used.ModelTokenUsage[0]
	if one.ModelID != "fake-1" || one.TokensByCategory["input"] != sum.Input || one.TokensByCategory["output"] != sum.Output || one.CostUnknownTokens != one.TotalTokens {
		s.t.Errorf("usage %+v, the model counted %+v", one, sum)
	}
}

// cancel cuts off a tool, parts of which run in a session of their own, in a later
// execution that goes on with the agent's session.
func (s *stage) cancel(ctx context.Context, c combination) {
	s.t.Helper()
	mark := uniqueMark()
	message := "RUN: setsid sleep " + mark + " & sleep " + mark
	if c.keys {
		message = "RUN: " + lookAround + message[len("RUN: "):]
	}
	if got, err := s.api.Runs.Followup(ctx, s.runID, client.FollowupRequest{Message: message}); err != nil || got.Outcome != "handoff_execution" {
		s.t.Fatalf("follow-up: %+v, %v", got, err)
	}
	s.watch(ctx, func(requests []fakemodel.Request) bool {
		return slices.ContainsFunc(requests, func(r fakemodel.Request) bool { return strings.Contains(string(r.Body), mark) })
	})
	s.await("the tool does not run", soon, func() bool { return len(sleepers(mark)) == 2 })
	s.memory(mark)
	s.await("the tool is not told", soon, func() bool { return c.silent || strings.Count(s.parts().text, mark) > 2 })
	if c.keys {
		s.keysAreOutside()
	}
	began := time.Now()
	if err := s.api.Runs.Cancel(ctx, s.runID); err != nil {
		s.t.Fatal(err)
	}
	run, err := s.api.Runs.Wait(ctx, s.runID, client.WaitOptions{Interval: 20 * time.Millisecond})
	if err != nil || run.State != client.StateCancelled {
		s.t.Fatalf("run %s, %v\n%s", run.RawJSON(), err, s.told())
	}
	s.await("the tool is still running", 10*time.Second, func() bool { return len(sleepers(mark)) == 0 })
	s.await("the agent is still running", 10*time.Second, func() bool { return len(s.processes()) == 0 })
	if took := time.Since(began); took > 15*time.Second {
		s.t.Errorf("the end took %s", took)
	}
	p := s.parts()
	if c.silent {
		return
	}
	action, result := p.actions[len(p.actions)-1], p.results[len(p.results)-1]
	if len(p.actions) != len(p.results) || action.ID != result.ActionID || action.Category != "command" || result.State != "failed" {
		s.t.Errorf("action %+v, result %+v\n%s", action, result, p.text)
	}
}

// await returns when something is true, and fails when that takes too long.
func (s *stage) await(problem string, limit time.Duration, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(limit); !done(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s\n%s", problem, s.told())
		}
		<-time.After(10 * time.Millisecond)
	}
}
