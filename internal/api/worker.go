package api

import (
	"context"

	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// ConnectedSelfHostedWorker is a worker id with its connections summed up.
type ConnectedSelfHostedWorker struct {
	WorkerHost      string   `json:"worker_host"`
	ConnectionCount int      `json:"connection_count"`
	ConnectedAt     string   `json:"connected_at" format:"date-time"`
	LastSeenAt      string   `json:"last_seen_at" format:"date-time"`
	Capacity        int      `json:"capacity" doc:"How many runs its connections can take at once."`
	Load            int      `json:"load" doc:"How many they hold now."`
	Labels          []string `json:"labels" doc:"What its connections say about their machines, each KEY=VALUE."`
}

// ListWorkersResponse lists the connected workers.
type ListWorkersResponse struct {
	Workers []ConnectedSelfHostedWorker `json:"workers"`
}

func (s *server) listWorkers(ctx context.Context, _ *struct{}) (*answer[ListWorkersResponse], error) {
	list, err := s.Control.Workers(ctx, callerOf(ctx))
	return reply(ListWorkersResponse{each(list, wireWorker)}, err)
}

func wireWorker(w *runs.Worker) ConnectedSelfHostedWorker {
	return ConnectedSelfHostedWorker{
		WorkerHost: w.WorkerHost, ConnectionCount: w.ConnectionCount, ConnectedAt: stamp(w.ConnectedAt),
		LastSeenAt: stamp(w.LastSeenAt), Capacity: w.Capacity, Load: w.Running, Labels: orEmpty(w.Labels),
	}
}

// ModelInfo is a language model that this server can use.
type ModelInfo struct {
	ID              string `json:"id"`
	DisplayName     string `json:"display_name"`
	Provider        string `json:"provider" enum:"OPENAI,ANTHROPIC,GOOGLE,UNKNOWN"`
	VisionSupported bool   `json:"vision_supported"`
	Description     string `json:"description,omitempty"`
	ReasoningLevel  string `json:"reasoning_level,omitempty"`
	DisableReason   string `json:"disable_reason,omitempty" enum:"PROVIDER_OUTAGE,OUT_OF_REQUESTS,ADMIN_DISABLED,REQUIRES_UPGRADE"`
}

// HarnessInfo is an adapter and whether this server can run it.
type HarnessInfo struct {
	Type      HarnessType `json:"type"`
	Available bool        `json:"available"`
	Problem   string      `json:"problem,omitempty" doc:"What is missing."`
}

// ListModelsResponse says what this server can run.
type ListModelsResponse struct {
	DefaultModelID string        `json:"default_model_id"`
	Models         []ModelInfo   `json:"models"`
	Harnesses      []HarnessInfo `json:"harnesses,omitempty"`
}

func (s *server) listModels(ctx context.Context, _ *struct{}) (*answer[ListModelsResponse], error) {
	var out ListModelsResponse
	if s.Models != nil {
		out = s.Models(ctx)
	}
	out.Models = orEmpty(out.Models)
	return reply(out, nil)
}

// EgressRangesResponse lists the addresses that runs connect from.
type EgressRangesResponse struct {
	CIDRs []string `json:"cidrs" doc:"Always empty: a self-hosted server connects from wherever its workers are."`
}

func (s *server) listEgressRanges(context.Context, *struct{}) (*answer[EgressRangesResponse], error) {
	return reply(EgressRangesResponse{CIDRs: []string{}}, nil)
}
