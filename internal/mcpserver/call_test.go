package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft"
)

func calling(tool string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: tool}}
}

func asAdmin(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{Caller: lineshaft.Caller{Role: lineshaft.RoleAdmin}})
}

// A panic in a tool must not end the server: the SDK calls it on a goroutine of its own.
func TestI4PanicsAreAnswered(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := New(Deps{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	for name, next := range map[string]mcp.MethodHandler{
		"panic": func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("the password is tea") },
		"error": func(context.Context, string, mcp.Request) (mcp.Result, error) {
			return nil, errors.New("the password is tea")
		},
		"nothing": func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil },
	} {
		_, err := s.watch(next)(asAdmin(t.Context()), "tools/call", calling("get_run"))
		wire, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || wire.Message != "internal error" || wire.Code != jsonrpc.CodeInternalError {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Count(log.String(), `"level":"ERROR"`) != 3 {
		t.Error(log.String())
	}
}

// The inside of an error is for the log; the caller gets a code and what to do.
func TestI4ErrorsTellWhatToDoAndNothingOfTheInside(t *testing.T) {
	t.Parallel()
	inside := errors.New("dial tcp 10.0.0.7: refused")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{inside, "internal_error: internal error; the same call may succeed later"},
		{lineshaft.Unavailable(inside, "the database does not answer; try again"), "resource_unavailable: the database does not answer; try again; try again in 1 s"},
		{lineshaft.RateLimited(90*time.Second, "wait"), "resource_unavailable: wait; try again in 90 s"},
		{lineshaft.Invalid("runId", "is wrong"), "invalid_request: run_id: is wrong"},
		{lineshaft.NotFound("run", "x"), `resource_not_found: no run "x" here; check the id, and that your key may see it`},
	} {
		s := New(Deps{})
		answer := &mcp.CallToolResult{}
		answer.SetError(&failed{tc.err})
		result, err := s.watch(func(context.Context, string, mcp.Request) (mcp.Result, error) { return answer, nil })(asAdmin(t.Context()), "tools/call", calling("dispatch"))
		told, ok := result.(*mcp.CallToolResult)
		if err != nil || !ok || !told.IsError {
			t.Fatal(err, result)
		}
		text, ok := told.Content[0].(*mcp.TextContent)
		if !ok || text.Text != tc.want {
			t.Errorf("%v: %q, want %q", tc.err, text.Text, tc.want)
		}
		fields, ok := told.Meta[errorMeta].(map[string]any)
		if !ok || fields["code"] != lineshaft.CodeOf(tc.err) {
			t.Errorf("%v: %v", tc.err, told.Meta)
		}
	}
}

// A caller that nobody checked may do nothing.
func TestI4WithoutACallerNothingIsDone(t *testing.T) {
	t.Parallel()
	s := New(Deps{})
	list, err := s.watch(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "get_run"}, {Name: "unlisted"}}}, nil
	})(t.Context(), "tools/list", nil)
	if tools, ok := list.(*mcp.ListToolsResult); err != nil || !ok || len(tools.Tools) != 0 {
		t.Errorf("%v %+v", err, list)
	}
	_, err = s.watch(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
		if callFrom(ctx).Role != "" {
			t.Error("somebody calls")
		}
		return &mcp.CallToolResult{}, nil
	})(t.Context(), "tools/call", calling("get_run"))
	if err != nil {
		t.Error(err)
	}
}

func TestI4TextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for limit := range 12 {
		if got := shorten("aé€😀z", limit); strings.ContainsRune(got, '\uFFFD') || limit >= 11 && got != "aé€😀z" {
			t.Errorf("%d: %q", limit, got)
		}
	}
	if got := string(shortened([]byte(`{"a":1}`), 4)); got != `"{\"a\"… (4 of 7 bytes)"` {
		t.Error(got)
	}
	if got := string(shortened([]byte(`{"a":`), 100)); got != `"{\"a\":"` {
		t.Error(got)
	}
}

// A tool that reads takes its turn among all that read, whatever way they do.
func TestH14EveryReadingToolTakesATurn(t *testing.T) {
	t.Parallel()
	for _, tool := range New(Deps{}).tools() {
		if waits := tool.name == "wait_for_run"; tool.effect == reads && heavy(tool.name) == waits {
			t.Errorf("%s: takes a turn for its whole call: %v", tool.name, !waits)
		}
	}
}
