package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Definitions are what shapes a run besides its own request; nil means no say.
type Definitions struct {
	// conversation is what the run takes over from the one that it continues.
	conversation *lineshaft.AgentConfig
	// outside says that strangers may have written a part of that conversation.
	outside     bool
	Automation  *lineshaft.Automation
	Agent       *lineshaft.Agent
	Factory     *lineshaft.Factory
	environment *lineshaft.Environment
	// Limited lets agent, factory and environment add no secrets but those of allowed,
	// and no tool servers with other secrets.
	Limited bool
	allowed []string
	tools   []string // that tool servers may name
}

// definitionReader is met by the store and by a transaction.
type definitionReader interface {
	GetAgent(ctx context.Context, uid string) (*lineshaft.Agent, error)
	GetFactory(ctx context.Context, uid string) (*lineshaft.Factory, error)
	GetEnvironment(ctx context.Context, uid string) (*lineshaft.Environment, error)
	RunStarts(ctx context.Context, runID, rootRunID string) ([]store.RunStart, error)
	GetRunBody(ctx context.Context, runID string) (*store.RunBody, error)
	GetAutomation(ctx context.Context, factoryUID, uid string) (*lineshaft.Automation, error)
}

// layers puts everything that may say something about a run's configuration in the
// order of R-3, narrowest first. There is no other place that knows this order.
func (s *Runs) layers(run lineshaft.AgentConfig, d Definitions) []lineshaft.Layer {
	layers := []lineshaft.Layer{{Origin: secrets.RunOrigin, Config: run}}
	if d.conversation != nil {
		layers = append(layers, lineshaft.Layer{Origin: secrets.ConversationOrigin, Config: *d.conversation})
	}
	if d.Automation != nil {
		config := d.Automation.Config
		config.Name = cmp.Or(config.Name, d.Automation.Name)
		layers = append(layers, lineshaft.Layer{Origin: automationOrigin, Config: config, Replaces: true})
	}
	if d.Agent != nil {
		config := d.Agent.Config
		if config.BasePrompt != "" && d.Agent.Prompt != "" {
			config.BasePrompt += "\n\n"
		}
		config.BasePrompt += d.Agent.Prompt
		layers = append(layers, lineshaft.Layer{Origin: "agent", Config: d.limit(config), Replaces: true})
	}
	if d.Factory != nil {
		layers = append(layers, lineshaft.Layer{Origin: "factory", Config: d.limit(d.Factory.Defaults), Replaces: true},
			lineshaft.Layer{Origin: "factory", Config: d.limit(d.Factory.Shared())})
	}
	if d.environment != nil {
		layers = append(layers, lineshaft.Layer{Origin: "environment", Config: d.limit(lineshaft.AgentConfig{Secrets: d.environment.Config.Secrets})})
	}
	return append(layers, lineshaft.Layer{Origin: serverOrigin, Config: d.limit(s.defaults())})
}

// ResolveLayers merges what was said about a run, and fills in the defaults of the
// server's own workers for runs that say nothing. Other workers know their own defaults.
func (s *Runs) ResolveLayers(run lineshaft.AgentConfig, d Definitions) (lineshaft.AgentConfig, map[string]string) {
	config, origins := lineshaft.Resolve(s.layers(run, d)...)
	if config.WorkerHost != lineshaft.HostedWorker || s.Cfg.DefaultHarness == "" {
		return config, origins
	}
	var harness lineshaft.HarnessConfig
	if config.Harness != nil {
		harness = *config.Harness
	}
	if harness.Type == "" && len(harness.Command) == 0 {
		field := "harness"
		if origins[field] != "" { // a layer says something else of it
			field = "harness.type"
		}
		harness.Type, origins[field] = s.Cfg.DefaultHarness, serverOrigin
		config.Harness = &harness
	}
	if model := s.Cfg.DefaultModels[harness.Type]; config.Model() == "" && model != "" {
		config.ModelID, origins["model_id"] = model, serverOrigin
	}
	return config, origins
}

// The layers that are asked for by name: the automation of a run, and the server's settings.
const (
	automationOrigin = "automation"
	serverOrigin     = "server"
)

func hasOrigin(body *store.RunBody, origin string) bool {
	return slices.Contains(slices.Collect(maps.Values(body.Origins)), origin)
}

// limit leaves out the secrets of a wider layer that may not go to the run.
func (d Definitions) limit(config lineshaft.AgentConfig) lineshaft.AgentConfig {
	if d.Limited && len(config.Secrets) > 0 {
		config.Secrets = slices.DeleteFunc(slices.Clone(config.Secrets), func(name string) bool { return !slices.Contains(d.allowed, name) })
	}
	if d.Limited && len(config.MCPServers) > 0 {
		config.MCPServers = maps.Clone(config.MCPServers)
		maps.DeleteFunc(config.MCPServers, func(_ string, server lineshaft.MCPServer) bool { return !d.mayUse(server) })
	}
	return config
}

// mayUse says whether a limited run may have a tool server of a wider layer: only with
// secrets that it may use anyway.
func (d Definitions) mayUse(server lineshaft.MCPServer) bool {
	for _, name := range server.SecretNames() {
		if !slices.Contains(d.tools, name) && (d.Automation == nil || !slices.Contains(d.Automation.Config.GivenSecrets(), name)) {
			return false
		}
	}
	return true
}

// DefinitionsOf reads what shapes a requested run. If its parent has a factory, it
// belongs to the same one.
func (s *Runs) DefinitionsOf(ctx context.Context, r definitionReader, c lineshaft.Caller, req lineshaft.NewRun, parent *store.Lineage) (Definitions, error) {
	var d Definitions
	if err := takeOver(ctx, r, req.Continues, &d); err != nil {
		return d, err
	}
	factoryUID := parent.FactoryUID
	if again := req.Again; again != nil {
		if again.Pinned {
			return d, nil
		}
		factoryUID = cmp.Or(factoryUID, again.FactoryUID)
	}
	if req.AgentUID != "" {
		agent, err := namedAgent(ctx, r, c, req.AgentUID)
		if err != nil {
			return d, err
		}
		if agent.FactoryUID != parent.FactoryUID && parent.FactoryUID != "" {
			return d, lineshaft.Invalid("agent_identity_uid", "the parent run does not belong to the factory of agent %q; name an agent of the parent's factory", agent.Name)
		}
		d.Agent, factoryUID = agent, agent.FactoryUID
	}
	if factoryUID == "" {
		return d, nil
	}
	// A key that is limited to factories gets no further by naming a parent than without.
	free := d.Agent == nil && (len(c.FactoryUIDs) == 0 || req.Config.WorkerHost == parent.Body.Config.WorkerHost)
	if req.Config.WorkerHost != "" && c.Role != lineshaft.RoleRun && !free {
		return d, lineshaft.Invalid("config.worker_host", "the run belongs to a factory, whose definition says where its runs work; leave worker_host out")
	}
	factory, err := r.GetFactory(ctx, factoryUID)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return d, nil // its runs outlive it
	}
	d.Factory = factory
	if err != nil || req.Again == nil || req.Again.AutomationUID == "" {
		return d, err
	}
	d.Limited = d.Limited || req.Again.Outside
	d.Automation, err = r.GetAutomation(ctx, factoryUID, req.Again.AutomationUID)
	return d, err
}

// namedAgent reads an agent that a request names; one that the caller's key does not
// reach counts as missing.
func namedAgent(ctx context.Context, r definitionReader, c lineshaft.Caller, uid string) (*lineshaft.Agent, error) {
	unknown := lineshaft.Invalid("agent_identity_uid", "no agent %q that your key may see; list them with GET /agent/identities", lineshaft.Clip(uid, 100))
	if !id.Valid(uid) {
		return nil, unknown
	}
	agent, err := r.GetAgent(ctx, uid)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound || err == nil && !base.SeesAgent(c, *agent) {
		return nil, unknown
	}
	return agent, err
}

// ResolveConfig makes the configuration of a requested run with where each value came from.
// The environment is one that a narrower layer names.
func (s *Runs) ResolveConfig(ctx context.Context, r definitionReader, c lineshaft.Caller, run lineshaft.AgentConfig, d Definitions) (lineshaft.AgentConfig, map[string]string, error) {
	config, origins := s.ResolveLayers(run, d)
	if config.EnvironmentID != "" {
		environment, err := namedEnvironment(ctx, r, config.EnvironmentID, origins["environment_id"])
		if err != nil {
			return config, nil, err
		}
		if err := mayUseEnvironment(c, environment, d, origins["environment_id"]); err != nil {
			return config, nil, err
		}
		d.environment = environment
		config, origins = s.ResolveLayers(run, d)
	}
	if err := config.CheckAuth(); err != nil {
		return config, nil, err
	}
	if n := len(config.NamedSecrets()); n > lineshaft.MaxRunSecrets {
		return config, nil, lineshaft.Invalid("config.secrets", "with those of the agent, factory and environment there are %d; at most %d are allowed", n, lineshaft.MaxRunSecrets)
	}
	return config, origins, nil
}

func namedEnvironment(ctx context.Context, r definitionReader, uid, origin string) (*lineshaft.Environment, error) {
	environment, err := r.GetEnvironment(ctx, uid)
	if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return environment, err
	}
	if origin == secrets.RunOrigin {
		return nil, noEnvironment("config.environment_id", uid)
	}
	return nil, lineshaft.Invalid("config.environment_id", "the %s names environment %q, which does not exist any more; change it there, or name another one for the run", origin, lineshaft.Clip(uid, 100))
}

func noEnvironment(field, uid string) error {
	return lineshaft.Invalid(field, "there is no environment with the uid %q; lineshaft environment list (GET /agent/environments) shows them",
		lineshaft.Clip(uid, 100))
}

// CheckEnvironment requires the environment that a definition names to exist, and keeps
// it from being deleted until the transaction ends. Keys that are limited to factories
// may not use one that has secrets, just as they may not use the secrets themselves.
func CheckEnvironment(ctx context.Context, tx *store.Tx, c lineshaft.Caller, field, before, uid string) error {
	if uid == "" {
		return nil
	}
	environment, err := tx.LockEnvironment(ctx, uid)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return noEnvironment(field, uid)
	}
	if err != nil || uid == before || !givesSecrets(environment) {
		return err
	}
	return secrets.TeamSecrets(c)
}

// EnvironmentOf is checkEnvironment for an automation, which named another one before.
func EnvironmentOf(c lineshaft.Caller, before string) func(context.Context, *store.Tx, lineshaft.Automation) error {
	return func(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
		return CheckEnvironment(ctx, tx, c, "config.environment_id", before, a.Config.EnvironmentID)
	}
}

func givesSecrets(e *lineshaft.Environment) bool {
	return len(e.Config.Secrets) > 0 || e.Config.GitCredentials != ""
}

// mayUseEnvironment keeps a key that is limited to some factories from the team's
// secrets: its runs get those of an environment only where a definition names it.
func mayUseEnvironment(c lineshaft.Caller, e *lineshaft.Environment, d Definitions, origin string) error {
	if len(c.FactoryUIDs) == 0 || !secrets.Asked(origin) || !givesSecrets(e) {
		return nil
	}
	if d.Agent != nil && d.Agent.Config.EnvironmentID == e.UID || d.Factory != nil && d.Factory.Defaults.EnvironmentID == e.UID {
		return nil
	}
	denied := lineshaft.Denied("environment %s has secrets of the whole team, and your key is limited to some factories; let the agent or the factory name it, or use another key", e.UID)
	denied.Field = "config.environment_id"
	return denied
}

// limitSecrets keeps what a payload could talk an agent into from getting at secrets:
// below a run that came from outside, a run whose agent starts it has no more of them
// than the agent's own run, whatever definitions name.
func limitSecrets(ctx context.Context, r definitionReader, c lineshaft.Caller, rootRunID string, d *Definitions) error {
	outside, err := reachedFromOutside(ctx, r, c.RunID, rootRunID)
	if err != nil || !outside {
		return err
	}
	body, err := r.GetRunBody(ctx, c.RunID)
	if err != nil {
		return err
	}
	d.Limited, d.allowed, d.tools = true, body.Config.Secrets, body.Config.GivenSecrets()
	return nil
}

// reachedFromOutside says whether a run may have read what strangers wrote: it, its root
// or a run between them came from outside, got a message from outside, or is gone.
func reachedFromOutside(ctx context.Context, r definitionReader, runID, rootRunID string) (bool, error) {
	starts, err := r.RunStarts(ctx, runID, rootRunID)
	for _, start := range starts {
		if start.Gone || start.Outside || startedOutside(start.Source, start.CreatorUID) {
			return true, err
		}
	}
	return false, err
}

// startedOutside decides by what started the run: those of automations work on what
// strangers wrote, unless the time of day started them.
func startedOutside(source lineshaft.Source, creatorUID string) bool {
	return source.Delivered() || strings.HasPrefix(creatorUID, base.AutomationPrincipalPrefix) && source != lineshaft.SourceSchedule
}
