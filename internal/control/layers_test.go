package control_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// agent puts an agent into a factory, or into none.
func (b *bench) agent(factoryUID, name string, change ...func(*lineshaft.Agent)) *lineshaft.Agent {
	b.Helper()
	uid, at := b.store.NewID()
	a := lineshaft.Agent{UID: uid, FactoryUID: factoryUID, Name: name, Type: lineshaft.AgentCustom, CreatedAt: at, UpdatedAt: at}
	for _, fn := range change {
		fn(&a)
	}
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutAgent(ctx, a) })
	return &a
}

// environment makes an environment that gives its runs secrets.
func (b *bench) environment(uid string, secrets ...string) string {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.PutEnvironment(ctx, lineshaft.Environment{UID: uid, Config: lineshaft.EnvironmentConfig{Name: uid, Secrets: secrets}})
	})
	return uid
}

// defaults changes what a factory says about its runs.
func (b *bench) defaults(factoryUID string, change func(*lineshaft.Factory)) {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.LockFactory(ctx, factoryUID, b.store.Now())
		if err != nil {
			return err
		}
		change(f)
		return tx.UpdateFactory(ctx, *f)
	})
}

func (b *bench) origins(runID string) map[string]string {
	b.Helper()
	return must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, runID))
}

// token lets a run begin and returns what its agent calls the server with.
func (b *bench) token(runID string) lineshaft.Caller {
	b.Helper()
	job := b.claimOne(b.run(runID).Config.WorkerHost, runID)
	b.begin(job)
	return must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
}

// The layers of a run, narrowest first; an automation's is tested with a delivery.
const (
	ofRun = iota
	ofAutomation
	ofAgent
	ofFactory
	ofServer
)

func layerNames() []string { return []string{"run", "automation", "agent", "factory", "server"} }

// settings has each field of a configuration with a value that names its layer.
func settings() map[string]func(c *lineshaft.AgentConfig, layer int) {
	return map[string]func(c *lineshaft.AgentConfig, layer int){
		"name":           func(c *lineshaft.AgentConfig, n int) { c.Name = fmt.Sprint("name ", n) },
		"model_id":       func(c *lineshaft.AgentConfig, n int) { c.ModelID = fmt.Sprint("model ", n) },
		"base_prompt":    func(c *lineshaft.AgentConfig, n int) { c.BasePrompt = fmt.Sprint("base ", n) },
		"environment_id": func(c *lineshaft.AgentConfig, n int) { c.EnvironmentID = fmt.Sprint("environment", n) },
		"worker_host":    func(c *lineshaft.AgentConfig, n int) { c.WorkerHost = fmt.Sprint("host-", n) },
		"harness": func(c *lineshaft.AgentConfig, n int) {
			c.Harness = &lineshaft.HarnessConfig{ReasoningLevel: fmt.Sprint(n)}
		},
		"idle_timeout_minutes":  func(c *lineshaft.AgentConfig, n int) { c.IdleTimeoutMinutes = new(20 + n) },
		"computer_use_enabled":  func(c *lineshaft.AgentConfig, n int) { c.ComputerUseEnabled = new(n%2 == 0) },
		"timeout_minutes":       func(c *lineshaft.AgentConfig, n int) { c.TimeoutMinutes = new(30 + n) },
		"stall_minutes":         func(c *lineshaft.AgentConfig, n int) { c.StallMinutes = new(40 + n) },
		"queue_timeout_minutes": func(c *lineshaft.AgentConfig, n int) { c.QueueTimeoutMinutes = new(50 + n) },
		"budget":                func(c *lineshaft.AgentConfig, n int) { c.Budget = &lineshaft.Budget{MaxTokens: int64(1 + n)} },
		"retry.max_attempts":    func(c *lineshaft.AgentConfig, n int) { c.MaxAttempts = new(2 + n) },
		"concurrency": func(c *lineshaft.AgentConfig, n int) {
			c.Concurrency = &lineshaft.Concurrency{Key: fmt.Sprint("key ", n)}
		},
		"skills": func(c *lineshaft.AgentConfig, n int) { c.Skills = []string{fmt.Sprint("o/r:s", n)} },
		"mcp_servers.tool": func(c *lineshaft.AgentConfig, n int) {
			c.MCPServers = map[string]lineshaft.MCPServer{"tool": {Command: fmt.Sprint("tool ", n)}}
		},
	}
}

// filled says everything, as a layer.
func filled(layer int, except ...string) lineshaft.AgentConfig {
	var c lineshaft.AgentConfig
	for name, set := range settings() {
		if !slices.Contains(except, name) {
			set(&c, layer)
		}
	}
	return c
}

// checkLayer wants every value of a run from one layer.
func (b *bench) checkLayer(runID string, layer int, except ...string) {
	b.Helper()
	got, origins := b.run(runID).Config, b.origins(runID)
	want := filled(layer)
	for _, name := range except {
		settings()[name](&want, layer+1)
	}
	if rule := got.Concurrency; rule != nil {
		want.Concurrency.Policy = rule.Policy
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s: resolved to %+v\nwant %+v", layerNames()[layer], got, want)
	}
	for name := range settings() {
		from := layer
		if slices.Contains(except, name) {
			from++
		}
		if origins[name] != layerNames()[from] {
			b.Errorf("%s: %s comes from %q", layerNames()[layer], name, origins[name])
		}
	}
}

func serverSays(cfg *base.Config) {
	cfg.Defaults = filled(ofServer)
	skills := map[string]string{}
	for layer := range ofServer + 1 {
		skills[fmt.Sprintf("skills/s%d/SKILL.md", layer)] = skillText("s", "x")
	}
	cfg.Git = &forge{files: map[string]map[string]string{"o/r": skills}}
}

// Each field is set in a layer and in all wider ones: the narrowest counts.
func TestR3NarrowestLayerOfARunWins(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for layer := range ofServer + 1 {
			w.environment(fmt.Sprint("environment", layer))
		}
		silent := w.agent(w.factory, "silent")
		w.checkLayer(w.start(lineshaft.NewRun{AgentUID: silent.UID}).RunID, ofServer)
		w.checkLayer(w.start(lineshaft.NewRun{}).RunID, ofServer)
		w.defaults(w.factory, func(f *lineshaft.Factory) { f.Defaults = filled(ofFactory) })
		w.checkLayer(w.start(lineshaft.NewRun{AgentUID: silent.UID}).RunID, ofFactory)
		child := w.start(lineshaft.NewRun{ParentRunID: w.start(lineshaft.NewRun{AgentUID: silent.UID}).RunID})
		w.checkLayer(child.RunID, ofFactory) // it is the factory's, although of no agent
		loud := w.agent(w.factory, "loud", func(a *lineshaft.Agent) { a.Config = filled(ofAgent) })
		w.checkLayer(w.start(lineshaft.NewRun{AgentUID: loud.UID}).RunID, ofAgent)
		w.automation("loud", "", func(n *lineshaft.Automation) { n.Agent, n.Config = "loud", filled(ofAutomation) })
		w.checkLayer(w.deliver("", opened).Outcomes[0].RunID, ofAutomation)
		free := w.agent("", "free", func(a *lineshaft.Agent) { a.Config = filled(ofAgent) })
		w.checkLayer(w.start(lineshaft.NewRun{AgentUID: free.UID, Config: filled(ofRun)}).RunID, ofRun)
		w.checkLayer(w.start(lineshaft.NewRun{AgentUID: free.UID}).RunID, ofAgent)
	}, serverSays)
}

// The agent's prompt comes before that of its runs, unless something else is said.
func TestX7AgentPromptIsTheBase(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		b.defaults(f, func(f *lineshaft.Factory) { f.Defaults.BasePrompt = "the factory's" })
		prompted := b.agent(f, "prompted", func(a *lineshaft.Agent) { a.Prompt = "You review." })
		for name, test := range map[string]struct {
			req          lineshaft.NewRun
			want, origin string
		}{
			"agent":   {lineshaft.NewRun{AgentUID: prompted.UID}, "You review.", "agent"},
			"run":     {lineshaft.NewRun{AgentUID: prompted.UID, Config: lineshaft.AgentConfig{BasePrompt: "Mine."}}, "Mine.", "run"},
			"factory": {lineshaft.NewRun{AgentUID: b.agent(f, "plain").UID}, "the factory's", "factory"},
		} {
			runID := b.start(test.req).RunID
			if got := b.run(runID).Config.BasePrompt; got != test.want || b.origins(runID)["base_prompt"] != test.origin {
				b.Errorf("%s: %q from %s", name, got, b.origins(runID)["base_prompt"])
			}
		}
	})
}

// Those of an agent replace the factory's defaults, and what is for all of its agents,
// the run's own and the environment's are added, each with its own origin; what a
// definition names is granted, also to the runs of a limited key.
func TestS1DefinitionsGrantTheirSecrets(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, name := range []string{"OF_AGENT", "OF_FACTORY", "OF_DEFAULTS", "OF_ENVIRONMENT"} {
			b.managed(name, lineshaft.AccessGranted)
		}
		b.managed("OF_RUN", lineshaft.AccessRuns)
		f := b.factory("f", "").UID
		b.environment("env", "OF_ENVIRONMENT", "OF_AGENT")
		b.defaults(f, func(f *lineshaft.Factory) {
			f.Defaults.Secrets, f.Secrets = []string{"OF_DEFAULTS"}, []string{"OF_FACTORY", "OF_AGENT"}
			f.Defaults.EnvironmentID = "env"
			f.Defaults.MCPServers = map[string]lineshaft.MCPServer{"replaced": {Command: "wide"}}
			f.MCPServers = map[string]lineshaft.MCPServer{"both": {Command: "wide"}, "wide": {Command: "wide"}}
		})
		agent := b.agent(f, "a", func(a *lineshaft.Agent) {
			a.Config = lineshaft.AgentConfig{Secrets: []string{"OF_AGENT"}, MCPServers: map[string]lineshaft.MCPServer{"both": {Command: "narrow"}}}
		})
		want := map[string]string{
			"secrets.OF_RUN": "run", "secrets.OF_AGENT": "agent", "secrets.OF_FACTORY": "factory",
			"secrets.OF_ENVIRONMENT": "environment", "mcp_servers.both": "agent", "mcp_servers.wide": "factory", "environment_id": "factory",
		}
		for name, who := range map[string]lineshaft.Caller{"team": b.caller(lineshaft.RoleMember), "limited": b.caller(lineshaft.RoleMember, f)} {
			started := must[runs.Started](b)(b.as(who, lineshaft.NewRun{AgentUID: agent.UID, Config: lineshaft.AgentConfig{Secrets: []string{"OF_RUN"}}}))
			origins := b.origins(started.RunID)
			maps.DeleteFunc(origins, func(_, from string) bool { return from == "server" })
			if !maps.Equal(origins, want) {
				b.Errorf("%s: %v", name, origins)
			}
			job := b.claimOne(lineshaft.HostedWorker, started.RunID)
			if job.Fault != "" || len(job.Secrets) != 4 || job.Secrets["OF_ENVIRONMENT"] != hidden {
				b.Errorf("%s: %q, %v", name, job.Fault, job.Secrets)
			}
			if servers := job.Config.MCPServers; len(servers) != 2 || servers["both"].Command != "narrow" {
				b.Errorf("%s: %v", name, servers)
			}
		}
		// Nobody may name for a run of theirs what only definitions grant.
		_, err := b.as(b.admin, lineshaft.NewRun{AgentUID: agent.UID, Config: lineshaft.AgentConfig{Secrets: []string{"OF_AGENT"}}})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
	})
}

func TestR2AgentMustBeWithinReach(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		own, other := b.factory("own", "").UID, b.factory("other", "").UID
		mine, theirs, free := b.agent(own, "mine"), b.agent(other, "theirs"), b.agent("", "free")
		limited := b.caller(lineshaft.RoleMember, own)
		parent := b.start(lineshaft.NewRun{AgentUID: mine.UID}).RunID
		host := lineshaft.AgentConfig{WorkerHost: "box"}
		for name, test := range map[string]struct {
			who  lineshaft.Caller
			req  lineshaft.NewRun
			want lineshaft.Code
			says string
		}{
			"own":                      {limited, lineshaft.NewRun{AgentUID: mine.UID}, "", ""},
			"no agent":                 {limited, lineshaft.NewRun{}, lineshaft.CodeNotAuthorized, "limited"},
			"foreign":                  {limited, lineshaft.NewRun{AgentUID: theirs.UID}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"team's":                   {limited, lineshaft.NewRun{AgentUID: free.UID}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"unknown":                  {b.admin, lineshaft.NewRun{AgentUID: b.newID()}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"no uid":                   {b.admin, lineshaft.NewRun{AgentUID: "\x00'"}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"host":                     {b.admin, lineshaft.NewRun{AgentUID: mine.UID, Config: host}, lineshaft.CodeInvalidRequest, "config.worker_host"},
			"host of a team's agent":   {b.admin, lineshaft.NewRun{AgentUID: free.UID, Config: host}, "", ""},
			"child":                    {b.admin, lineshaft.NewRun{AgentUID: mine.UID, ParentRunID: parent}, "", ""},
			"child elsewhere":          {b.admin, lineshaft.NewRun{AgentUID: theirs.UID, ParentRunID: parent}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"child of a team's agent":  {b.admin, lineshaft.NewRun{AgentUID: free.UID, ParentRunID: parent}, lineshaft.CodeInvalidRequest, "agent_identity_uid"},
			"child without an agent":   {b.admin, lineshaft.NewRun{ParentRunID: parent, Config: host}, "", ""},
			"host by a limited key":    {b.caller(lineshaft.RoleManager, own), lineshaft.NewRun{ParentRunID: parent, Config: host}, lineshaft.CodeInvalidRequest, "config.worker_host"},
			"unknown environment":      {b.admin, lineshaft.NewRun{Config: lineshaft.AgentConfig{EnvironmentID: "no'such"}}, lineshaft.CodeInvalidRequest, "config.environment_id"},
			"environment of the agent": {b.admin, lineshaft.NewRun{AgentUID: b.agent(own, "lost", func(a *lineshaft.Agent) { a.Config.EnvironmentID = "gone" }).UID}, lineshaft.CodeInvalidRequest, "the agent names environment"},
		} {
			started, err := b.as(test.who, test.req)
			if lineshaft.CodeOf(err) != test.want && err != nil || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				b.Errorf("%s: %v, want %s %q", name, err, test.want, test.says)
			}
			if err == nil && test.req.AgentUID != "" {
				if run := b.run(started.RunID); run.AgentUID != test.req.AgentUID || run.Executor.UID != run.AgentUID || run.Executor.Type != lineshaft.ServiceAccount {
					b.Errorf("%s: %+v", name, run)
				}
			}
		}
		run := b.run(b.start(lineshaft.NewRun{AgentUID: mine.UID}).RunID)
		if run.FactoryUID != own || run.Executor.DisplayName != "mine" || run.Creator.UID != b.admin.Principal.UID {
			b.Errorf("%+v", run)
		}
		if child := b.run(b.start(lineshaft.NewRun{ParentRunID: parent}).RunID); child.FactoryUID != own || child.AgentUID != "" {
			b.Errorf("%+v", child)
		}
	})
}

// An agent gives work to agents of its own factory only.
func TestX7AnAgentNamesAgentsOfItsFactory(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		own, other := b.factory("own", "").UID, b.factory("other", "").UID
		b.managed("OF_CHILD", lineshaft.AccessGranted)
		boss, theirs, free := b.agent(own, "boss"), b.agent(other, "theirs"), b.agent("", "free")
		hand := b.agent(own, "hand", func(a *lineshaft.Agent) { a.Config.Secrets = []string{"OF_CHILD"} })
		inside := b.token(b.start(lineshaft.NewRun{AgentUID: boss.UID}).RunID)
		outside := b.token(b.start(lineshaft.NewRun{}).RunID)
		for name, test := range map[string]struct {
			who   lineshaft.Caller
			agent *lineshaft.Agent
			want  lineshaft.Code
		}{
			"own": {inside, hand, ""}, "another's": {inside, theirs, lineshaft.CodeInvalidRequest}, "the team's": {inside, free, lineshaft.CodeInvalidRequest},
			"from outside": {outside, hand, lineshaft.CodeInvalidRequest}, "both of no factory": {outside, free, lineshaft.CodeInvalidRequest},
		} {
			started, err := b.as(test.who, lineshaft.NewRun{AgentUID: test.agent.UID})
			wantCode(b, err, test.want)
			if err == nil {
				if run := b.run(started.RunID); run.AgentUID != test.agent.UID || run.FactoryUID != test.agent.FactoryUID || run.ParentRunID != test.who.RunID ||
					!slices.Equal(run.Config.Secrets, test.agent.Config.Secrets) {
					b.Errorf("%s: %+v", name, run)
				}
			}
		}
	})
}

// Below a run that a payload started no secrets are added, whatever agents, factory
// and environment name: the payload could have asked for it.
func TestX11PayloadsReachNoSecretsThroughChildren(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		for _, name := range []string{"OF_AUTOMATION", "OF_AGENT", "OF_FACTORY", "OF_ENVIRONMENT"} {
			w.managed(name, lineshaft.AccessGranted)
		}
		w.environment("env", "OF_ENVIRONMENT")
		w.defaults(w.factory, func(f *lineshaft.Factory) { f.Secrets = []string{"OF_FACTORY"} })
		hand := w.agent(w.factory, "hand", func(a *lineshaft.Agent) {
			a.Config = lineshaft.AgentConfig{Secrets: []string{"OF_AGENT", "OF_AUTOMATION"}, EnvironmentID: "env"}
		})
		w.automation("a", "", func(n *lineshaft.Automation) { n.Agent, n.Config.Secrets = "hand", []string{"OF_AUTOMATION"} })
		root := w.run(w.deliver("", opened).Outcomes[0].RunID)
		if root.AgentUID != hand.UID || root.Executor.DisplayName != "hand" || root.Config.EnvironmentID != "env" || !slices.Equal(root.Config.Secrets, []string{"OF_AUTOMATION"}) {
			w.Fatalf("%+v", root)
		}
		agent := w.token(root.ID)
		child := must[runs.Started](w.bench)(w.as(agent, lineshaft.NewRun{})).RunID
		for name, who := range map[string]lineshaft.Caller{"agent": agent, "below": w.token(child)} {
			run := w.run(must[runs.Started](w.bench)(w.as(who, lineshaft.NewRun{AgentUID: hand.UID})).RunID)
			if !slices.Equal(run.Config.Secrets, []string{"OF_AUTOMATION"}) || w.origins(run.ID)["secrets.OF_AUTOMATION"] != "agent" {
				w.Errorf("%s: %v", name, run.Config.Secrets)
			}
		}
		w.environment("other")
		_, err := w.as(agent, lineshaft.NewRun{Config: lineshaft.AgentConfig{EnvironmentID: "other"}})
		wantCode(w.bench, err, lineshaft.CodeNotAuthorized)
		for _, environment := range []string{"", "env"} { // what its parent has, and no more
			plain := w.run(must[runs.Started](w.bench)(w.as(agent, lineshaft.NewRun{Config: lineshaft.AgentConfig{EnvironmentID: environment}})).RunID)
			if !slices.Equal(plain.Config.Secrets, []string{"OF_AUTOMATION"}) || plain.Config.EnvironmentID != "env" {
				w.Errorf("%v in %q", plain.Config.Secrets, plain.Config.EnvironmentID)
			}
		}
		// Someone of the team decides for themselves.
		own := w.run(w.start(lineshaft.NewRun{ParentRunID: root.ID, AgentUID: hand.UID}).RunID)
		if len(own.Config.Secrets) != 4 {
			w.Errorf("%v", own.Config.Secrets)
		}
	})
}

func TestS3LimitedKeysDoNotPickEnvironments(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		b.managed("TEAM", lineshaft.AccessGranted)
		b.environment("plain")
		b.environment("rich", "TEAM")
		limited := b.caller(lineshaft.RoleManager, f)
		agent, named := b.agent(f, "a"), b.agent(f, "named", func(a *lineshaft.Agent) { a.Config.EnvironmentID = "rich" })
		for name, test := range map[string]struct {
			who                lineshaft.Caller
			agent, environment string
			want               lineshaft.Code
		}{
			"no secrets": {limited, agent.UID, "plain", ""}, "secrets": {limited, agent.UID, "rich", lineshaft.CodeNotAuthorized},
			"the agent's": {limited, named.UID, "rich", ""}, "by the agent": {limited, named.UID, "", ""}, "the team": {b.admin, agent.UID, "rich", ""},
		} {
			_, err := b.as(test.who, lineshaft.NewRun{AgentUID: test.agent, Config: lineshaft.AgentConfig{EnvironmentID: test.environment}})
			if lineshaft.CodeOf(err) != test.want && err != nil || (err == nil) != (test.want == "") {
				b.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Together the layers may not name more secrets than a process can be given.
func TestS1LayersTogetherStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var names []string
		for i := range lineshaft.MaxRunSecrets + 1 {
			names = append(names, b.managed(fmt.Sprint("S", i), lineshaft.AccessRuns).Name)
		}
		f := b.factory("f", "").UID
		agent := b.agent(f, "a", func(a *lineshaft.Agent) { a.Config.Secrets = names[:10] })
		req := naming(names[10:20]...)
		req.AgentUID = agent.UID
		b.start(req)
		b.defaults(f, func(f *lineshaft.Factory) { f.Secrets = names[20:] })
		_, err := b.as(b.admin, req)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
	})
}

// A rerun goes to the same agent.
func TestR12RerunKeepsTheAgent(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{}, func(w *works) {
		agent := w.agent(w.factory, "a", func(a *lineshaft.Agent) { a.Config.ModelID, a.Config.WorkerHost = "m", "box" })
		again := w.run(must[runs.Started](w.bench)(w.s.Rerun(w.Context(), w.admin, w.start(lineshaft.NewRun{AgentUID: agent.UID}).RunID, lineshaft.SourceAPI, nil)).RunID)
		if again.AgentUID != agent.UID || again.FactoryUID != w.factory || again.Config.ModelID != "m" || again.Config.WorkerHost != "box" {
			w.Errorf("%+v", again)
		}
	})
}

func TestR4ExecutorFilterFindsAnAgentsRuns(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		one, other := b.agent(f, "one"), b.agent(f, "other")
		first, second := b.start(lineshaft.NewRun{AgentUID: one.UID}).RunID, b.start(lineshaft.NewRun{AgentUID: one.UID}).RunID
		third, plain := b.start(lineshaft.NewRun{AgentUID: other.UID}).RunID, b.start(lineshaft.NewRun{}).RunID
		for executor, want := range map[string][]string{
			one.UID: {second, first}, other.UID: {third}, b.newID(): nil, b.admin.Principal.UID: {plain, third, second, first},
		} {
			if got := b.list(lineshaft.RunFilter{Executor: executor}); !slices.Equal(got, want) {
				b.Errorf("executor %s: %v, want %v", executor, got, want)
			}
		}
	})
}
