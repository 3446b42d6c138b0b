package api

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// FactoryRunRequest is work for the foreman of a factory.
type FactoryRunRequest struct {
	Prompt    string `json:"prompt" minLength:"1" maxLength:"1048576" doc:"What to do; the foreman gets it as it is."`
	Title     string `json:"title,omitempty" maxLength:"200" doc:"Made from the prompt when absent."`
	TicketRef string `json:"ticket_ref,omitempty" doc:"What the work is for, as source:id, such as linear:ENG-42. Made when absent."`
	TicketURL string `json:"ticket_url,omitempty" maxLength:"256"`
}

// FactoryRunResponse answers a request for work.
type FactoryRunResponse struct {
	FactoryUID   string   `json:"factory_uid"`
	ForemanAgent string   `json:"foreman_agent" doc:"The name of the agent that the work went to."`
	RunID        string   `json:"run_id"`
	State        RunState `json:"state"`
	TicketRef    string   `json:"ticket_ref"`
	RunURL       string   `json:"run_url,omitempty" format:"uri" doc:"The page on this server that shows the run."`
}

type (
	factoryRunInput struct {
		FactoryPath
		Body FactoryRunRequest
	}
	factoryRunOutput struct {
		Replayed string `header:"Idempotent-Replayed" doc:"true when this is the kept answer to an earlier request with the same Idempotency-Key."`
		Body     FactoryRunResponse
	}
)

func (s *server) createFactoryRun(ctx context.Context, in *factoryRunInput) (*factoryRunOutput, error) {
	info := infoFrom(ctx)
	done, err := s.Control.DispatchRun(ctx, info.caller, in.FactoryUID, factories.Dispatch{
		Prompt: in.Body.Prompt, Title: in.Body.Title, TicketRef: in.Body.TicketRef, TicketURL: in.Body.TicketURL, Source: info.source,
	}, info.idempotency)
	if err != nil {
		return nil, err
	}
	return &factoryRunOutput{Replayed: replayed(done.Replayed), Body: FactoryRunResponse{
		FactoryUID: done.FactoryUID, ForemanAgent: done.Foreman, RunID: done.RunID, State: RunState(done.State), TicketRef: done.TicketRef,
		RunURL: s.BaseURL + "/runs/" + done.RunID,
	}}, nil
}
