package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The test program is the server itself when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_SERVER") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"BE_THE_SERVER=1", "PING_ENV=from-env", "GORACE=atexit_sleep_ms=0"}
	return cmd
}

func call(t *testing.T, transport mcp.Transport) string {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ping", Arguments: map[string]any{"text": "hello"}})
	if err != nil || len(result.Content) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return text.Text
}

func TestX9PingOverStdio(t *testing.T) {
	t.Parallel()
	if got := call(t, &mcp.CommandTransport{Command: self(t)}); got != "pong text=hello env=from-env header=" {
		t.Errorf("%q", got)
	}
}

type withHeader struct{}

func (withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Ping-Header", "from-header")
	return http.DefaultTransport.RoundTrip(r)
}

func TestX9PingOverHTTP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := self(t, "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	transport := &mcp.StreamableClientTransport{Endpoint: strings.TrimSpace(url), HTTPClient: &http.Client{Transport: withHeader{}}}
	if got := call(t, transport); got != "pong text=hello env=from-env header=from-header" {
		t.Errorf("%q", got)
	}
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
}
