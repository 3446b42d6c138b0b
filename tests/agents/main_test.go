// Package agents drives the real agents of package-lock.json through a whole server,
// in their sandbox and without a network, against a fake model.
package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/id"
)

func TestMain(m *testing.M) {
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// installed is where the programs of the agents are, and the tool server. Without
// them the full test fails; any other one says why it does not run.
func installed(t *testing.T) (agents, server string) {
	t.Helper()
	if os.Getenv("LINESHAFT_TEST_FULL") == "" {
		t.Skip("LINESHAFT_TEST_FULL is not set: the real agents take minutes and 2 GB; run it with: LINESHAFT_TEST_FULL=1 go test ./tests/agents")
	}
	out, err := exec.CommandContext(t.Context(), "./install").Output()
	if err != nil {
		t.Fatalf("tests/agents/install: %v", err)
	}
	server = filepath.Join(t.TempDir(), "mcpserver")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", server, "../../internal/fakemodel/mcpserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool server: %v\n%s", err, text)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), server
}

// stage is a server of its own with one agent and its model.
type stage struct {
	t     *testing.T
	model *fakemodel.Server
	cfg   config.Config
	url   string
	admin string
	api   *client.Client
	// realKey opens the model; the other two are for tool servers.
	realKey, ping, web string
	runID              string
}

// open starts a server whose agents have no network. The database is a file of its
// own when none is named, and the model's script the usual one.
func open(t *testing.T, agents, server, database string, script fakemodel.Script) *stage {
	t.Helper()
	s := &stage{t: t, realKey: "sk-real-" + id.Secret(24), ping: "ping-" + id.Secret(24), web: "web-" + id.Secret(24)}
	var err error
	if s.model, err = fakemodel.Start(t.Context(), fakemodel.Options{Key: s.realKey, Script: script}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.model.Close() }) // it is only listening
	s.cfg = config.Default()
	s.cfg.Listen, s.cfg.DataDir, s.cfg.Database = "127.0.0.1:0", filepath.Join(t.TempDir(), "data"), database
	s.cfg.Isolation, s.cfg.Egress, s.cfg.AllowLocalMCP = "bubblewrap", "none", true
	s.cfg.AgentPath = []string{agents, filepath.Dir(server)}
	s.cfg.Model = "fake-1"
	s.cfg.AnthropicURL, s.cfg.OpenAIURL, s.cfg.GeminiURL = s.model.Anthropic(), s.model.OpenAI(), s.model.Gemini()
	s.cfg.AnthropicAPIKey, s.cfg.OpenAIAPIKey, s.cfg.GeminiAPIKey = config.Secret(s.realKey), config.Secret(s.realKey), config.Secret(s.realKey)
	own := harnesstest.Options()
	a, err := app.Start(t.Context(), s.cfg, app.Options{
		Version: "test", Logger: slog.New(slog.DiscardHandler), Out: io.Discard, Supervisor: own.Supervisor, Program: own.Program,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
	key, err := os.ReadFile(s.cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	s.url, s.admin = a.URL(), strings.TrimSpace(string(key))
	if s.api, err = client.New(s.url, s.admin); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"PING": s.ping, "WEB": s.web} {
		if _, err := s.api.Secrets.Create(t.Context(), client.SecretRequest{Name: name, Value: value, Access: "runs"}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// listen starts the tool server that is reached over HTTP, outside of the sandbox.
func listen(t *testing.T, server string) (url string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), server, "127.0.0.1:0")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("start the tool server: %v", err)
	}
	return strings.TrimSpace(line)
}

// conversation is the run's, as the API has it, and its text.
func (s *stage) conversation() (api.ConversationResponse, string) {
	s.t.Helper()
	text := s.get("/api/v1/agent/runs/" + s.runID + "/conversation")
	var out api.ConversationResponse
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return out, text
}

func (s *stage) get(path string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.admin)
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s %v", path, res.StatusCode, text, err)
	}
	return string(text)
}

// told is all that was said, for messages.
func (s *stage) told() string { return s.get("/api/v1/agent/runs/" + s.runID + "/events?limit=200") }
