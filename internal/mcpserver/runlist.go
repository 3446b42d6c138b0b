package mcpserver

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

type (
	listRunsIn struct {
		State         []string `json:"state,omitempty" maxItems:"9" enum:"QUEUED,PENDING,CLAIMED,INPROGRESS,BLOCKED,SUCCEEDED,FAILED,ERROR,CANCELLED" doc:"Any of these states."`
		Factory       string   `json:"factory,omitempty" maxLength:"200" doc:"The uid, alias or name of a factory."`
		AutomationID  string   `json:"automation_id,omitempty" maxLength:"200" doc:"Started by this automation."`
		WebhookID     string   `json:"webhook_id,omitempty" maxLength:"200" doc:"Started by a delivery to this webhook."`
		DeliveryID    string   `json:"delivery_id,omitempty" maxLength:"200" doc:"Started by this delivery."`
		ParentRunID   string   `json:"parent_run_id,omitempty" maxLength:"200" doc:"Children of this run."`
		Source        string   `json:"source,omitempty" maxLength:"40" doc:"Where the run came from, such as MCP, API or CUSTOM_WEBHOOK."`
		Name          string   `json:"name,omitempty" maxLength:"200" doc:"The name in the run's configuration."`
		Query         string   `json:"query,omitempty" maxLength:"1024" doc:"Words of title, name, skill and the start of the prompt."`
		CreatedAfter  string   `json:"created_after,omitempty" maxLength:"40" doc:"Inclusive, as 2026-01-31T12:00:00Z."`
		CreatedBefore string   `json:"created_before,omitempty" maxLength:"40" doc:"Exclusive."`
		Limit         int      `json:"limit,omitempty" default:"20" minimum:"1" maximum:"100"`
		Cursor        string   `json:"cursor,omitempty" maxLength:"4096" doc:"next_cursor of the page before, with the same filters."`
	}
	listRunsOut struct {
		Runs []Run `json:"runs"`
		Paging
	}
)

func (s *Server) listRuns(ctx context.Context, c *call, in listRunsIn) (listRunsOut, string, error) {
	filter, err := s.runFilter(ctx, c, in)
	if err != nil {
		return listRunsOut{}, "", err
	}
	page, err := s.Control.ListRuns(ctx, c.Caller, lineshaft.RunQuery{Filter: filter, Sort: lineshaft.SortUpdated, Limit: in.Limit, Cursor: in.Cursor})
	out := listRunsOut{showAll(page.Runs, s.showRun), Paging{page.Next}}
	words := func(run *Run) string {
		return fmt.Sprintf("%s %s %s %s", run.RunID, run.State, run.CreatedAt, quoted(run.Untrusted.Title))
	}
	return out, lines("There is no such run that this key may see.", out.Runs, words, page.Next), err
}

func (s *Server) runFilter(ctx context.Context, c *call, in listRunsIn) (lineshaft.RunFilter, error) {
	states := lineshaft.Convert[lineshaft.RunState](in.State)
	filter := lineshaft.RunFilter{ParentRunID: in.ParentRunID, Name: in.Name, Query: in.Query, States: states}
	if in.Source != "" {
		filter.Sources = []lineshaft.Source{lineshaft.Source(in.Source)}
	}
	for key, value := range map[string]string{
		lineshaft.MetadataAutomation: in.AutomationID, lineshaft.MetadataWebhook: in.WebhookID, lineshaft.MetadataDelivery: in.DeliveryID,
	} {
		if value == "" {
			continue
		}
		if filter.Metadata == nil {
			filter.Metadata = map[string]string{}
		}
		filter.Metadata[key] = value
	}
	var err error
	if filter.CreatedAfter, err = moment("created_after", in.CreatedAfter); err != nil {
		return filter, err
	}
	if filter.CreatedBefore, err = moment("created_before", in.CreatedBefore); err != nil {
		return filter, err
	}
	if in.Factory != "" {
		uid, err := s.factoryUID(ctx, c, in.Factory)
		if err != nil {
			return filter, err
		}
		filter.FactoryUIDs = []string{uid}
	}
	return filter, nil
}
