package mcpserver

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lineshaft/lineshaft"
)

// tool is one row of the table: who may call what, what it does to the world, and who
// answers.
type tool struct {
	name  string
	title string
	needs lineshaft.Permission
	// effect is reads, starts or ends.
	effect effect
	// about tells a model what the tool is for.
	about string
	add   func(*mcp.Server, *mcp.Tool)
}

// Short names keep the table readable.
const (
	read  = lineshaft.PermissionRunsRead
	start = lineshaft.PermissionRunsStart
	see   = lineshaft.PermissionFactoriesRead
)

// effect is what a client should know before it lets a model call a tool.
type effect int

const (
	// reads changes nothing.
	reads effect = iota
	// starts adds work, which may reach the world outside.
	starts
	// ends stops work; a second call does no more.
	ends
)

func (e effect) annotations(title string) *mcp.ToolAnnotations {
	yes, no := true, false
	switch e {
	case reads:
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	case ends:
		return &mcp.ToolAnnotations{Title: title, IdempotentHint: true, DestructiveHint: &yes, OpenWorldHint: &no}
	default:
		return &mcp.ToolAnnotations{Title: title, DestructiveHint: &no, OpenWorldHint: &yes}
	}
}

// tools is what this server offers. The permission of a tool is that of the operation
// of the API that does the same; a test compares them.
func (s *Server) tools() []tool {
	return []tool{
		{"list_factories", "List factories", see, reads, "Lists the factories of this server: teams of agents with a foreman that takes work. Use their uid, name or alias with the other tools.", handle(s.listFactories)},
		{"list_agents", "List agents", read, reads, "Lists the agents that you can give work to, in one factory or in all.", handle(s.listAgents)},
		{"list_automations", "List automations", see, reads, "Lists the automations of a factory: which events start a run, and of which agent.", handle(s.listAutomations)},
		{"list_webhooks", "List webhooks", see, reads, "Lists the webhooks of a factory: the addresses that outside systems send events to. Secrets are never shown.", handle(s.listWebhooks)},
		{"dispatch", "Start a run", start, starts, "Starts a run and returns at once. Name a factory to give the work to its foreman, an agent to choose who does it, or neither for the server's default agent. Then call wait_for_run with the run_id.", handle(s.dispatch)},
		{"get_run", "Get a run", read, reads, "Shows a run: its state, what it has cost, a link, and the last messages.", handle(s.getRun)},
		{"wait_for_run", "Wait for a run", read, reads, "Waits until a run has ended or needs an answer, for at most 50 seconds, and shows it. Call it again while waiting is true.", handle(s.waitForRun)},
		{"list_runs", "List runs", read, reads, "Lists runs, the last changed first, with filters.", handle(s.listRuns)},
		{"get_run_events", "Read a run's log", read, reads, "Reads a stretch of a run's log: states, messages, tool calls and their results, output.", handle(s.getRunEvents)},
		{"follow_up", "Send a follow-up", start, starts, "Sends a message to a run: into the prompt of one that waits, to the agent of one that is at work or asks something, or as a new turn of one that has ended.", handle(s.followUp)},
		{"cancel_run", "Cancel a run", start, ends, "Cancels a run that has not ended; its agent is stopped. With cascade also the runs that it started.", handle(s.cancelRun)},
		{"list_deliveries", "List deliveries", see, reads, "Lists what was sent to a webhook, the newest first, and what each automation made of it.", handle(s.listDeliveries)},
		{"get_delivery", "Get a delivery", see, reads, "Shows a delivery with its payload and, with explain, why automations did not match.", handle(s.getDelivery)},
		{"test_filter", "Test a filter", see, reads, "Checks whether a trigger's filter would match a stored delivery or a payload, check by check. Nothing is started.", handle(s.testFilter)},
	}
}

// heavy says that a tool reads what may be long for the whole of its call. One that waits
// takes the processor when it has something to show, and one that changes something reads
// little.
func heavy(name string) bool {
	switch name {
	case "wait_for_run", "dispatch", "follow_up", "cancel_run":
		return false
	}
	return true
}

// described is the tool without its schemas.
func (t tool) described() *mcp.Tool {
	return &mcp.Tool{Name: t.name, Title: t.title, Description: t.about, Annotations: t.effect.annotations(t.title)}
}

// handle adds a tool with the schemas of its types. Its text is for models whose
// client does not show them the structured answer, so it names whatever the next call
// needs.
func handle[In, Out any](work func(context.Context, *call, In) (Out, string, error)) func(*mcp.Server, *mcp.Tool) {
	return func(server *mcp.Server, t *mcp.Tool) {
		t.InputSchema = closed(schemaOf(reflect.TypeFor[In]()))
		t.OutputSchema = schemaOf(reflect.TypeFor[Out]())
		mcp.AddTool(server, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			c := callFrom(ctx)
			if c.refused != nil {
				var none Out
				return nil, none, &failed{c.refused}
			}
			out, text, err := work(ctx, c, in)
			if err != nil {
				return nil, out, &failed{err}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, out, nil
		})
	}
}
