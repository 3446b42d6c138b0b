package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

type greeting struct {
	Name string `json:"name"`
}

// tools is a server with a tool that answers, one that fails and one that waits.
func tools() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "greets"}, func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
		dir, _ := os.Getwd()
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: fmt.Sprintf("hello %s from %s with %s", in.Name, dir, os.Getenv("GREETING"))},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
		}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "odd name!"}, func(context.Context, *mcp.CallToolRequest, greeting) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("it went wrong")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "quit"}, func(context.Context, *mcp.CallToolRequest, greeting) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ greeting) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	return server
}

// toolServer is what the test binary does when it is started as a server.
func toolServer(ctx context.Context) int {
	if len(os.Args) > 2 && os.Args[2] == "broken" {
		fmt.Fprintln(os.Stderr, "no database")
		return 1
	}
	if len(os.Args) > 2 && os.Args[2] == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	if err := tools().Run(ctx, &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// install puts the test binary where the agent sees it.
func install(t *testing.T, env harness.Environment, s sandbox.Sandbox) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Copied by another process: children of other tests cannot have the copy open then, which would keep it from starting.
	if out, err := exec.CommandContext(t.Context(), "cp", self, filepath.Join(env.Dir, "server")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s.Guest(env.Dir, "server")
}

// find gives the name of the tool whose name has a part.
func find(t *testing.T, request object, part string) string {
	t.Helper()
	list, _ := request["tools"].([]any)
	for _, one := range list {
		tool, _ := one.(object)
		function, _ := tool["function"].(object)
		if name, _ := function["name"].(string); strings.Contains(name, part) {
			return name
		}
	}
	t.Fatalf("no tool %q in %v", part, list)
	return ""
}

// A server that is a program runs in the sandbox, for all turns; one that does not
// start costs a notice.
func TestX7BuiltinToolServerInTheSandbox(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		e := serve(t, model.OpenAI)
		env := environment(t, s, e, lineshaft.Job{})
		program := install(t, env, s)
		env.ToolServers = []harness.ToolServer{
			{Name: "absent", Command: "no-such-server"},
			{Name: "broken", Command: program, Args: []string{"tool-server", "broken"}},
			{Name: "greeter", Command: program, Args: []string{"tool-server"}, Env: []string{"GREETING=" + harnesstest.Token, "GORACE=atexit_sleep_ms=0"}},
		}
		a := open(t, quick(), env)
		told := a.results(t, e, use("mcp__greeter__greet", object{"name": "you"}))
		want := "hello you from " + s.Guest(env.Dir, ".") + " with ***LINESHAFT_RUN_TOKEN***\n[an image, image/png, 4 bytes]"
		if told[0] != want {
			t.Errorf("told %q, want %q", told[0], want)
		}
		odd := find(t, e.asked()[0], "mcp__greeter__odd_name")
		if told = a.results(t, e, use(odd, object{"name": "x"}), use("mcp__greeter__greet", object{"name": 5})); told[0] != "it went wrong" || told[1] == "" {
			t.Errorf("told %q", told)
		}
		results := data[lineshaft.ToolResultData](t, a, lineshaft.EventToolResult)
		if results[0].Category != "integration" || results[0].State != lineshaft.ToolCompleted || results[1].State != lineshaft.ToolFailed || results[2].State != lineshaft.ToolFailed {
			t.Errorf("results %+v", results)
		}
		var warnings string
		notices := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice)
		for _, n := range notices {
			warnings += n.Level + " " + n.Text + "\n"
		}
		if len(notices) != 2 || !strings.Contains(warnings, `"absent" is not there`) || !strings.Contains(warnings, "no database") {
			t.Errorf("notices %s", warnings)
		}
	})
}

func TestR8BuiltinInterruptOfAServerTool(t *testing.T) {
	t.Parallel()
	s := sandbox.NewNone(harnesstest.Options())
	e := serve(t, model.OpenAI, use("mcp__greeter__wait", object{"name": "x"}), use("mcp__greeter__greet", object{"name": "again"}), say("done"))
	env := environment(t, s, e, lineshaft.Job{})
	env.ToolServers = []harness.ToolServer{{Name: "greeter", Command: install(t, env, s), Args: []string{"tool-server"}, Env: []string{"GORACE=atexit_sleep_ms=0"}}}
	a := open(t, quick(), env)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted by the test")
	_, err := a.session.Turn(ctx, lineshaft.Turn{Message: "x"}, func(d lineshaft.Draft) {
		if a.Emit(d); d.Type == lineshaft.EventToolCall {
			cancel(cause)
		}
	})
	if !errors.Is(err, cause) {
		t.Fatalf("ended with %v", err)
	}
	a.do(t, "again")
	if !strings.Contains(e.last(), "hello again") {
		t.Errorf("the server is gone: %s", e.last())
	}
}

// A server that dies in the middle costs its tools, not the run.
func TestX7BuiltinToolServerDies(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		e := serve(t, model.OpenAI)
		env := environment(t, s, e, lineshaft.Job{})
		env.ToolServers = []harness.ToolServer{{Name: "greeter", Command: install(t, env, s), Args: []string{"tool-server"}, Env: []string{"GORACE=atexit_sleep_ms=0"}}}
		a := open(t, quick(), env)
		told := a.results(t, e, use("mcp__greeter__quit", object{"name": "x"}), use("mcp__greeter__greet", object{"name": "x"}), use("list", object{}))
		if !strings.HasPrefix(told[0], `tool server "greeter": `) || !strings.HasPrefix(told[1], `tool server "greeter": `) || !strings.Contains(told[2], "server") {
			t.Errorf("told %q", told)
		}
	})
}

// A server with very many tools does not fill every request with them.
func TestX7BuiltinManyTools(t *testing.T) {
	t.Parallel()
	many := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
	for i := range 140 {
		mcp.AddTool(many, &mcp.Tool{Name: fmt.Sprintf("tool-%d", i), Description: strings.Repeat("long ", 2000)}, func(context.Context, *mcp.CallToolRequest, greeting) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return many }, nil))
	t.Cleanup(server.Close)
	e := serve(t, model.OpenAI)
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	env.ToolServers = []harness.ToolServer{{Name: "many", URL: server.URL}}
	options := quick()
	options.Window = 10_000_000
	a := open(t, options, env)
	if told := a.results(t, e, use("mcp__many__tool-0", object{"name": "x"})); told[0] != "(no output)" {
		t.Errorf("told %q", told)
	}
	list, _ := e.asked()[0]["tools"].([]any)
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(list) != 128+7 || len(n) != 1 || !strings.Contains(n[0].Text, "more than 128 tools") {
		t.Errorf("%d tools, notices %+v", len(list), n)
	}
	if n := len(encode(e.asked()[0])); n > 128*5000 {
		t.Errorf("the request has %d bytes", n)
	}
}

// A server that never answers does not hold the run for ever.
func TestX7BuiltinMuteToolServer(t *testing.T) {
	t.Parallel()
	s := sandbox.NewNone(harnesstest.Options())
	e := serve(t, model.OpenAI, say("done"))
	env := environment(t, s, e, lineshaft.Job{})
	env.ToolServers = []harness.ToolServer{{Name: "mute", Command: install(t, env, s), Args: []string{"tool-server", "mute"}, Env: []string{"GORACE=atexit_sleep_ms=0"}}}
	options := quick()
	options.Connect = 300 * time.Millisecond
	a := open(t, options, env)
	a.do(t, "x")
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, `"mute" is not there`) {
		t.Errorf("notices %+v", n)
	}
}

// What the gateway says about a server that it does not reach is reported.
func TestX7BuiltinToolServerRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "it is in a private network; the operator can allow such with --allow-local-mcp", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	e := serve(t, model.OpenAI, say("done"))
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	env.ToolServers = []harness.ToolServer{{Name: "local", URL: server.URL}}
	a := open(t, quick(), env)
	a.do(t, "x")
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(n) != 1 || strings.Count(n[0].Text, "--allow-local-mcp") != 1 {
		t.Errorf("notices %+v", n)
	}
}

func TestX7BuiltinToolServerByAddress(t *testing.T) {
	t.Parallel()
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools() }, nil)
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+harnesstest.Token {
			http.Error(w, "who are you, "+harnesstest.Token, http.StatusUnauthorized)
			return
		}
		streamable.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths = append(paths, r.Header.Get("Authorization")) }))
	t.Cleanup(elsewhere.Close)
	leads := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(leads.Close)

	e := serve(t, model.OpenAI)
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	key := map[string]string{"Authorization": "Bearer " + harnesstest.Token}
	env.ToolServers = []harness.ToolServer{
		{Name: "keyless", URL: server.URL}, {Name: "leads away", URL: leads.URL, Headers: key}, {Name: "greeter", URL: server.URL, Headers: key},
	}
	a := open(t, quick(), env)
	told := a.results(t, e, use("mcp__greeter__greet", object{"name": "you"}))
	if !strings.HasPrefix(told[0], "hello you from ") {
		t.Errorf("told %q", told)
	}
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(n) != 2 || strings.Contains(a.all(), harnesstest.Token) {
		t.Errorf("notices %+v", n)
	}
	if len(paths) != 0 {
		t.Errorf("the key went elsewhere: %q", paths)
	}
}
