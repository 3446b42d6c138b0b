package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

type (
	dispatchIn struct {
		Prompt         string            `json:"prompt" minLength:"1" maxLength:"1048576" doc:"What to do. The agent knows nothing else of this conversation: say all that it needs."`
		Factory        string            `json:"factory,omitempty" maxLength:"200" doc:"The uid, alias or name of a factory; its foreman takes the work."`
		Agent          string            `json:"agent,omitempty" maxLength:"200" doc:"The uid or name of the agent that is to do it, in the factory if one is given."`
		Title          string            `json:"title,omitempty" maxLength:"200" doc:"Made from the prompt when absent."`
		Model          string            `json:"model,omitempty" maxLength:"200" doc:"The id of a model, instead of the agent's own."`
		Environment    string            `json:"environment,omitempty" maxLength:"200" doc:"The uid or name of an environment, instead of the agent's own."`
		Metadata       map[string]string `json:"metadata,omitempty" doc:"Up to 20 keys with values of up to 256 bytes, to find the run by. Not together with a factory alone, which gets a ticket instead."`
		Ticket         string            `json:"ticket,omitempty" maxLength:"300" doc:"For a factory: what the work is for, as source:id, such as linear:ENG-42."`
		IdempotencyKey string            `json:"idempotency_key,omitempty" pattern:"^[ -~]{1,255}$" doc:"A text of your choice, such as a UUID: a second call with it and the same arguments starts no second run, but returns the first."`
	}
	dispatchOut struct {
		RunID      string `json:"run_id"`
		State      string `json:"state"`
		AtCapacity bool   `json:"at_capacity" doc:"No worker has room; the run waits for one."`
		Replayed   bool   `json:"replayed" doc:"The run was started by an earlier call with this idempotency_key."`
		FactoryUID string `json:"factory_uid,omitempty"`
		Foreman    string `json:"foreman_agent,omitempty" doc:"The name of the agent that the work went to."`
		Ticket     string `json:"ticket,omitempty"`
		URL        string `json:"url" doc:"The page of this server that shows the run."`
	}
)

func (s *Server) dispatch(ctx context.Context, c *call, in dispatchIn) (dispatchOut, string, error) {
	out, err := s.started(ctx, c, in)
	if err != nil {
		return dispatchOut{}, "", err
	}
	out.URL = s.runURL(out.RunID)
	text := fmt.Sprintf("Run %s is %s: %s\nCall wait_for_run with this run_id for the result.", out.RunID, out.State, out.URL)
	if out.Replayed {
		text = "An earlier call with this idempotency_key has started it. " + text
	}
	if out.AtCapacity {
		text += " No worker has room at the moment; it waits for one."
	}
	return out, text, nil
}

// started gives the work to whom the arguments name.
func (s *Server) started(ctx context.Context, c *call, in dispatchIn) (dispatchOut, error) {
	factoryUID, err := s.factoryUID(ctx, c, in.Factory)
	if err != nil {
		return dispatchOut{}, err
	}
	environmentUID, err := s.environmentUID(ctx, c, in.Environment)
	if err != nil {
		return dispatchOut{}, err
	}
	once := again("dispatch", in.IdempotencyKey, in)
	config := lineshaft.AgentConfig{ModelID: in.Model, EnvironmentID: environmentUID}
	if factoryUID != "" && in.Agent == "" {
		if len(in.Metadata) > 0 {
			return dispatchOut{}, lineshaft.Invalid("metadata", "work for a foreman is found by its ticket; give ticket instead, or name the agent")
		}
		done, err := s.Control.DispatchRun(ctx, c.Caller, factoryUID, factories.Dispatch{
			Prompt: in.Prompt, Title: in.Title, TicketRef: in.Ticket, Config: config, Source: c.source(),
		}, once)
		if err != nil {
			return dispatchOut{}, err
		}
		out := startedOut(done.Started)
		out.FactoryUID, out.Foreman, out.Ticket = done.FactoryUID, done.Foreman, done.TicketRef
		return out, nil
	}
	if in.Ticket != "" {
		return dispatchOut{}, lineshaft.Invalid("ticket", "is for the foreman of a factory; name the factory and no agent, or use metadata")
	}
	if in.Agent == "" && c.Role != lineshaft.RoleRun && !c.MaySeeFactory("") { // a run's own are of its factory
		return dispatchOut{}, lineshaft.Denied("your key is limited to some factories; name one of them in the argument factory, as list_factories has it, or use another key")
	}
	run := lineshaft.NewRun{Prompt: in.Prompt, Title: in.Title, Config: config, Metadata: in.Metadata, Source: c.source()}
	if in.Agent != "" {
		if run.AgentUID, err = s.agentUID(ctx, c, factoryUID, in.Agent); err != nil {
			return dispatchOut{}, err
		}
	}
	done, err := s.Control.StartRun(ctx, c.Caller, run, once)
	if err != nil {
		return dispatchOut{}, err
	}
	return startedOut(done), nil
}

func startedOut(done runs.Started) dispatchOut {
	return dispatchOut{RunID: done.RunID, State: string(done.State), AtCapacity: done.AtCapacity, Replayed: done.Replayed}
}

func (s *Server) runURL(runID string) string { return s.BaseURL + "/runs/" + runID }

// again tells a call that is made a second time from a new one, or is nil without a key.
// What counts are the arguments and not how they were written down: a model writes
// them again each time.
func again(tool, key string, in any) *base.Idempotency {
	if key == "" {
		return nil
	}
	arguments, err := json.Marshal(in)
	if err != nil { // they came as JSON
		return nil
	}
	return &base.Idempotency{Key: key, Method: http.MethodPost, Path: "/api/v1/mcp#" + tool, BodyHash: sha256.Sum256(arguments)}
}
