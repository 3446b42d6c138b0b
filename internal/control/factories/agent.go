package factories

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// AgentChange says what to change of an agent: nil keeps, an empty value clears.
type AgentChange struct {
	Name          *string
	Type          *lineshaft.AgentType
	Description   *string
	Prompt        *string
	ModelID       *string
	EnvironmentID *string
	WorkerHost    *string
	RunnerID      *string
	Harness       *lineshaft.HarnessConfig
	Secrets       []string
	Skills        []string
	MCPServers    map[string]lineshaft.MCPServer
}

// CreateAgent adds an agent to a factory, or one of the whole team. Its uid and times are
// given here.
func (s *Factories) CreateAgent(ctx context.Context, c lineshaft.Caller, made lineshaft.Agent) (*lineshaft.Agent, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	uid, at := s.Store.NewID()
	made.UID, made.CreatedAt, made.UpdatedAt = uid, at, at
	made.Type, made.Config = cmp.Or(made.Type, lineshaft.AgentCustom), inheriting(made.Config)
	if err := made.Validate(); err != nil {
		return nil, err
	}
	if made.FactoryUID != "" {
		_, err := s.VisibleFactory(ctx, c, made.FactoryUID)
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			return nil, lineshaft.Invalid("factory_uid", "no factory %q that your key may see", lineshaft.Clip(made.FactoryUID, 100))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.skills.CheckSkills(ctx, made, nil); err != nil {
		return nil, err
	}
	err := s.changeAgents(ctx, c, made.FactoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		others, err := tx.ListAgents(ctx, made.FactoryUID)
		if err != nil {
			return err
		}
		if made.Type == lineshaft.AgentForeman {
			foreman := lineshaft.Conflict("%q is the foreman of the factory; create the agent as CUSTOM, then change its agent_type to FOREMAN", f.Foreman)
			foreman.Field = "agent_type"
			return foreman
		}
		if err := s.checkAgentParts(ctx, tx, c, others, lineshaft.AgentConfig{}, made); err != nil {
			return err
		}
		if err := checkAgentName(others, made); err != nil {
			return err
		}
		if err := nameConflict(tx.PutAgent(ctx, made), made.Name); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "agent.create", "agent", uid, agentDetail(made, nil))
	})
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// changeAgents makes one change to the agents of a factory, or to those without one.
func (s *Factories) changeAgents(ctx context.Context, c lineshaft.Caller, factoryUID string, change func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error) error {
	if factoryUID != "" {
		return s.changeFactory(ctx, c, factoryUID, change)
	}
	if !c.MaySeeFactory("") {
		return lineshaft.Denied("your key is limited to factories, but the agent would belong to none; name one of them in factory_uid, or use another key")
	}
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return change(ctx, tx, nil) })
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// nameConflict explains the database's error when two writers took a name at the same
// time: nothing else of an agent is unique.
func nameConflict(err error, name string) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		return errNameTaken(name, err)
	}
	return err
}

// checkAgentName finds another agent of the same factory, or of none, whose name differs
// at most in case.
func checkAgentName(others []lineshaft.Agent, a lineshaft.Agent) error {
	if slices.ContainsFunc(others, func(o lineshaft.Agent) bool { return o.UID != a.UID && sameFile(o.Name, a.Name) }) {
		return errNameTaken(a.Name, nil)
	}
	return nil
}

func errNameTaken(name string, cause error) error {
	taken := lineshaft.Conflict("there is another agent named %q, in this or another case; choose another name, or change that one", name)
	taken.Field, taken.Cause = "name", cause
	return taken
}

func agentDetail(a lineshaft.Agent, changed []string) map[string]string {
	detail := map[string]string{"name": a.Name}
	if a.FactoryUID != "" {
		detail["factory"] = a.FactoryUID
	}
	if len(changed) > 0 {
		detail["changed"] = strings.Join(changed, ", ")
	}
	return detail
}

// GetAgent reads an agent.
func (s *Factories) GetAgent(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Agent, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if !id.Valid(uid) { // no database can be asked for every text
		return nil, lineshaft.NotFound("agent", lineshaft.Clip(uid, 100))
	}
	agent, err := s.Store.GetAgent(ctx, uid)
	if err != nil {
		return nil, err
	}
	if !base.SeesAgent(c, *agent) {
		return nil, lineshaft.NotFound("agent", uid)
	}
	shown := shownTo(c, *agent)
	return &shown, nil
}

// shownTo is what a caller sees of an agent. A run sees whom it may give work to, but
// not their prompts or what they were given.
func shownTo(c lineshaft.Caller, a lineshaft.Agent) lineshaft.Agent {
	if c.Role == lineshaft.RoleRun {
		a.Prompt, a.Config = "", lineshaft.AgentConfig{}
	}
	return a
}

// ListAgents reads a page of the agents that the caller's key reaches, by factory and name:
// of all, or of those of one factory.
func (s *Factories) ListAgents(ctx context.Context, c lineshaft.Caller, factoryUID string, limit int, cursor string) (base.Page[lineshaft.Agent], error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return base.Page[lineshaft.Agent]{}, err
	}
	factories, ok := base.ListedFactories(c, factoryUID)
	if !ok {
		return base.Page[lineshaft.Agent]{}, nil
	}
	page, err := base.ReadPage("agents\x00"+factoryUID, cursor,
		func(a *lineshaft.Agent) store.PartKey { return store.PartKey{Factory: a.FactoryUID, Name: a.Name} },
		func(after store.PartKey) ([]lineshaft.Agent, bool, error) {
			return s.Store.PageAgents(ctx, factories, after, limit)
		})
	for i, a := range page.Items {
		page.Items[i] = shownTo(c, a)
	}
	return page, err
}

// ListPartNames lists the names of agents, automations or webhooks, as many as a page has: forms offer them.
func (s *Factories) ListPartNames(ctx context.Context, c lineshaft.Caller, noun string) ([]store.PartName, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	if err := c.Need(lineshaft.PermissionFactoriesRead); noun != "agent" && err != nil {
		return nil, err
	}
	factories, ok := base.ListedFactories(c, "")
	if !ok {
		return nil, nil
	}
	return s.Store.PartNames(ctx, noun, factories, store.PartKey{}, base.MaxPage)
}

// FindAgents finds the agent with a uid, or those with a name whatever its case, among
// those that ListAgents lists. It reads names alone.
func (s *Factories) FindAgents(ctx context.Context, c lineshaft.Caller, factoryUID, ref string) (uids []string, err error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	factories, ok := base.ListedFactories(c, factoryUID)
	if !ok {
		return nil, nil
	}
	for after, more := (store.PartKey{}), true; more; {
		names, err := s.Store.PartNames(ctx, "agent", factories, after, base.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if n.UID == ref {
				return []string{ref}, nil
			}
			if lineshaft.SameFolded(n.Name, ref) {
				uids = append(uids, n.UID)
			}
			after = n.PartKey
		}
		more = len(names) == base.MaxPage
	}
	return uids, nil
}

// UpdateAgent changes an agent. References to its name in its factory follow a new
// name, and an agent that becomes the foreman takes that part from another.
func (s *Factories) UpdateAgent(ctx context.Context, c lineshaft.Caller, uid string, change AgentChange) (*lineshaft.Agent, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	was, err := s.GetAgent(ctx, c, uid)
	if err != nil {
		return nil, err
	}
	next := *was
	change.Apply(&next)
	if err := s.skills.CheckSkills(ctx, next, was.Config.Skills); err != nil {
		return nil, err
	}
	var changed *lineshaft.Agent
	err = s.changeAgents(ctx, c, was.FactoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		a, err := tx.LockAgent(ctx, uid)
		if err != nil {
			return err
		}
		before := *a
		fields := change.Apply(a)
		if changed = a; len(fields) == 0 {
			return errUnchanged
		}
		a.UpdatedAt = s.Store.Now()
		if err := a.Validate(); err != nil {
			return err
		}
		others, err := tx.ListAgents(ctx, a.FactoryUID)
		if err != nil {
			return err
		}
		if err := s.checkAgentParts(ctx, tx, c, others, before.Config, *a); err != nil {
			return err
		}
		if err := s.keepForeman(ctx, tx, f, others, before, *a); err != nil {
			return err
		}
		if a.Name != before.Name {
			if err := checkAgentName(others, *a); err != nil {
				return err
			}
		}
		if err := nameConflict(tx.PutAgent(ctx, *a), a.Name); err != nil {
			return err
		}
		if err := renameInFactory(ctx, tx, before, a.Name); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "agent.update", "agent", uid, agentDetail(*a, fields))
	})
	return changed, err
}

// Apply writes the change into a and names the fields that were given, for the audit log.
func (change AgentChange) Apply(a *lineshaft.Agent) []string {
	var fields []string
	config := a.Config
	lineshaft.Change(&fields, "name", &a.Name, change.Name)
	lineshaft.Change(&fields, "agent_type", &a.Type, change.Type)
	lineshaft.Change(&fields, "description", &a.Description, change.Description)
	lineshaft.Change(&fields, "prompt", &a.Prompt, change.Prompt)
	lineshaft.Change(&fields, "base_model", &config.ModelID, change.ModelID)
	lineshaft.Change(&fields, "environment_id", &config.EnvironmentID, change.EnvironmentID)
	lineshaft.Change(&fields, "worker_host", &config.WorkerHost, change.WorkerHost)
	lineshaft.Change(&fields, "default_runner_uid", &config.RunnerID, change.RunnerID)
	if change.Harness != nil {
		config.Harness, fields = nil, append(fields, "harness")
		if !change.Harness.IsZero() {
			config.Harness = change.Harness
		}
	}
	if change.Secrets != nil {
		config.Secrets, fields = inheriting(lineshaft.AgentConfig{Secrets: change.Secrets}).Secrets, append(fields, "secrets")
	}
	if change.Skills != nil {
		config.Skills, fields = change.Skills, append(fields, "skills")
	}
	if change.MCPServers != nil {
		config.MCPServers, fields = inheriting(lineshaft.AgentConfig{MCPServers: change.MCPServers}).MCPServers, append(fields, "mcp_servers")
	}
	a.Config = config
	return fields
}

// inheriting is a configuration in which an empty list or map says nothing, as in the API
// of agents: then the factory's defaults count.
func inheriting(config lineshaft.AgentConfig) lineshaft.AgentConfig {
	if len(config.Secrets) == 0 {
		config.Secrets = nil
	}
	if len(config.MCPServers) == 0 {
		config.MCPServers = nil
	}
	return config
}

// DeleteAgent removes an agent for which nothing starts runs. Its runs stay.
func (s *Factories) DeleteAgent(ctx context.Context, c lineshaft.Caller, uid string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	was, err := s.GetAgent(ctx, c, uid)
	if err != nil {
		return err
	}
	return s.changeAgents(ctx, c, was.FactoryUID, func(ctx context.Context, tx *store.Tx, _ *lineshaft.Factory) error {
		a, err := tx.LockAgent(ctx, uid)
		if err != nil {
			return err
		}
		if a.Type == lineshaft.AgentForeman {
			return lineshaft.Invalid("", "%q is the foreman, which a factory needs; change the agent_type of another agent to FOREMAN first", a.Name)
		}
		uses, err := agentUses(ctx, tx, *a)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return lineshaft.Conflict("agent %q is in use by %s; change these first", a.Name, secrets.NameUses(uses))
		}
		if err := changeSkills(ctx, tx, *a, func(*lineshaft.Skill) bool { return false }); err != nil {
			return err
		}
		if err := tx.DeleteAgent(ctx, uid); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "agent.delete", "agent", uid, agentDetail(*a, nil))
	})
}
