package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Rerun starts a new run with the same request: of the same factory, agent and automation,
// in the same environment. To run again what a delivery started, redeliver it: it then has
// what its automation gives it today.
func (s *Runs) Rerun(ctx context.Context, c lineshaft.Caller, runID string, source lineshaft.Source, idem *base.Idempotency) (Started, error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return Started{}, err
	}
	req, err := s.rerunRequest(ctx, c, runID, source)
	if err != nil {
		return Started{}, err
	}
	if req.Attachments, err = s.loadAttachments(ctx, runID); err != nil {
		return Started{}, err
	}
	return s.StartRun(ctx, c, req, idem)
}

// RerunProblem says why a rerun would be refused, or nothing when it can be tried: pages
// offer nothing that must fail.
func (s *Runs) RerunProblem(ctx context.Context, c lineshaft.Caller, runID string, source lineshaft.Source) (string, error) {
	if err := c.Need(lineshaft.PermissionRunsStart); err != nil {
		return "", err
	}
	req, err := s.rerunRequest(ctx, c, runID, source)
	if err == nil {
		err = req.Validate()
	}
	if err == nil {
		_, _, err = s.foresee(ctx, c, &req)
	}
	switch lineshaft.CodeOf(err) {
	case lineshaft.CodeInternal, lineshaft.CodeUnavailable: // also when there is none
		return "", err
	default:
		return base.Reason(err), nil
	}
}

// rerunRequest is the request that starts a run again, without its attachments.
func (s *Runs) rerunRequest(ctx context.Context, c lineshaft.Caller, runID string, source lineshaft.Source) (lineshaft.NewRun, error) {
	run, err := s.visibleRun(ctx, c, runID)
	if err != nil {
		return lineshaft.NewRun{}, err
	}
	body, err := s.Store.GetRunBody(ctx, runID)
	if err != nil {
		return lineshaft.NewRun{}, err
	}
	if run.Source.Delivered() {
		return lineshaft.NewRun{}, lineshaft.NotSupported("", "a delivery started this run; redeliver delivery %s instead (POST /factory/%s/webhooks/%s/deliveries/%s/redeliver)",
			body.Metadata[lineshaft.MetadataDelivery], run.FactoryUID, body.Metadata[lineshaft.MetadataWebhook], body.Metadata[lineshaft.MetadataDelivery])
	}
	req := lineshaft.NewRun{
		Prompt: body.Prompt, Title: run.Title, Config: body.Request, Source: source, Metadata: body.Metadata, FiredBy: body.FiredBy, AgentUID: run.AgentUID,
		Again: &lineshaft.Again{RerunOf: cmp.Or(run.RerunOf, run.ID), FactoryUID: run.FactoryUID},
	}
	if body.Continues != "" {
		req.ConversationID, req.Continues = run.ConversationID, body.Continues
	}
	err = s.shapeRerun(ctx, c, run, body, &req)
	return req, err
}

// shapeRerun decides what configures a rerun: its automation, its agent, or only what
// it had.
func (s *Runs) shapeRerun(ctx context.Context, c lineshaft.Caller, run *lineshaft.Run, body *store.RunBody, req *lineshaft.NewRun) error {
	outside, err := reachedFromOutside(ctx, s.Store, run.ID, run.RootRunID)
	if err != nil {
		return err
	}
	automation := body.Metadata[lineshaft.MetadataAutomation]
	switch {
	case c.Role == lineshaft.RoleRun: // an agent's own runs are limited as its children
		req.Again.FactoryUID = ""
		if run.FactoryUID != "" && req.AgentUID != "" {
			req.Config = lineshaft.AgentConfig{} // the definition decides
		}
		return nil
	case automation != "" && hasOrigin(body, automationOrigin):
		_, err := s.Store.GetAutomation(ctx, run.FactoryUID, automation)
		if err == nil {
			req.Config = lineshaft.AgentConfig{EnvironmentID: body.Config.EnvironmentID, Concurrency: body.Config.Concurrency}
			req.Again.AutomationUID, req.Again.Outside = automation, outside
		}
		if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			return err
		}
	case !outside && !fromParent(body):
		req.Config.EnvironmentID = body.Config.EnvironmentID
		if run.FactoryUID != "" && req.AgentUID != "" {
			req.Config.WorkerHost = ""
		}
		return nil
	}
	// As it was resolved, with no definition that adds to it, now or when this one is run again.
	req.Config, req.Metadata, req.Again.Pinned = body.Config, withoutDelivery(body.Metadata), true
	return s.mayRerunBelow(ctx, body)
}

// numberRerun makes a new run the next with the request of another. The first of them is
// locked: two at once get different numbers.
func numberRerun(ctx context.Context, tx *store.Tx, n *store.NewRun, again *lineshaft.Again) error {
	if again == nil {
		return nil
	}
	if _, err := tx.LockRun(ctx, again.RerunOf); base.IgnoreNotFound(err) != nil {
		return err
	}
	last, err := tx.LastAttempt(ctx, again.RerunOf)
	n.RerunOf, n.Attempt = again.RerunOf, last+1
	return err
}

// mayRerunBelow refuses where the rerun of a run that came of something from outside
// would have secrets that the run itself did not have.
func (s *Runs) mayRerunBelow(ctx context.Context, body *store.RunBody) error {
	if body.Config.EnvironmentID == "" {
		return nil
	}
	environment, err := s.Store.GetEnvironment(ctx, body.Config.EnvironmentID)
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	for _, name := range environment.Config.Secrets {
		if !slices.Contains(body.Config.Secrets, name) {
			return lineshaft.NotSupported("", "a rerun would get secret %s of its environment, which this run did not have; start a new run instead", name)
		}
	}
	return nil
}

// withoutDelivery drops what says that a run is the one of its automation for a
// delivery: there is only one.
func withoutDelivery(metadata map[string]string) map[string]string {
	kept := maps.Clone(metadata)
	delete(kept, lineshaft.MetadataWebhook)
	delete(kept, lineshaft.MetadataDelivery)
	return kept
}

// ofDeliveries are the metadata that say what started a run.
func ofDeliveries() []string {
	return []string{lineshaft.MetadataWebhook, lineshaft.MetadataDelivery, lineshaft.MetadataAutomation}
}
