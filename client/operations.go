package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const (
	runsPath = "/agent/runs"
	runPath  = runsPath + "/{run}"
)

// ConversationFollowup says how a follow-up reaches the agent, and in which run.
type ConversationFollowup struct {
	RunID string `json:"run_id"`
	FollowupResult
}

// List reads one page of runs.
func (s *RunsService) List(ctx context.Context, q RunQuery) (*RunPage, error) {
	return get[RunPage](ctx, s.c, at(runsPath), q.values())
}

// CancelAll cancels every live run that the query selects, and returns their ids. The
// query needs a condition; its order, limit and cursor are ignored.
func (s *RunsService) CancelAll(ctx context.Context, q RunQuery) ([]string, error) {
	filter := q.filter()
	if len(filter) == 0 {
		return nil, &usageError{"cancelling all runs needs a condition, such as a name or a state"}
	}
	out := one[[]string]{keys: []string{"cancelled"}}
	err := s.c.do(ctx, call{method: http.MethodPost, place: at(runsPath + "/cancel"), body: map[string]any{"filter": filter}, out: &out})
	return out.value, err
}

// filter is the query as an object.
func (q RunQuery) filter() map[string]any {
	metadata := q.Metadata
	q.Metadata, q.Limit, q.Cursor, q.SortBy, q.SortOrder = nil, 0, "", "", ""
	out := map[string]any{}
	for name, values := range q.values() {
		switch name {
		case "state", "source", "task_status", "factory_uid":
			out[name] = values
		case "factory_only":
			out[name] = true
		default:
			out[name] = values[0]
		}
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	return out
}

type environmentBody struct {
	Config EnvironmentConfig `json:"config"`
}

// Create stores an environment.
func (s *EnvironmentsService) Create(ctx context.Context, config EnvironmentConfig) (*Environment, error) {
	body := environmentBody{config}
	return receive[Environment](ctx, s.c, call{method: http.MethodPost, place: at("/agent/environments"), body: body, keyed: true})
}

// Update replaces the configuration of an environment as a whole.
func (s *EnvironmentsService) Update(ctx context.Context, uid string, config EnvironmentConfig) (*Environment, error) {
	to := at("/agent/environments/{environment}", uid)
	return receive[Environment](ctx, s.c, call{method: http.MethodPut, place: to, body: environmentBody{config}, replay: true})
}

// Link makes a factory follow a repository, instead of any other.
func (s *FactoriesService) Link(ctx context.Context, uid string, source RepositorySource) (*Factory, error) {
	return s.Update(ctx, uid, FactoryUpdate{Repository: &source})
}

// Unlink makes a factory a managed one, with the definition that is in force.
func (s *FactoriesService) Unlink(ctx context.Context, uid string) (*Factory, error) {
	body := map[string]any{"repository": nil}
	return receive[Factory](ctx, s.c, call{method: http.MethodPatch, place: at("/factory/{factory}", uid), body: body, replay: true})
}

const deliveriesPath = "/factory/{factory}/webhooks/{webhook}/deliveries"

// Deliveries reads one page of the log of a webhook, also of a deleted one.
func (s *WebhooksService) Deliveries(ctx context.Context, factoryUID, uid string, q DeliveryQuery) (*DeliveryPage, error) {
	with := q.values()
	setTimes(with, map[string]time.Time{"received_after": q.ReceivedAfter, "received_before": q.ReceivedBefore})
	return get[DeliveryPage](ctx, s.c, at(deliveriesPath, factoryUID, uid), with)
}

// FactoryDeliveries reads one page of the logs of all webhooks of a factory.
func (s *WebhooksService) FactoryDeliveries(ctx context.Context, factoryUID string, q DeliveryQuery) (*DeliveryLogPage, error) {
	return get[DeliveryLogPage](ctx, s.c, at("/factory/{factory}/deliveries", factoryUID), q.values())
}

func (q DeliveryQuery) values() url.Values {
	with := pageQuery(q.Limit, q.Cursor, "event", q.Event, "q", q.Search)
	for _, status := range q.Status {
		with.Add("status", status)
	}
	for _, outcome := range q.Outcome {
		with.Add("outcome", outcome)
	}
	return with
}

// Redeliver evaluates a stored delivery again, with today's automations and
// under a new id. It is safe to repeat when its answer is lost.
func (s *WebhooksService) Redeliver(ctx context.Context, factoryUID, uid, deliveryID string) (*Redelivered, error) {
	return s.redeliver(ctx, at(deliveriesPath+"/{delivery}/redeliver", factoryUID, uid, deliveryID), false)
}

// TryRedeliver says what Redeliver would do; nothing is stored or started.
func (s *WebhooksService) TryRedeliver(ctx context.Context, factoryUID, uid, deliveryID string) (*Redelivered, error) {
	return s.redeliver(ctx, at(deliveriesPath+"/{delivery}/redeliver", factoryUID, uid, deliveryID), true)
}

func (s *WebhooksService) redeliver(ctx context.Context, to place, dryRun bool) (*Redelivered, error) {
	body := map[string]bool{"dry_run": dryRun}
	return receive[Redelivered](ctx, s.c, call{method: http.MethodPost, place: to, body: body, keyed: true, replay: true})
}

// SkillsService lists skills, which runs use as RunRequest.Skill. It is part of a Client.
type SkillsService struct{ c *Client }

// SkillQuery selects skills.
type SkillQuery struct {
	// Repository is owner/name; empty are those of all environments and factories.
	Repository string
	// Refresh has the server ask the forge again.
	Refresh bool
	// SortBy is name (default) or last_run.
	SortBy string
	// Malformed also lists files that are not skills, with their error.
	Malformed bool
}

// List reads the skills that a query selects, by name.
func (s *SkillsService) List(ctx context.Context, q SkillQuery) ([]NamedSkills, error) {
	with := query("repo", q.Repository, "sort_by", q.SortBy)
	for name, set := range map[string]bool{"refresh": q.Refresh, "include_malformed_skills": q.Malformed} {
		if set {
			with.Set(name, "true")
		}
	}
	return member[[]NamedSkills](ctx, s.c, at("/agent"), with, "agents")
}
