package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/store"
)

// runShape is what a requested run will be: where it belongs, and its resolved
// configuration with the origin of each value.
type runShape struct {
	Definitions

	factoryUID string
	config     lineshaft.AgentConfig
	origins    map[string]string
	// narrowed says that it is a child with the configuration of its parent.
	narrowed bool
}

// shapeRun decides what a requested run will be. Only here is decided what an agent may
// ask for with its run token: an agent of the same factory, with exactly that
// one's configuration, or the parent's own, made narrower.
func (s *Runs) shapeRun(ctx context.Context, r definitionReader, c lineshaft.Caller, req lineshaft.NewRun, parent *store.Lineage) (runShape, error) {
	d, err := s.DefinitionsOf(ctx, r, c, req, parent)
	if err != nil {
		return runShape{}, err
	}
	if c.Role == lineshaft.RoleRun {
		d.conversation = nil // what it asks for is its parent's or an agent's
	}
	shape := runShape{Definitions: d, factoryUID: parent.FactoryUID}
	if d.Agent != nil {
		shape.factoryUID = d.Agent.FactoryUID
	}
	if req.Again != nil && req.Again.FactoryUID != "" {
		shape.factoryUID = req.Again.FactoryUID
	}
	if c.Role != lineshaft.RoleRun {
		shape.config, shape.origins, err = s.ResolveConfig(ctx, r, c, req.Config, d)
		if err == nil && shape.Factory == nil && shape.factoryUID != "" { // its budget counts
			shape.Factory, err = r.GetFactory(ctx, shape.factoryUID)
			err = base.IgnoreNotFound(err)
		}
		return shape, err
	}
	if req.ParentRunID != c.RunID {
		denied := lineshaft.Denied("a run can start only its own children; leave parent_run_id out")
		denied.Field = "parent_run_id"
		return shape, denied
	}
	if d.Agent == nil {
		shape.narrowed = true
		shape.config, shape.origins, err = lineshaft.NarrowConfig(parent.Body.Config, req.Config, s.Cfg.Children)
		for _, name := range shape.config.NamedSecrets() {
			if secrets.OwnSecret(&parent.Body, name) { // it stays one that was never granted
				shape.origins[lineshaft.SecretOrigin(name)] = secrets.RunOrigin
				if name == shape.config.AuthSecret() {
					shape.origins[lineshaft.AuthOrigin] = secrets.RunOrigin
				}
			}
		}
		return shape, err
	}
	if err := limitSecrets(ctx, r, c, parent.RootRunID, &shape.Definitions); err != nil {
		return shape, err
	}
	shape.config, shape.origins, err = s.ResolveConfig(ctx, r, c, lineshaft.AgentConfig{}, shape.Definitions)
	if err != nil {
		return shape, err
	}
	if field := lineshaft.SameConfig(shape.config, req.Config); field != "" {
		denied := lineshaft.Denied("a run starts agent %q with exactly the configuration of that agent; leave %s out", d.Agent.Name, field)
		denied.Field = "config." + field
		return shape, denied
	}
	return shape, nil
}

// skillsOf finds the skills of a new run. A child has those of its parent as they were
// found for it: nothing is fetched because an agent asks for it.
func (s *Runs) skillsOf(ctx context.Context, shape runShape, parent *store.Lineage) ([]lineshaft.Skill, error) {
	if !shape.narrowed {
		scope := skills.SkillScope{Environment: shape.config.EnvironmentID, Factory: shape.factoryUID}
		if shape.Agent != nil {
			scope.Agent = shape.Agent.Name
		}
		return s.skills.LookUpSkills(ctx, shape.config.Skills, scope)
	}
	var found []lineshaft.Skill
	for i, spec := range parent.Body.Config.Skills {
		if slices.Contains(shape.config.Skills, spec) && i < len(parent.Body.Skills) {
			one := parent.Body.Skills[i]
			one.Spec = spec
			found = append(found, one)
		}
	}
	return found, nil
}

// parentOf reads where a child run belongs, if there may be runs below that one.
func (s *Runs) parentOf(ctx context.Context, tx *store.Tx, parentID string) (*store.Lineage, error) {
	l, err := tx.GetLineage(ctx, parentID)
	if err == nil && l.Depth+1 > s.Cfg.Trees.Depth {
		return nil, lineshaft.Invalid("parent_run_id", "runs may be nested %d deep, and the parent is at that depth", s.Cfg.Trees.Depth)
	}
	return l, err
}

// checkChildren refuses another child of a run that has too many. The run is locked:
// the count holds until the child is written.
func (s *Runs) checkChildren(ctx context.Context, tx *store.Tx, parentID string) error {
	live, err := tx.CountLiveChildren(ctx, parentID)
	if err == nil && live >= s.Cfg.Trees.LiveChildren {
		return lineshaft.Invalid("parent_run_id", "the parent has %d live children already; wait for one to end", live)
	}
	return err
}

// joinTree puts a new run below its parent, with the metadata that it does not set
// itself, if the budgets above it are not used up.
func (s *Runs) joinTree(ctx context.Context, tx *store.Tx, c lineshaft.Caller, n *store.NewRun, l *store.Lineage) error {
	n.RootRunID, n.Depth, n.Ancestors = l.RootRunID, l.Depth+1, l.Ancestors
	merged := maps.Clone(l.Body.Metadata)
	if merged == nil {
		merged = map[string]string{}
	}
	for key, value := range n.Body.Metadata {
		if c.Role == lineshaft.RoleRun && slices.Contains(ofDeliveries(), key) && merged[key] != value {
			denied := lineshaft.Denied("metadata.%s says which delivery started a run, but none started this one; leave it out", key)
			denied.Field = "metadata." + key
			return denied
		}
		merged[key] = value
	}
	if len(merged) > lineshaft.MaxMetadataKeys {
		return lineshaft.Invalid("metadata", "with what the parent run passes on there are %d keys; at most %d are allowed", len(merged), lineshaft.MaxMetadataKeys)
	}
	n.Body.Metadata = merged
	if rule := n.Body.Config.Concurrency; rule != nil && n.Body.Origins["concurrency"] == secrets.RunOrigin {
		n.Head.ConcurrencyKey = childSlotKey(l.RootRunID, rule.Key)
	}
	if has := l.Body.Config.Budget; has != nil {
		n.ParentBudget = *has
	}
	return checkTrees(ctx, tx, l.Ancestors[0])
}

// growTree counts a new run below the runs above it. It comes after all locks on runs:
// reports lock runs, and then the trees that they are in.
func (s *Runs) growTree(ctx context.Context, tx *store.Tx, n *store.NewRun) error {
	if len(n.Ancestors) == 0 {
		return nil
	}
	// The oldest is the top. A run that the end of another started is the top of its own
	// tree, although it has that one's root.
	top := slices.Min(n.Ancestors)
	descendants, err := tx.GrowTree(ctx, n.Ancestors, n.ParentBudget, top)
	if err != nil {
		return err
	}
	if descendants > s.Cfg.Trees.Descendants {
		return lineshaft.Invalid("parent_run_id", "%d runs were started below run %s, which is the limit for one root; start a separate run instead", s.Cfg.Trees.Descendants, top)
	}
	return nil
}

// mayReopen says whether an ended run may live again beside its siblings.
func (s *Runs) mayReopen(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
	if h.ParentRunID != "" {
		live, err := tx.CountLiveChildren(ctx, h.ParentRunID)
		if err != nil {
			return err
		}
		if live >= s.Cfg.Trees.LiveChildren {
			return lineshaft.Conflict("run %s has %d live children already; wait for one to end", h.ParentRunID, live)
		}
	}
	return checkTrees(ctx, tx, h.ID)
}

// checkTrees refuses work in a tree whose budget is used up.
func checkTrees(ctx context.Context, tx *store.Tx, runID string) error {
	trees, err := tx.TreesOf(ctx, runID)
	if err != nil {
		return err
	}
	if spent := spentTree(trees); spent != nil {
		return &lineshaft.Error{Code: lineshaft.CodeBudgetExceeded, Message: treeSpent(*spent) + "; start the work as a separate run, with its own budget"}
	}
	return nil
}

// spentTree finds a tree whose budget is used up.
func spentTree(trees []store.Tree) *store.Tree {
	for i, t := range trees {
		if t.Budget.Spent(t.Spent) != "" {
			return &trees[i]
		}
	}
	return nil
}

func treeSpent(t store.Tree) string {
	return fmt.Sprintf("the budget of run %s, which the runs below it share, is used up: %s", t.RunID, t.Budget.Spent(t.Spent))
}

// childSlotKey is a concurrency key of the runs below a root: what an agent chooses
// holds up nobody else.
func childSlotKey(rootRunID, key string) string { return "below/" + rootRunID + "/" + key }

// fromParent says whether a run has its configuration from the run that started it.
func fromParent(body *store.RunBody) bool { return hasOrigin(body, lineshaft.ParentOrigin) }

// limitJob holds a run to what is left of the budgets that it shares with others. The
// gateway knows only the run's own budget, which therefore becomes what is left of all.
func limitJob(ctx context.Context, tx *store.Tx, job *lineshaft.Job) error {
	trees, err := tx.TreesOf(ctx, job.RunID)
	if err != nil || len(trees) == 0 {
		return err
	}
	if spent := spentTree(trees); spent != nil {
		job.Fault, job.FaultCode = treeSpent(*spent)+"; start the work as a separate run, with its own budget", lineshaft.CodeBudgetExceeded
		job.Withhold()
		return nil
	}
	var limit lineshaft.Budget
	if has := job.Config.Budget; has != nil {
		limit = *has
	}
	tighten := func(limit *int64, used, total, spent int64) {
		if total > 0 && (*limit == 0 || used+total-spent < *limit) {
			*limit = used + total - spent
		}
	}
	for _, t := range trees {
		tighten(&limit.MaxTokens, job.Used.Total(), t.Budget.MaxTokens, t.Spent.Tokens)
		tighten(&limit.MaxCostMicros, job.Used.CostMicros, t.Budget.MaxCostMicros, t.Spent.CostMicros)
	}
	job.Config.Budget = &limit
	return nil
}
