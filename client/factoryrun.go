package client

import (
	"context"
	"net/http"
)

// FactoryRunRequest is work for the foreman of a factory; only the prompt is needed.
type FactoryRunRequest struct {
	Prompt string `json:"prompt"`
	Title  string `json:"title,omitempty"`
	// TicketRef is what the work is for, as source:id.
	TicketRef string `json:"ticket_ref,omitempty"`
	TicketURL string `json:"ticket_url,omitempty"`
}

// FactoryRun says what became of it.
type FactoryRun struct {
	FactoryUID   string   `json:"factory_uid"`
	ForemanAgent string   `json:"foreman_agent"`
	RunID        string   `json:"run_id"`
	State        RunState `json:"state"`
	TicketRef    string   `json:"ticket_ref"`
	RunURL       string   `json:"run_url"`
}

// Run gives work to the foreman of a factory. When it returns, the run is stored and
// will be executed.
func (s *FactoriesService) Run(ctx context.Context, uid string, req FactoryRunRequest) (*FactoryRun, error) {
	path, err := factoryPath(uid, "/runs")
	if err != nil {
		return nil, err
	}
	var out FactoryRun
	return result(&out, s.c.do(ctx, call{method: http.MethodPost, path: path, body: req, out: &out, keyed: true, replay: true}))
}
