// Command mcpserver is an MCP server for tests, with the one tool "ping": it says
// what it was given, the variable and the header that were meant for it, so that
// a test sees that all three arrived. Without arguments it serves on standard
// input and output; with an address, such as 127.0.0.1:0, over Streamable HTTP,
// and prints its URL on the first line.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// variable and header are what the tool tells about.
	variable = "PING_ENV"
	header   = "X-Ping-Header"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "mcpserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return newServer(os.Getenv(variable), "").Run(ctx, &mcp.StdioTransport{})
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", args[0])
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve tells
	defer stop()
	_, _ = fmt.Fprintf(os.Stdout, "http://%s/mcp\n", listener.Addr())
	return server.Serve(listener)
}

// handler serves Streamable HTTP without sessions: each request makes its own server.
func handler() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return newServer(os.Getenv(variable), r.Header.Get(header))
	}, &mcp.StreamableHTTPOptions{Stateless: true})
}

// ping is the argument of the tool.
type ping struct {
	Text string `json:"text" jsonschema:"what shall come back"`
}

func newServer(variable, header string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "ping", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ping", Description: "Says what it was given."},
		func(_ context.Context, _ *mcp.CallToolRequest, in ping) (*mcp.CallToolResult, any, error) {
			text := fmt.Sprintf("pong text=%s env=%s header=%s", in.Text, variable, header)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	return server
}
