package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
)

// stateFile keeps the session for a later execution of the run. Files of such a
// name are part of snapshots.
const stateFile = "session-acp.json"

const (
	// replayQuiet is how long nothing may come after a session was loaded.
	replayQuiet = 300 * time.Millisecond
	// replayTime bounds the wait for that.
	replayTime = 10 * time.Second
)

// authRequired is the protocol's error code of an agent that wants to know who asks.
const authRequired = -32000

// capabilities are the abilities of an agent that matter here. They are read leniently: an agent
// that describes itself oddly may still work.
type capabilities struct {
	Load    bool `json:"loadSession"`
	Servers struct {
		HTTP bool `json:"http"`
	} `json:"mcpCapabilities"`
	Session struct {
		Resume json.RawMessage `json:"resume"`
	} `json:"sessionCapabilities"`
}

func (c capabilities) resumes() bool {
	return len(c.Session.Resume) > 0 && string(c.Session.Resume) != "null" && string(c.Session.Resume) != "false"
}

// remembers says that a new process can continue a session.
func (c capabilities) remembers() bool { return c.Load || c.resumes() }

type helloAnswer struct {
	Version json.Number     `json:"protocolVersion"`
	Can     json.RawMessage `json:"agentCapabilities"`
	Auth    []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

// sessionAnswer is the answer to making, loading and resuming a session.
type sessionAnswer struct {
	ID      string          `json:"sessionId"`
	Options json.RawMessage `json:"configOptions"`
	Modes   json.RawMessage `json:"modes"`
}

// state is the content of stateFile.
type state struct {
	Agent   string `json:"agent"`
	Session string `json:"session_id"`
	// Cost is what the session had cost by then, as the agent reckons: it continues
	// from there.
	Cost float64 `json:"cost,omitempty"`
	// Since is when it began.
	Since time.Time `json:"since"`
}

// connect makes a fresh process ready for prompts.
func (s *session) connect(ctx context.Context, a *agent) error {
	hello, err := call[helloAnswer](ctx, s, a, s.options.StartTime, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber, ClientInfo: &sdk.Implementation{Name: "lineshaft", Version: "1"},
	})
	if err != nil {
		return err
	}
	if hello.Version != "1" {
		problem := fmt.Sprintf("the agent speaks version %q of the Agent Client Protocol, this worker speaks version 1; install a version of the agent that speaks version 1", clip(string(hello.Version), 20))
		a.kill(problem) // its end may be reported before this error is
		return &lineshaft.Error{Code: lineshaft.CodeAgentProcessFailed, Message: problem}
	}
	_ = json.Unmarshal(hello.Can, &a.can)
	answer, err := s.enter(ctx, a)
	if problem := (*sdk.RequestError)(nil); errors.As(err, &problem) && problem.Code == authRequired {
		if err = s.authenticate(ctx, a, hello); err == nil {
			answer, err = s.enter(ctx, a)
		}
	}
	if err != nil {
		return err
	}
	s.choose(ctx, a, answer)
	if note := s.launch.form.asks; note != "" && !s.noted && s.launch.policy == lineshaft.PermissionsAsk {
		s.notice("warning", note)
		s.noted = true
	}
	a.session = answer.ID
	s.id = answer.ID
	return s.keep()
}

// authenticate has the agent use the key that its preset gave it.
func (s *session) authenticate(ctx context.Context, a *agent, hello helloAnswer) error {
	var names []string
	for _, method := range hello.Auth {
		names = append(names, method.Name)
		if method.ID != s.launch.form.auth || method.ID == "" {
			continue
		}
		_, err := call[json.RawMessage](ctx, s, a, s.options.SessionTime, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: method.ID})
		return err
	}
	return &lineshaft.Error{
		Code: lineshaft.CodeAgentProcessFailed,
		Message: fmt.Sprintf("the agent wants to be logged in (%s), which a run cannot do: %s",
			clip(strings.Join(names, ", "), 200), preset.KeyHint(s.launch.form.name)),
	}
}

// enter continues the earlier session, or makes a new one.
func (s *session) enter(ctx context.Context, a *agent) (sessionAnswer, error) {
	servers := s.servers(a)
	if id := s.earlier(); id != "" {
		answer, err := s.again(ctx, a, id, servers)
		if err == nil || a.over() || ctx.Err() != nil {
			answer.ID = id
			return answer, err
		}
		s.forget()
		s.notice("warning", "The agent could not continue its earlier session ("+describe(err)+").")
		s.lost = true
	} else if s.env.Continues() {
		s.lost = true
	}
	answer, err := call[sessionAnswer](ctx, s, a, s.options.SessionTime, sdk.AgentMethodSessionNew, sdk.NewSessionRequest{Cwd: s.launch.dir, McpServers: servers})
	if err == nil && answer.ID == "" {
		return answer, &lineshaft.Error{Code: lineshaft.CodeAgentProcessFailed, Message: "the agent made a session without an id"}
	}
	s.since = time.Now()
	return answer, err
}

// again resumes a session, which is quiet, or loads it, which replays its history.
func (s *session) again(ctx context.Context, a *agent, id string, servers []sdk.McpServer) (sessionAnswer, error) {
	err := errors.New("it cannot load sessions")
	var answer sessionAnswer
	if a.can.resumes() {
		answer, err = call[sessionAnswer](ctx, s, a, s.options.SessionTime, sdk.AgentMethodSessionResume,
			sdk.ResumeSessionRequest{SessionId: sdk.SessionId(id), Cwd: s.launch.dir, McpServers: servers})
		if err == nil || a.over() {
			return answer, err
		}
	}
	if a.can.Load {
		if err := s.awaitMinute(ctx); err != nil {
			return answer, err
		}
		a.wire.replay.Store(true)
		defer a.wire.replay.Store(false)
		answer, err = call[sessionAnswer](ctx, s, a, s.options.SessionTime, sdk.AgentMethodSessionLoad,
			sdk.LoadSessionRequest{SessionId: sdk.SessionId(id), Cwd: s.launch.dir, McpServers: servers})
		if err == nil {
			a.awaitQuiet(ctx)
		}
	}
	return answer, err
}

// awaitQuiet returns when the agent has replayed the history of a session: the answer
// should come after it, but some agents answer first.
func (a *agent) awaitQuiet(ctx context.Context) {
	over := time.NewTimer(replayTime)
	defer over.Stop()
	for told := int64(-1); told != a.wire.replayed.Load(); {
		told = a.wire.replayed.Load()
		pause := time.NewTimer(replayQuiet)
		select {
		case <-pause.C:
			continue
		case <-over.C:
		case <-a.gone:
		case <-ctx.Done():
		}
		pause.Stop()
		return
	}
}

// awaitMinute waits until the minute is over in which the session began, for an
// agent that spoils a session when it loads it any sooner.
func (s *session) awaitMinute(ctx context.Context) error {
	wait := time.Until(s.since.Truncate(time.Minute).Add(time.Minute))
	if !s.launch.form.minuteFiles || s.since.IsZero() || wait <= 0 || wait > time.Minute {
		return nil
	}
	s.notice("info", "The agent cannot load a session in the minute in which it began: waiting for the next.")
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// earlier is the session to continue: of an earlier process of this execution,
// or of an earlier execution that left its workspace. The agent could have
// written the file itself; it is nothing but a name that we ask the agent for.
func (s *session) earlier() string {
	if s.id != "" || s.env.ReadFile == nil {
		return s.id
	}
	text, err := s.env.ReadFile(stateFile)
	var kept state
	if err != nil || json.Unmarshal([]byte(text), &kept) != nil || kept.Agent != s.launch.agent || len(kept.Session) > 1024 {
		return ""
	}
	s.cost, s.since = kept.Cost, kept.Since
	return kept.Session
}

func (s *session) forget() {
	s.id, s.cost = "", 0
	_, _ = s.env.WriteFile(stateFile, "{}") // else the next execution tries again, and says so
}

func (s *session) keep() error {
	text, err := json.Marshal(state{Agent: s.launch.agent, Session: s.id, Cost: s.cost, Since: s.since})
	if err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	if _, err := s.env.WriteFile(stateFile, string(text)); err != nil {
		return fmt.Errorf("keep session: %w", err)
	}
	return nil
}

// servers are the tool servers for the agent, without those that it cannot use.
func (s *session) servers(a *agent) []sdk.McpServer {
	out := []sdk.McpServer{} // the protocol wants a list
	for _, server := range s.env.ToolServers {
		if server.URL == "" {
			stdio := &sdk.McpServerStdio{Name: server.Name, Command: server.Command, Args: append([]string{}, server.Args...), Env: []sdk.EnvVariable{}}
			for _, kv := range server.Env {
				name, value, _ := strings.Cut(kv, "=")
				stdio.Env = append(stdio.Env, sdk.EnvVariable{Name: name, Value: value})
			}
			out = append(out, sdk.McpServer{Stdio: stdio})
			continue
		}
		if !a.can.Servers.HTTP {
			s.notice("warning", fmt.Sprintf("The agent cannot use MCP servers over HTTP: %s is left out.", server.Name))
			continue
		}
		http := &sdk.McpServerHttpInline{Name: server.Name, Type: "http", Url: server.URL, Headers: []sdk.HttpHeader{}}
		for name, value := range server.Headers {
			http.Headers = append(http.Headers, sdk.HttpHeader{Name: name, Value: value})
		}
		out = append(out, sdk.McpServer{Http: http})
	}
	return out
}
