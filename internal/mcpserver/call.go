package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// errorMeta is where a failed call tells programs what its text tells models.
const errorMeta = "lineshaft/error"

// call is what is known about the message that is being answered.
type call struct {
	lineshaft.Caller

	// gone is closed when the sender has gone away. Up to the protocol of 2025 the
	// context of a tool does not end with its request.
	gone <-chan struct{}
	// request is set for tools.
	request *mcp.CallToolRequest
	// refused is why the tool must not be called; nil when it may.
	refused error
}

type callKey struct{}

// callFrom returns the call; outside of one it has no role and so no permission.
func callFrom(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// source says where a run that this call starts comes from.
func (c *call) source() lineshaft.Source {
	if c.Role == lineshaft.RoleRun {
		return lineshaft.SourceOrchestration // as by every other way
	}
	return lineshaft.SourceMCP
}

// failed marks an error of a tool, to tell it from what the SDK says about arguments.
type failed struct{ cause error }

// Error implements error.
func (f *failed) Error() string { return f.cause.Error() }

// Unwrap returns the cause.
func (f *failed) Unwrap() error { return f.cause }

// inWords names the field of a refusal as the tools do.
func inWords(err error) error {
	return lineshaft.Rename(err, func(field string) string {
		return cmp.Or(map[string]string{
			"runId": "run_id", "ticket_ref": "ticket", "factory_uid": "factory", "agent_identity_uid": "agent", "webhook_id": "webhook",
			"model_id": "model", "config.model_id": "model", "environment_id": "environment", "config.environment_id": "environment",
		}[field], field)
	})
}

// watch stands around every method: it shows a caller its own tools alone, asks for
// the permission of the one that is called, and answers for whatever goes wrong. A
// panic must not pass: the SDK calls tools on goroutines of its own.
func (s *Server) watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				s.Logger.ErrorContext(ctx, "panic in a tool", "method", method, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()), "trace_id", problem.TraceID(ctx))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		switch method {
		case "tools/call":
			return s.callTool(ctx, req, next)
		case "tools/list":
			result, err = next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				return s.permitted(callFrom(ctx), list), nil
			}
			return result, err
		case "subscriptions/listen":
			// Nothing here changes, and a stream would live longer than a look at the key.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has nothing to listen to; wait_for_run waits for a run"}
		}
		return next(ctx, method, req)
	}
}

// permitted leaves the tools that the caller may use.
func (s *Server) permitted(c *call, list *mcp.ListToolsResult) *mcp.ListToolsResult {
	shown := *list
	shown.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return !c.Role.May(s.needs[t.Name]) })
	return &shown
}

// callTool has the SDK make every answer, refusals too: what belongs into one differs
// from protocol to protocol.
func (s *Server) callTool(ctx context.Context, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	begun := time.Now()
	wanted, ok := req.(*mcp.CallToolRequest)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "name the tool to call"}
	}
	need, known := s.needs[wanted.Params.Name]
	if !known {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no tool %q; tools/list names those that there are", lineshaft.Clip(wanted.Params.Name, 80))}
	}
	if given := bytes.TrimSpace(wanted.Params.Arguments); len(given) == 0 || string(given) == "null" {
		wanted.Params.Arguments = json.RawMessage("{}") // the SDK writes defaults into what it is given, and null has no room
	}
	c := callFrom(ctx)
	c.request = wanted
	if !c.Role.May(need) {
		c.refused = lineshaft.Denied("the role %q of this key does not include %s, which %s needs; use a key with a wider role", c.Role, need, wanted.Params.Name)
	}
	if c.refused == nil && heavy(wanted.Params.Name) {
		rest, err := s.takeTurn(ctx, c)
		if c.refused = err; err == nil {
			defer rest()
		}
	}
	made, err := next(ctx, "tools/call", req)
	result, ok := made.(*mcp.CallToolResult)
	if err != nil || !ok {
		s.Logger.ErrorContext(ctx, "tool without an answer", "tool", wanted.Params.Name, "err", err, "trace_id", problem.TraceID(ctx))
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
	code := lineshaft.Code("")
	if err := c.failure(result); err != nil {
		code = s.tell(ctx, result, err)
	}
	s.Logger.LogAttrs(ctx, slog.LevelInfo, "tool call", // arguments stay out of it
		slog.String("tool", wanted.Params.Name), slog.String("code", string(code)), slog.Duration("duration", time.Since(begun)),
		slog.String("caller", c.Principal.UID), slog.String("request_id", c.RequestID), slog.String("trace_id", problem.TraceID(ctx)))
	return result, nil
}

// takeTurn waits until the caller may read what may be long (H-14); rest ends its turn.
func (s *Server) takeTurn(ctx context.Context, c *call) (rest func(), err error) {
	release, err := s.Control.Turn(ctx, c.Caller, 3)
	if err != nil {
		return nil, err
	}
	pause := s.Control.Work(ctx)
	return func() { pause(); release() }, nil
}

// failure is why a call failed, or nil.
func (c *call) failure(result *mcp.CallToolResult) error {
	if c.refused != nil {
		return c.refused
	}
	cause := result.GetError()
	if !result.IsError || cause == nil {
		return nil
	}
	if own, ok := errors.AsType[*failed](cause); ok {
		return inWords(own.cause)
	}
	return lineshaft.Invalid("", "the arguments do not fit the tool's schema: %s", lineshaft.Clip(cause.Error(), maxRefusal))
}

// tell puts an error into an answer: its code, what to do next, and nothing of the inside.
func (s *Server) tell(ctx context.Context, result *mcp.CallToolResult, err error) lineshaft.Code {
	doc, header := s.problems.Describe(ctx, "", err)
	text := string(doc.Code)
	if doc.Detail != "" {
		text += ": " + doc.Detail
	}
	fields := map[string]any{"code": doc.Code, "message": doc.Detail, "retryable": doc.Retryable, "type": doc.Type}
	if doc.TraceID != "" {
		fields["trace_id"] = doc.TraceID
	}
	switch wait := header.Get("Retry-After"); {
	case wait != "":
		fields["retry_after_seconds"] = wait
		text += "; try again in " + wait + " s"
	case doc.Retryable:
		text += "; the same call may succeed later"
	}
	if result.Meta == nil {
		result.Meta = mcp.Meta{}
	}
	result.Meta[errorMeta] = fields
	result.IsError, result.StructuredContent, result.Content = true, nil, []mcp.Content{&mcp.TextContent{Text: text}}
	return doc.Code
}

// progress tells the client how a long call stands, if it wants to know. The measure is
// the time that has passed: it has to grow each time, also when nothing else does.
func (c *call) progress(ctx context.Context, passed time.Duration, message string) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A client that cannot be told will notice by itself.
	_ = c.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: passed.Seconds(), Message: message})
}

// arguments reads some of the arguments as they were sent: the SDK's way through a map
// would round long numbers and drop keys that are there twice.
func (c *call) arguments(into any) error {
	if err := jsonbody.Unmarshal(c.request.Params.Arguments, into); err != nil {
		return lineshaft.Invalid("", "the arguments do not fit the tool's schema: %s", lineshaft.Clip(err.Error(), maxRefusal))
	}
	return nil
}
