package client

import (
	"errors"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// AuditQuery selects a page of the audit log.
type AuditQuery struct {
	Limit  int
	Cursor string
}

// AutomationQuery selects a page of automations.
type AutomationQuery struct {
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// DeliveryQuery selects a part of a log; all conditions must hold, and zero values do not filter.
type DeliveryQuery struct {
	// Status and Outcome are any of those: the result of a request, what an automation made of it.
	Status, Outcome []string
	// Event is what the sender's header named, Search a part of what the log says.
	Event, Search string
	// Times are for the log of one webhook.
	ReceivedAfter  time.Time // inclusive
	ReceivedBefore time.Time // exclusive
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// FactoryQuery selects a page of factories.
type FactoryQuery struct {
	// Search is a part of the name or alias, in any case.
	Search string
	// Limit is the size of a page: 1 to 100; the default is 50.
	Limit  int
	Cursor string
}

// NotificationDeliveryQuery selects a part of an endpoint's log.
type NotificationDeliveryQuery struct {
	// Status is pending, delivered or failed; empty is all.
	Status string
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// RevisionQuery selects a page of revisions.
type RevisionQuery struct {
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit  int
	Cursor string
}

// RunQuery selects and orders runs; all conditions must hold. Lists mean any of,
// and zero values do not filter.
type RunQuery struct {
	States  []RunState
	Sources []string
	// TaskStatuses are running, failed, blocked, cancelled and complete.
	TaskStatuses  []string
	Name          string
	ModelID       string
	Creator       string
	Executor      string
	EnvironmentID string // "empty-environment" selects runs without one
	Skill         string
	ScheduleID    string
	FactoryUIDs   []string
	FactoryOnly   bool
	AutomationID  string
	WebhookID     string
	DeliveryID    string
	ParentRunID   string
	AncestorRunID string
	WorkerHost    string
	ArtifactType  string
	// Query holds words to look for in titles, names, skills and prompts.
	Query         string
	Metadata      map[string]string
	CreatedAfter  time.Time // inclusive
	CreatedBefore time.Time // exclusive
	UpdatedAfter  time.Time // inclusive
	UpdatedBefore time.Time // exclusive
	// SortBy is updated_at (default), created_at, title or agent.
	SortBy string
	// SortOrder is desc (default) or asc.
	SortOrder string
	// Limit is the size of a page: 1 to 500; the default is 20.
	Limit int
	// Cursor continues after an earlier page of the same query.
	Cursor string
}

func (q RunQuery) values() url.Values {
	v := query(
		"name", q.Name, "model_id", q.ModelID, "creator", q.Creator, "executor", q.Executor,
		"environment_id", q.EnvironmentID, "skill", q.Skill, "schedule_id", q.ScheduleID, "automation_id", q.AutomationID,
		"webhook_id", q.WebhookID, "delivery_id", q.DeliveryID, "parent_run_id", q.ParentRunID,
		"ancestor_run_id", q.AncestorRunID, "worker_host", q.WorkerHost, "artifact_type", q.ArtifactType, "q", q.Query,
		"sort_by", q.SortBy, "sort_order", q.SortOrder, "cursor", q.Cursor,
	)
	setTimes(v, map[string]time.Time{
		"created_after": q.CreatedAfter, "created_before": q.CreatedBefore,
		"updated_after": q.UpdatedAfter, "updated_before": q.UpdatedBefore,
	})
	for _, state := range q.States {
		v.Add("state", string(state))
	}
	for key, value := range q.Metadata {
		v.Set("metadata["+key+"]", value)
	}
	for name, list := range map[string][]string{"source": q.Sources, "task_status": q.TaskStatuses, "factory_uid": q.FactoryUIDs} {
		if len(list) > 0 {
			v[name] = list
		}
	}
	if q.FactoryOnly {
		v.Set("factory_only", "true")
	}
	setLimit(v, q.Limit)
	return v
}

func setLimit(v url.Values, limit int) {
	if limit != 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
}

func setTimes(v url.Values, times map[string]time.Time) {
	for name, at := range times {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

// pages goes through a list whose pages read returns, each from the cursor on. A
// page may be empty and still have a next one: the server then stopped at its budget of rows.
func pages[P, T any](cursor *string, read func() (*P, error), of func(*P) ([]T, PageInfo)) iter.Seq2[T, error] {
	start := *cursor
	return func(yield func(T, error) bool) {
		var zero T
		*cursor = start
		seen := map[string]bool{}
		for {
			seen[*cursor] = true
			page, err := read()
			if err != nil {
				yield(zero, err)
				return
			}
			items, info := of(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if !info.HasNextPage || info.NextCursor == "" {
				return
			}
			if seen[info.NextCursor] {
				yield(zero, &answerError{errors.New("the server answered the same cursor again: report this as a bug of the server")})
				return
			}
			*cursor = info.NextCursor
		}
	}
}
