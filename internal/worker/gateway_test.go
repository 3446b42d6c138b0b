package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// modelKey is what no agent may ever see.
const modelKey = "sk-the-real-key-of-this-test"

// withModel is a gateway in front of an endpoint that takes 100 tokens and gives 20
// with each answer.
func withModel(t *testing.T, before func()) *gateway.Gateway {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+modelKey {
			t.Errorf("the endpoint got %q", r.Header.Get("Authorization"))
		}
		if before != nil {
			before()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage":{"input_tokens":100,"output_tokens":20}}`)
	}))
	t.Cleanup(upstream.Close)
	return gateway.New(gateway.Config{APIURL: "http://api.invalid", Models: model.Set{Endpoints: []model.Endpoint{{
		Name: "test", Protocol: model.OpenAI, URL: upstream.URL, Key: modelKey, Models: []string{"m1"}, Prices: map[string]model.Price{"m1": {Input: 1_000_000, Output: 1_000_000}},
	}}}})
}

// askModel makes one request the way that an agent in this process does.
func askModel(ctx context.Context, env harness.Environment) (int, string) {
	return askModelFor(ctx, env, "")
}

func askModelFor(ctx context.Context, env harness.Environment, fields string) (int, string) {
	access, ok := env.Access(model.OpenAI)
	if !ok {
		return 0, "no access"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, access.URL+"/responses", strings.NewReader(`{"model":"`+access.Model+`"`+fields+`}`))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+access.Key)
	resp, err := env.Reach.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// usageOf adds up the usage events of an execution.
func usageOf(t *testing.T, c *fakeControl, id string) (sum lineshaft.Usage, events int) {
	t.Helper()
	run, unlock := c.lock(id)
	defer unlock()
	for _, e := range run.events {
		var data lineshaft.UsageData
		if e.Type != lineshaft.EventUsage {
			continue
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.ModelID != "m1" {
			t.Errorf("usage event %s, %v", e.Data, err)
		}
		sum, events = sum.Add(lineshaft.Usage{InputTokens: data.InputTokens, OutputTokens: data.OutputTokens, CostMicros: data.CostMicros}), events+1
	}
	return sum, events
}

// TestX12UsageComesBeforeTheEndOfItsTurn, also that of a request which the agent
// did not wait for; and what the agent itself reports is not counted again.
func TestX12UsageComesBeforeTheEndOfItsTurn(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	over, asked := make(chan struct{}), make(chan struct{}, 10)
	gate := withModel(t, func() {
		asked <- struct{}{}
		<-over
	})
	begin(t, c, Config{Gateway: gate}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
		go askModel(context.WithoutCancel(ctx), env)
		<-asked
		emit(lineshaft.NewDraft(lineshaft.EventUsage, env.Now(), lineshaft.UsageData{ModelID: "told by the agent", InputTokens: 5}))
		defer close(over)
		return done()
	}})
	c.jobs <- job("a", "")
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v", result)
	}
	if sum, events := usageOf(t, c, "a"); events != 1 || sum != (lineshaft.Usage{InputTokens: 100, OutputTokens: 20, CostMicros: 120}) {
		t.Errorf("%d events, together %+v", events, sum)
	}
}

// TestX15LastWordTellsWhatModelsUsed that nobody has acknowledged: what was sent has the
// number of its event, so that it is not counted again if it had arrived, and a request
// that was under way when the run was taken away is reported without.
func TestX15LastWordTellsWhatModelsUsed(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	taken := make(chan struct{})
	requests := 0
	gate := withModel(t, func() {
		if requests++; requests == 2 {
			<-taken
		}
	})
	c.lose = func(method string) error {
		if method != "Report" {
			return nil
		}
		if _, events := usageOf(t, c, "a"); events == 0 {
			return nil
		}
		return lineshaft.Unavailable(nil, "the answer got lost")
	}
	answered := make(chan struct{})
	begin(t, c, Config{Gateway: gate}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
		askModel(ctx, env)
		go func() {
			askModel(context.WithoutCancel(ctx), env)
			close(answered)
		}()
		c.await("the first usage", func() bool { return c.runs["a"] != nil && slices.ContainsFunc(c.runs["a"].events, isUsage) })
		c.stop("a")
		<-ctx.Done()
		close(taken)
		<-answered
		return done()
	}})
	c.jobs <- job("a", "")
	result := c.ended("a", 1)
	if result.State != lineshaft.Cancelled || len(result.Used) != 2 {
		t.Fatalf("result %+v", result)
	}
	run, unlock := c.lock("a")
	defer unlock()
	late, sent := result.Used[0], result.Used[1]
	if at := slices.IndexFunc(run.events, isUsage) + 1; sent.Number != int64(at) || late.Number != 0 {
		t.Errorf("numbers %d and %d; the event that arrived is %d", sent.Number, late.Number, at)
	}
	for _, used := range result.Used {
		if used.ModelID != "m1" || used.InputTokens != 100 || used.OutputTokens != 20 {
			t.Errorf("%+v", used)
		}
	}
}

func isUsage(d lineshaft.Draft) bool { return d.Type == lineshaft.EventUsage }

// TestX7BudgetEndsTheRun, although the agent takes no notice of refusals.
func TestX7BudgetEndsTheRun(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	begin(t, c, Config{Gateway: withModel(t, nil)}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
		for range 3 {
			askModel(ctx, env)
		}
		<-ctx.Done()
		return done()
	}})
	j := job("a", "")
	j.Config.Budget, j.Used = &lineshaft.Budget{MaxTokens: 1000}, lineshaft.Usage{InputTokens: 700, OutputTokens: 100}
	c.jobs <- j
	result := c.ended("a", 1)
	if result.State != lineshaft.Failed || result.Code != lineshaft.CodeBudgetExceeded || !strings.Contains(result.Message, "1040 tokens of 1000") || !result.Dead {
		t.Errorf("result %+v", result)
	}
	if sum, events := usageOf(t, c, "a"); events != 2 || sum.Total() != 240 {
		t.Errorf("%d events, together %+v", events, sum)
	}
}

func TestX12SessionGoesOnInTheNextTurn(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	begin(t, c, Config{Gateway: withModel(t, nil)}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
		if status, body := askModel(ctx, env); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		return done()
	}})
	run, unlock := c.lock("a")
	run.next = []lineshaft.Turn{{FollowupID: "f1", Message: "more"}}
	unlock()
	c.jobs <- job("a", "")
	c.ended("a", 2)
	if sum, events := usageOf(t, c, "a"); events != 2 || sum.Total() != 240 {
		t.Errorf("%d events, together %+v", events, sum)
	}
}

func TestX12WithoutAnEndpointThereIsNoAccess(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]*gateway.Gateway{"no gateway": nil, "no endpoint": gateway.New(gateway.Config{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newControl(t)
			begin(t, c, Config{Gateway: gate}, scripted{func(_ context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
				for _, p := range model.Protocols() {
					if access, ok := env.Access(p); ok {
						t.Errorf("access to %s is %+v", p, access)
					}
				}
				return done()
			}})
			c.jobs <- job("a", "")
			c.ended("a", 1)
		})
	}
}

// boxed runs one shell script in the sandbox.
type boxed struct {
	script func(env harness.Environment) string
	out    *bytes.Buffer
}

func (boxed) Name() string { return "boxed" }
func (b boxed) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	return boxedSession{b, env}, nil
}

type boxedSession struct {
	boxed
	env harness.Environment
}

func (s boxedSession) Close(context.Context) error { return nil }
func (s boxedSession) Turn(ctx context.Context, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
	p, err := s.env.Start(ctx, harness.Program{Command: []string{"bash", "-c", s.script(s.env)}, Stdout: s.out, Stderr: s.out})
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	_, err = p.Wait()
	if err != nil {
		return lineshaft.TurnResult{}, err
	}
	return done()
}

// TestX12NoNetworkButTheModel: an agent without a network reaches its model through
// the sandbox's own loopback interface, and finds no key in what it can see.
func TestX12NoNetworkButTheModel(t *testing.T) {
	t.Parallel()
	box := sandbox.NewBubblewrap(harnesstest.Options())
	if err := box.Check(t.Context()); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("bubblewrap must work in CI: %v", err)
		}
		t.Skipf("bubblewrap does not work on this machine: %v", err)
	}
	c := newControl(t)
	var out bytes.Buffer
	agent := boxed{out: &out, script: func(env harness.Environment) string {
		access, ok := env.Access(model.OpenAI)
		if !ok || access.URL != "http://127.0.0.1:4080/openai/v1" {
			t.Errorf("access is %s, %v", access.URL, ok)
		}
		body := `{"model":"m1"}`
		return `env; exec 3<>/dev/tcp/127.0.0.1/4080
printf 'POST /openai/v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ` + access.Key + `\r\nContent-Length: 14\r\nConnection: close\r\n\r\n` + body + `' >&3
cat <&3; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n'`
	}}
	w := start(t, c, Config{
		Gateway: withModel(t, nil), Sandbox: box, Network: sandbox.NetworkNone, APIURL: "http://api.invalid",
		Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "boxed"},
	})
	c.jobs <- job("a", "")
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v\n%s", result, out.String())
	}
	got := out.String()
	if !strings.Contains(got, "HTTP/1.1 200 OK") || !strings.Contains(got, `"output_tokens":20`) || !strings.Contains(got, "LINESHAFT_API_URL=http://127.0.0.1:4080\n") {
		t.Errorf("the agent saw\n%s", got)
	}
	if strings.Contains(got, modelKey) {
		t.Error("the agent saw the real key")
	}
	if _, events := usageOf(t, c, "a"); events != 1 {
		t.Errorf("%d usage events", events)
	}
	w.sockets.mu.Lock()
	dir := w.sockets.dir
	w.sockets.mu.Unlock()
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); dir == "" || err == nil {
		t.Errorf("the sockets in %q are left behind", dir)
	}
}

// TestX5AllowedHostsByVariables: programs find the proxy in the usual variables.
func TestX5AllowedHostsByVariables(t *testing.T) {
	t.Parallel()
	for network, want := range map[sandbox.Network]int{sandbox.NetworkAllow: 6, sandbox.NetworkNone: 0, sandbox.NetworkFull: 0} {
		c := newControl(t)
		begin(t, c, Config{Gateway: withModel(t, nil), Network: network}, scripted{func(_ context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
			found := 0
			for _, v := range env.Env {
				if name, _, _ := strings.Cut(strings.ToLower(v), "="); name == "http_proxy" || name == "https_proxy" || name == "no_proxy" {
					found++
				}
			}
			if found != want {
				t.Errorf("%s: %d variables, want %d", network, found, want)
			}
			return done()
		}})
		c.jobs <- job("a", "")
		c.ended("a", 1)
	}
}

// TestX12VendorsOfConfinedAgents: without a network, or with a few hosts, the model is
// not a way to others.
func TestX12VendorsOfConfinedAgents(t *testing.T) {
	t.Parallel()
	for network, want := range map[sandbox.Network]int{sandbox.NetworkAllow: 400, sandbox.NetworkNone: 400, sandbox.NetworkFull: 200} {
		c := newControl(t)
		begin(t, c, Config{Gateway: withModel(t, nil), Network: network}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
			if status, body := askModelFor(ctx, env, `,"tools":[{"type":"mcp","server_url":"https://x.example"}]`); status != want {
				t.Errorf("%s: %d %s", network, status, body)
			}
			for range 2 {
				if status, body := askModelFor(ctx, env, `,"tools":[{"type":"web_search"}]`); status != http.StatusOK {
					t.Errorf("%s: with a search: %d %s", network, status, body)
				}
			}
			return done()
		}})
		c.jobs <- job("a", "")
		c.ended("a", 1)
		run, unlock := c.lock("a")
		notices := 0
		for _, e := range run.events {
			if e.Type == lineshaft.EventNotice && bytes.Contains(e.Data, []byte("web_search")) {
				notices++
			}
		}
		unlock()
		if confined := network != sandbox.NetworkFull; confined != (notices == 1) || !confined && notices != 0 {
			t.Errorf("%s: %d notices of the search", network, notices)
		}
	}
}

// TestX12ToolSecretsStayOutside: the agent gets an address, and the worker adds the rest.
func TestX12ToolSecretsStayOutside(t *testing.T) {
	t.Parallel()
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "opened: "+map[bool]string{true: "yes", false: "no"}[r.Header.Get("Authorization") == "Bearer tool-secret-of-this-test"])
	}))
	t.Cleanup(tools.Close)
	c := newControl(t)
	begin(t, c, Config{Gateway: gateway.New(gateway.Config{AllowLocal: true})}, scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
		if len(env.ToolServers) != 1 || len(env.ToolServers[0].Headers) != 0 || strings.HasPrefix(env.ToolServers[0].URL, tools.URL) {
			t.Errorf("tool servers are %+v", env.ToolServers)
			return done()
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, env.ToolServers[0].URL, strings.NewReader("{}"))
		resp, err := env.Reach.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return done()
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != "opened: yes" {
			t.Errorf("the tool server said %d %q", resp.StatusCode, body)
		}
		return done()
	}})
	j := job("a", "")
	j.Config.MCPServers = map[string]lineshaft.MCPServer{"t": {URL: tools.URL, Headers: map[string]string{"Authorization": "Bearer tool-secret-of-this-test"}}}
	c.jobs <- j
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Errorf("result %+v", result)
	}
}
