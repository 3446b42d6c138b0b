package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	// maxServerTools bounds what one server adds to every request.
	maxServerTools = 128
	maxDescription = 4 << 10
	maxToolName    = 64
	maxRefusal     = 400
	// protocolVersion is one that old servers also know: some of them answer the greeting of
	// later versions with silence.
	protocolVersion = "2025-06-18"
	// serverGrace is how long a server gets to end on its own.
	serverGrace = 2 * time.Second
)

// server is a tool server that is connected.
type server struct {
	name    string
	session *mcp.ClientSession
	process *sandbox.Process // nil for one that is an address
	kill    context.CancelFunc
}

// joinServers connects the run's tool servers, once. If one does not come up,
// only its tools are missing.
func (t *turn) joinServers(ctx context.Context) {
	for t.joined < len(t.env.ToolServers) && ctx.Err() == nil {
		given := t.env.ToolServers[t.joined]
		bounded, cancel := context.WithTimeout(ctx, t.options.Connect)
		err := t.join(bounded, given)
		cancel()
		if err != nil && ctx.Err() != nil {
			return // the next turn tries again
		}
		t.joined++
		if err != nil {
			t.noticef("warning", "Tool server %q is not there, and its tools are missing: %v. Check its command or address in config.mcp_servers.", given.Name, err)
		}
	}
}

func (t *turn) join(ctx context.Context, given harness.ToolServer) (err error) {
	s := &server{name: given.Name, kill: func() {}}
	var transport mcp.Transport
	var said atomic.Pointer[string]
	complaints := &gathered{limit: 1 << 10}
	stderr := masked(t, complaints)
	if given.Command != "" {
		transport, err = t.startServer(ctx, s, given, stderr)
	} else {
		transport = t.reachServer(given, &said)
	}
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "lineshaft", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	// ctx bounds the greeting only; the connection outlives it.
	s.session, err = client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err == nil {
		err = t.listTools(ctx, s)
	}
	if err != nil {
		if s.session != nil {
			_ = s.session.Close() // it is useless
		}
		s.stop()
		stderr.end()
		if printed := complaints.String(); printed != "" {
			err = fmt.Errorf("%w; it said: %s", err, printed)
		}
		if refusal := said.Load(); refusal != nil {
			err = fmt.Errorf("%w; it said: %s", err, *refusal)
		}
		return err
	}
	t.servers = append(t.servers, s)
	return nil
}

// startServer starts a program in the sandbox, and talks over its two pipes.
func (t *turn) startServer(ctx context.Context, s *server, given harness.ToolServer, complaints io.Writer) (mcp.Transport, error) {
	life, kill := context.WithCancel(t.life)
	// A program that does not even start must not hold the turn.
	early := context.AfterFunc(ctx, kill)
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	process, err := t.env.Start(life, harness.Program{ //nolint:contextcheck // it outlives the turn that starts it
		Command: append([]string{given.Command}, given.Args...), Env: given.Env,
		Stdin: stdinR, Stdout: stdoutW, Stderr: complaints,
	})
	early()
	if err != nil {
		kill()
		return nil, err
	}
	go func() {
		<-process.Done()
		_ = stdoutW.Close() // the client sees the end
	}()
	s.process, s.kill = process, kill
	return &mcp.IOTransport{Reader: &bounded{ReadCloser: stdoutR, lines: true}, Writer: stdinW}, nil
}

// reachServer talks to an address, through the worker's own way out.
func (t *turn) reachServer(given harness.ToolServer, said *atomic.Pointer[string]) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: given.URL, DisableStandaloneSSE: true, MaxRetries: 2,
		HTTPClient: &http.Client{
			Transport: headers{next: t.env.Reach, add: given.Headers, said: said},
			// Headers with secrets must not follow to another place.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// headers adds those of the server to each request, and keeps the text of a refusal:
// the client reports its status alone, but the gateway says what to do.
type headers struct {
	next http.RoundTripper
	add  map[string]string
	said *atomic.Pointer[string]
}

// RoundTrip sends a copy: a request must not be changed.
func (h headers) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range h.add {
		request.Header.Set(name, value)
	}
	response, err := h.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body}
	if response.StatusCode < http.StatusBadRequest || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		return response, nil
	}
	start, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if text := strings.TrimSpace(strings.ToValidUTF8(string(start), "")); err == nil && text != "" {
		h.said.Store(&text)
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), response.Body), response.Body}
	return response, nil
}

// listTools makes the server's tools ours.
func (t *turn) listTools(ctx context.Context, s *server) error {
	var found []tool
	for listed, err := range s.session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list tools: %w", err)
		}
		if len(found) == maxServerTools {
			t.noticef("warning", "Tool server %q has more than %d tools; the others are left out.", s.name, maxServerTools)
			break
		}
		schema, err := json.Marshal(listed.InputSchema)
		if err != nil || string(schema) == "null" {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		found = append(found, tool{
			category: "integration", guarded: true, run: s.runner(listed.Name),
			Tool: chat.Tool{Name: toolName(s.name, listed.Name), Description: cut(listed.Description, maxDescription), Schema: schema},
		})
	}
	t.tools = append(t.tools, found...)
	return nil
}

// toolName is a name that every endpoint accepts, and no other tool has.
func toolName(server, name string) string {
	full := "mcp__" + server + "__" + name
	plain := regexp.MustCompile(`[^a-zA-Z0-9_-]`).ReplaceAllString(full, "_")
	if plain == full && len(plain) <= maxToolName {
		return plain
	}
	sum := sha256.Sum256([]byte(full))
	return plain[:min(len(plain), maxToolName-9)] + "_" + hex.EncodeToString(sum[:4])
}

// runner calls a tool of the server.
func (s *server) runner(name string) func(context.Context, *turn, invocation) outcome {
	return func(ctx context.Context, _ *turn, call invocation) outcome {
		result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: call.arguments})
		if err != nil {
			return problem(fmt.Errorf("tool server %q: %w", s.name, err))
		}
		return outcome{text: resultText(result), failed: result.IsError}
	}
}

// resultText is what a model can read of a result.
func resultText(result *mcp.CallToolResult) string {
	var text string
	add := func(more string) {
		if text != "" {
			text += "\n"
		}
		text += more
	}
	for _, content := range result.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			add(c.Text)
		case *mcp.ImageContent:
			add(fmt.Sprintf("[an image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			add(fmt.Sprintf("[a sound, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			add(fmt.Sprintf("[%s: %s]", c.Name, c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				add(c.Resource.URI + "\n" + c.Resource.Text)
			}
		}
	}
	if text == "" && result.StructuredContent != nil {
		if raw, err := json.Marshal(result.StructuredContent); err == nil {
			return string(raw)
		}
	}
	return text
}

// stop ends the program, if there is one, and waits for it.
func (s *server) stop() {
	s.kill()
	if s.process != nil {
		<-s.process.Done()
	}
}

// closeServers says goodbye to each server, and ends those that stay.
func (s *session) closeServers(ctx context.Context) error {
	var errs []error
	for _, server := range s.servers {
		if err := server.leave(ctx); err != nil {
			errs = append(errs, fmt.Errorf("end tool server %q: %w", server.name, err))
		}
	}
	s.servers = nil
	return errors.Join(errs...)
}

// leave closes the connection, upon which a program should end on its own.
func (s *server) leave(ctx context.Context) error {
	defer s.kill()
	grace, cancel := context.WithTimeout(ctx, serverGrace)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.session.Close() // it may have been closed before
	}()
	select {
	case <-closed:
	case <-grace.Done():
	}
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Done():
	case <-grace.Done():
	}
	s.kill()
	// What it still had to say when nobody listened any more does not matter either.
	if _, err := s.process.Wait(); errors.Is(err, sandbox.ErrSupervisorLost) {
		return err
	}
	return nil
}
