package factories

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

// Metadata of runs that were dispatched to a factory.
const (
	metadataTicketID     = "ticket_id"
	metadataTicketSource = "ticket_source"
	metadataTicketURL    = "ticket_url"
	// adhocSource is that of work without a ticket.
	adhocSource = "adhoc"
)

// Dispatch is work for a factory's foreman.
type Dispatch struct {
	Prompt string
	Title  string
	// TicketRef is source:id; one is made when it is empty.
	TicketRef string
	TicketURL string
	// Config overrides what the foreman has.
	Config lineshaft.AgentConfig
	Source lineshaft.Source
}

// Dispatched is the result of a dispatch.
type Dispatched struct {
	runs.Started

	FactoryUID string
	Foreman    string
	TicketRef  string
}

// DispatchRun gives work to the foreman of a factory, even a paused one: the pause is
// for automations, and people who ask know what they do.
func (s *Factories) DispatchRun(ctx context.Context, c lineshaft.Caller, factoryUID string, d Dispatch, idem *base.Idempotency) (Dispatched, error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return Dispatched{}, err
	}
	factory, err := s.VisibleFactory(ctx, c, factoryUID)
	if err != nil {
		return Dispatched{}, err
	}
	metadata, err := s.ticket(d)
	if err != nil {
		return Dispatched{}, err
	}
	agents, err := s.Store.ListAgents(ctx, factoryUID)
	if err != nil {
		return Dispatched{}, err
	}
	at := slices.IndexFunc(agents, func(a lineshaft.Agent) bool { return a.Name == factory.Foreman })
	if at < 0 {
		return Dispatched{}, lineshaft.Conflict("factory %q has no foreman; change the agent_type of one of its agents to FOREMAN", factory.Name)
	}
	req := lineshaft.NewRun{Prompt: d.Prompt, Title: d.Title, Config: d.Config, Source: d.Source, AgentUID: agents[at].UID, Metadata: metadata}
	if d.Prompt == "" {
		return Dispatched{}, lineshaft.Invalid("prompt", "say what the foreman should do")
	}
	started, err := s.runs.StartRun(ctx, c, req, idem)
	if err != nil {
		return Dispatched{}, err
	}
	out := Dispatched{Started: started, FactoryUID: factoryUID, Foreman: factory.Foreman, TicketRef: ticketRef(metadata)}
	if started.Replayed && d.TicketRef == "" { // it was made for the first call
		body, err := s.Store.GetRunBody(ctx, started.RunID)
		if base.IgnoreNotFound(err) != nil {
			return Dispatched{}, err
		}
		if err == nil && body.Metadata[metadataTicketID] != "" {
			out.TicketRef = ticketRef(body.Metadata)
		}
	}
	return out, nil
}

func ticketRef(metadata map[string]string) string {
	return metadata[metadataTicketSource] + ":" + metadata[metadataTicketID]
}

// ticket is the metadata that says what the work is for.
func (s *Factories) ticket(d Dispatch) (map[string]string, error) {
	if d.TicketRef == "" {
		made, _ := s.Store.NewID()
		d.TicketRef = adhocSource + ":" + made
	}
	source, number, ok := strings.Cut(d.TicketRef, ":")
	if !ok || source == "" || number == "" {
		return nil, lineshaft.Invalid("ticket_ref", "must be a source and an id, such as linear:ENG-42")
	}
	metadata := map[string]string{metadataTicketSource: source, metadataTicketID: number}
	if d.TicketURL != "" {
		if u, err := url.Parse(d.TicketURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, lineshaft.Invalid("ticket_url", "must be an http or https URL")
		}
		metadata[metadataTicketURL] = d.TicketURL
	}
	for _, f := range []struct{ field, text string }{{"ticket_ref", source}, {"ticket_ref", number}, {"ticket_url", d.TicketURL}} {
		if len(f.text) > lineshaft.MaxMetadataValue {
			return nil, lineshaft.Invalid(f.field, "at most %d bytes are allowed", lineshaft.MaxMetadataValue)
		}
	}
	return metadata, nil
}
