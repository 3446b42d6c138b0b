package control_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (b *bench) newAgent(n lineshaft.Agent) *lineshaft.Agent {
	b.Helper()
	return must[*lineshaft.Agent](b)(b.s.CreateAgent(b.Context(), b.admin, n))
}

func (b *bench) getAgent(uid string) *lineshaft.Agent {
	b.Helper()
	return must[*lineshaft.Agent](b)(b.s.GetAgent(b.Context(), b.admin, uid))
}

// foreman finds the foreman of a factory, which exists once and whose name the factory
// knows.
func (b *bench) foreman(factoryUID string) lineshaft.Agent {
	b.Helper()
	agents := must[base.Page[lineshaft.Agent]](b)(b.s.ListAgents(b.Context(), b.admin, factoryUID, base.MaxPage, "")).Items
	agents = slices.DeleteFunc(agents, func(a lineshaft.Agent) bool { return a.Type != lineshaft.AgentForeman })
	f := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, factoryUID))
	if len(agents) != 1 || agents[0].Name != f.Foreman {
		b.Fatalf("foremen %+v, the factory says %q", agents, f.Foreman)
	}
	return agents[0]
}

func names(agents []lineshaft.Agent) []string {
	var list []string
	for _, a := range agents {
		list = append(list, a.Name)
	}
	return list
}

func TestF8AgentLife(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("TOKEN", lineshaft.AccessGranted)
		b.environment("env")
		f := b.factory("f", "")
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.ReplaceSkills(ctx, f.UID, []lineshaft.Skill{{Agent: "reviewer", Name: "own", Body: "b"}})
		})
		made := b.newAgent(lineshaft.Agent{
			FactoryUID: f.UID, Name: "reviewer", Type: lineshaft.AgentReview, Description: "d", Prompt: "You review.",
			Config: lineshaft.AgentConfig{
				ModelID: "m", EnvironmentID: "env", WorkerHost: "box", Secrets: []string{"TOKEN"}, Skills: []string{"o/r:s", "own"},
				MCPServers: map[string]lineshaft.MCPServer{"t": {Command: "c"}}, Harness: &lineshaft.HarnessConfig{Type: "oz"},
			},
		})
		if read := b.getAgent(made.UID); !reflect.DeepEqual(read, made) || made.CreatedAt.IsZero() || made.UpdatedAt != made.CreatedAt {
			b.Fatalf("made %+v\nread %+v", made, read)
		}
		if now := must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, f.UID)); now.Revision != f.Revision+1 {
			b.Errorf("revision %d after %d", now.Revision, f.Revision)
		}
		changed := must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, made.UID, factories.AgentChange{Description: ref("e"), Secrets: []string{}}))
		want := *made
		want.Description, want.Config.Secrets, want.UpdatedAt = "e", nil, changed.UpdatedAt
		if !reflect.DeepEqual(*changed, want) || !changed.UpdatedAt.After(made.UpdatedAt) {
			b.Errorf("changed to %+v\nwant %+v", changed, want)
		}
		cleared := must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, made.UID, factories.AgentChange{
			Description: ref(""), Prompt: ref(""), ModelID: ref(""), EnvironmentID: ref(""), WorkerHost: ref(""), RunnerID: ref(""),
			Harness: &lineshaft.HarnessConfig{}, Skills: []string{}, MCPServers: map[string]lineshaft.MCPServer{},
		}))
		if read := b.getAgent(made.UID); read.Description+read.Prompt != "" || !reflect.DeepEqual(read.Config, lineshaft.AgentConfig{}) || read.Type != lineshaft.AgentReview {
			b.Errorf("cleared %+v, read %+v", cleared, read)
		}
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, made.UID), "")
		wantCode(b, second(b.s.GetAgent(b.Context(), b.admin, made.UID)), lineshaft.CodeNotFound)
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, made.UID), lineshaft.CodeNotFound)
		if got := b.actions(made.UID); !slices.Equal(got, []string{"agent.create", "agent.update", "agent.update", "agent.delete"}) {
			b.Errorf("%v", got)
		}
		if detail := b.audits(made.UID)[1].Detail; detail["changed"] != "description, secrets" || detail["factory"] != f.UID {
			b.Errorf("%v", detail)
		}
	})
}

func TestF8AgentsThatCannotBe(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f, other := b.factory("f", "").UID, b.factory("other", "").UID
		b.secret("HOOK_SECRET")
		runner := lineshaft.Runner{UID: b.newID(), FactoryUID: other, Name: "big"}
		b.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutRunner(ctx, runner) })
		b.newAgent(lineshaft.Agent{FactoryUID: f, Name: "taken"})
		b.newAgent(lineshaft.Agent{Name: "taken, too"})
		config := func(c lineshaft.AgentConfig) lineshaft.Agent {
			return lineshaft.Agent{FactoryUID: f, Name: "new", Config: c}
		}
		acp := &lineshaft.HarnessConfig{Type: "acp"}
		for name, test := range map[string]struct {
			n     lineshaft.Agent
			code  lineshaft.Code
			field string
		}{
			"no name":          {lineshaft.Agent{FactoryUID: f}, lineshaft.CodeInvalidRequest, "name"},
			"no file name":     {lineshaft.Agent{FactoryUID: f, Name: "a/b"}, lineshaft.CodeInvalidRequest, "name"},
			"team, blank":      {lineshaft.Agent{Name: " "}, lineshaft.CodeInvalidRequest, "name"},
			"team, NUL":        {lineshaft.Agent{Name: "a\x00"}, lineshaft.CodeInvalidRequest, "name"},
			"name taken":       {lineshaft.Agent{FactoryUID: f, Name: "taken"}, lineshaft.CodeConflict, "name"},
			"team name taken":  {lineshaft.Agent{Name: "taken, too"}, lineshaft.CodeConflict, "name"},
			"type":             {lineshaft.Agent{FactoryUID: f, Name: "new", Type: "MAIN"}, lineshaft.CodeInvalidRequest, "agent_type"},
			"second foreman":   {lineshaft.Agent{FactoryUID: f, Name: "new", Type: lineshaft.AgentForeman}, lineshaft.CodeConflict, "agent_type"},
			"team's foreman":   {lineshaft.Agent{Name: "new", Type: lineshaft.AgentForeman}, lineshaft.CodeInvalidRequest, "agent_type"},
			"factory":          {lineshaft.Agent{FactoryUID: b.newID(), Name: "new"}, lineshaft.CodeInvalidRequest, "factory_uid"},
			"long description": {lineshaft.Agent{FactoryUID: f, Name: "new", Description: strings.Repeat("x", 2001)}, lineshaft.CodeInvalidRequest, "description"},
			"long prompt":      {lineshaft.Agent{FactoryUID: f, Name: "new", Prompt: strings.Repeat("x", lineshaft.MaxPromptBytes+1)}, lineshaft.CodeInvalidRequest, "prompt"},
			"NUL":              {lineshaft.Agent{FactoryUID: f, Name: "new", Prompt: "\x00"}, lineshaft.CodeInvalidRequest, "prompt"},
			"secret":           {config(lineshaft.AgentConfig{Secrets: []string{"NONE"}}), lineshaft.CodeInvalidRequest, "config.secrets"},
			"credential":       {config(lineshaft.AgentConfig{Secrets: []string{"HOOK_SECRET"}}), lineshaft.CodeInvalidRequest, "config.secrets"},
			"environment":      {config(lineshaft.AgentConfig{EnvironmentID: "none"}), lineshaft.CodeInvalidRequest, "config.environment_id"},
			"runner":           {config(lineshaft.AgentConfig{RunnerID: "none"}), lineshaft.CodeInvalidRequest, "config.runner_id"},
			"another's runner": {config(lineshaft.AgentConfig{RunnerID: runner.UID}), lineshaft.CodeInvalidRequest, "config.runner_id"},
			"skill":            {config(lineshaft.AgentConfig{Skills: []string{"o/r:s", "../x"}}), lineshaft.CodeInvalidRequest, "config.skills[1]"},
			"many skills":      {config(lineshaft.AgentConfig{Skills: make([]string, lineshaft.MaxSkills+1)}), lineshaft.CodeInvalidRequest, "config.skills"},
			"unknown skill":    {lineshaft.Agent{FactoryUID: f, Name: "new", Config: lineshaft.AgentConfig{Skills: []string{"o/r:s", "nothing"}}}, lineshaft.CodeInvalidRequest, "config.skills[1]"},
			"local skill":      {lineshaft.Agent{Name: "new", Config: lineshaft.AgentConfig{Skills: []string{"own"}}}, lineshaft.CodeInvalidRequest, "config.skills[0]"},
			"two models":       {config(lineshaft.AgentConfig{ModelID: "m", Harness: acp}), lineshaft.CodeInvalidRequest, "config.model_id"},
		} {
			_, err := b.s.CreateAgent(b.Context(), b.admin, test.n)
			if public := asPublic(err); public == nil || public.Code != test.code || public.Field != test.field {
				b.Errorf("%s: %v, want %s in %s", name, err, test.code, test.field)
			}
		}
		if got := names(must[base.Page[lineshaft.Agent]](b)(b.s.ListAgents(b.Context(), b.admin, "", base.MaxPage, "")).Items); !slices.Equal(got, []string{"taken, too", "foreman", "taken", "foreman"}) {
			b.Errorf("there are %q", got)
		}
		// What is refused to a new agent is also refused to a change.
		agent := b.newAgent(config(lineshaft.AgentConfig{ModelID: "m"}))
		for name, change := range map[string]factories.AgentChange{
			"name": {Name: ref("taken")}, "empty name": {Name: ref("")}, "harness": {Harness: acp}, "secret": {Secrets: []string{"NONE"}}, "type": {Type: ref(lineshaft.AgentType(""))},
		} {
			if _, err := b.s.UpdateAgent(b.Context(), b.admin, agent.UID, change); err == nil {
				b.Errorf("%s was taken", name)
			}
		}
		if now := b.getAgent(agent.UID); !reflect.DeepEqual(now, agent) {
			b.Errorf("%+v became %+v", agent, now)
		}
	})
}

func TestF8FactoryHasOneForeman(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		first := b.foreman(f)
		_, err := b.s.UpdateAgent(b.Context(), b.admin, first.UID, factories.AgentChange{Type: ref(lineshaft.AgentCustom)})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if !strings.Contains(err.Error(), "another agent to FOREMAN") {
			b.Errorf("no way out: %v", err)
		}
		err = b.s.DeleteAgent(b.Context(), b.admin, first.UID)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		next := b.newAgent(lineshaft.Agent{FactoryUID: f, Name: "next", Type: lineshaft.AgentTriage})
		must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, next.UID, factories.AgentChange{Type: ref(lineshaft.AgentForeman)}))
		if now := b.foreman(f); now.UID != next.UID || b.getAgent(first.UID).Type != lineshaft.AgentCustom {
			b.Fatalf("%+v", now)
		}
		must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, next.UID, factories.AgentChange{Name: ref("boss"), Type: ref(lineshaft.AgentForeman)}))
		if now := b.foreman(f); now.Name != "boss" {
			b.Fatalf("%+v", now)
		}
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, first.UID), "")
		if run := b.run(b.start(lineshaft.NewRun{AgentUID: next.UID}).RunID); run.Executor.DisplayName != "boss" {
			b.Errorf("%+v", run.Executor)
		}
	})
}

// Several that become the foreman at once: there is one in the end.
func TestF8ForemanRace(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		var agents []*lineshaft.Agent
		for i := range 4 {
			agents = append(agents, b.newAgent(lineshaft.Agent{FactoryUID: f, Name: fmt.Sprint("a", i)}))
		}
		for range rounds(10) {
			together(len(agents), func(who int) {
				if _, err := b.s.UpdateAgent(b.Context(), b.admin, agents[who].UID, factories.AgentChange{Type: ref(lineshaft.AgentForeman)}); err != nil && lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
					b.Error(err)
				}
			})
			b.foreman(f)
		}
	})
}

// Of several agents of the team that take a name at once one has it.
func TestF8TeamAgentNameRace(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for round := range rounds(10) {
			errs := make([]error, 4)
			together(len(errs), func(who int) {
				_, errs[who] = b.s.CreateAgent(b.Context(), b.admin, lineshaft.Agent{Name: fmt.Sprint("n", round)})
			})
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else if public := asPublic(err); public == nil || public.Code != lineshaft.CodeConflict || public.Field != "name" {
					b.Error(err)
				}
			}
			if won != 1 {
				b.Fatalf("%d have the name", won)
			}
		}
	})
}

func TestF8RenamedAgentKeepsItsWork(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("f", "").UID
		hook := b.listener(f, "hook")
		agent := b.newAgent(lineshaft.Agent{FactoryUID: f, Name: "old"})
		named := automation("named", hook)
		named.Agent = "old"
		one := must[*lineshaft.Automation](b)(b.s.CreateAutomation(b.Context(), b.admin, f, named))
		two := b.automate(f, "of the foreman", hook)
		chain := lineshaft.Automation{
			UID: b.newID(), FactoryUID: f, Name: "chain", Prompt: "p", CreatedAt: one.CreatedAt, UpdatedAt: one.UpdatedAt,
			Triggers: []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished, Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"agents": {In: []string{"x", "old"}}}}}},
		}
		foreign := chain
		foreign.UID, foreign.Name = b.newID(), "any factory's"
		foreign.Triggers = []lineshaft.Trigger{{Provider: lineshaft.ProviderRun, Event: lineshaft.EventFinished, Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"agents": {NotIn: []string{"old"}}, "factories": {In: []string{b.newID()}}}}}}
		skills := []lineshaft.Skill{{Name: "all", Body: "b"}, {Agent: "old", Name: "own", Body: "b"}, {Agent: "other", Name: "own", Body: "c"}}
		b.write(func(ctx context.Context, tx *store.Tx) error {
			for _, a := range []lineshaft.Automation{chain, foreign} {
				if err := tx.PutAutomation(ctx, a); err != nil {
					return err
				}
			}
			return tx.ReplaceSkills(ctx, f, skills)
		})
		must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, agent.UID, factories.AgentChange{Name: ref("new")}))
		if now := b.getAutomation(one); now.Agent != "new" {
			b.Errorf("%q", now.Agent)
		}
		if now := b.getAutomation(two); now.Agent != "" {
			b.Errorf("%q", now.Agent)
		}
		if now := b.getAutomation(&chain).Triggers[0].Filter.Set("agents").In; !slices.Equal(now, []string{"x", "new"}) {
			b.Errorf("%q", now)
		}
		if now := b.getAutomation(&foreign).Triggers[0].Filter.Set("agents").NotIn; !slices.Equal(now, []string{"old"}) {
			b.Errorf("%q", now)
		}
		skills[1].Agent = "new"
		if now := must[[]lineshaft.Skill](b)(b.store.ListSkills(b.Context(), f)); !reflect.DeepEqual(now, skills) {
			b.Errorf("%+v", now)
		}
		err := b.s.DeleteAgent(b.Context(), b.admin, agent.UID)
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), "automation chain, automation named;") {
			b.Errorf("unclear: %v", err)
		}
		for _, a := range []string{one.UID, chain.UID} {
			wantCode(b, b.s.DeleteAutomation(b.Context(), b.admin, f, a), "")
		}
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, agent.UID), "")
		if now := must[[]lineshaft.Skill](b)(b.store.ListSkills(b.Context(), f)); len(now) != 2 {
			b.Errorf("%+v", now)
		}
	})
}

func TestF5AgentsOfARepositoryAreNotEdited(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		uid, at := b.store.NewID()
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertFactory(ctx, lineshaft.Factory{UID: uid, Name: "repo", Mode: lineshaft.ModeRepository, Foreman: "boss", CreatedAt: at, UpdatedAt: at})
		})
		agent := b.agent(uid, "boss")
		_, err := b.s.CreateAgent(b.Context(), b.admin, lineshaft.Agent{FactoryUID: uid, Name: "x"})
		wantCode(b, err, lineshaft.CodeConflict)
		_, err = b.s.UpdateAgent(b.Context(), b.admin, agent.UID, factories.AgentChange{Description: ref("x")})
		wantCode(b, err, lineshaft.CodeConflict)
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, agent.UID), lineshaft.CodeConflict)
		if now := b.getAgent(agent.UID); !reflect.DeepEqual(now, agent) {
			b.Errorf("%+v", now)
		}
	})
}

func TestS3AgentsWithinReach(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.managed("TEAM", lineshaft.AccessGranted)
		b.environment("rich", "TEAM")
		own, other := b.factory("own", "").UID, b.factory("other", "").UID
		mine, theirs, team := b.agent(own, "mine"), b.agent(other, "theirs"), b.agent("", "team")
		limited := b.caller(lineshaft.RoleManager, own)
		inside, outside := b.token(b.start(lineshaft.NewRun{AgentUID: mine.UID}).RunID), b.token(b.start(lineshaft.NewRun{}).RunID)
		for name, test := range map[string]struct {
			who     lineshaft.Caller
			factory string
			want    []string
		}{
			"all": {b.admin, "", []string{"team", "foreman", "mine", "foreman", "theirs"}}, "of one": {b.admin, other, []string{"foreman", "theirs"}},
			"limited": {limited, "", []string{"foreman", "mine"}}, "limited, another's": {limited, other, nil}, "unknown": {b.admin, "x'y", nil},
			"inside": {inside, "", []string{"foreman", "mine"}}, "outside": {outside, "", nil}, "outside, of one": {outside, own, nil},
		} {
			if got := names(must[base.Page[lineshaft.Agent]](b)(b.s.ListAgents(b.Context(), test.who, test.factory, base.MaxPage, "")).Items); !slices.Equal(got, test.want) {
				b.Errorf("%s: %q, want %q", name, got, test.want)
			}
			var offered []string
			for _, n := range must[[]store.PartName](b)(b.s.ListPartNames(b.Context(), test.who, "agent")) {
				offered = append(offered, n.Name)
			}
			if test.factory == "" && !slices.Equal(offered, test.want) {
				b.Errorf("%s: names %q, want %q", name, offered, test.want)
			}
		}
		for _, uid := range []string{theirs.UID, team.UID, b.newID(), "x", "\x00"} {
			for _, err := range []error{
				second(b.s.GetAgent(b.Context(), limited, uid)), second(b.s.UpdateAgent(b.Context(), limited, uid, factories.AgentChange{})), b.s.DeleteAgent(b.Context(), limited, uid),
			} {
				wantCode(b, err, lineshaft.CodeNotFound)
			}
		}
		_, err := b.s.CreateAgent(b.Context(), limited, lineshaft.Agent{Name: "x"})
		wantCode(b, err, lineshaft.CodeNotAuthorized)
		_, err = b.s.CreateAgent(b.Context(), limited, lineshaft.Agent{FactoryUID: other, Name: "x"})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		for _, config := range []lineshaft.AgentConfig{{Secrets: []string{"TEAM"}}, {EnvironmentID: "rich"}} {
			_, err = b.s.CreateAgent(b.Context(), limited, lineshaft.Agent{FactoryUID: own, Name: "x", Config: config})
			wantCode(b, err, lineshaft.CodeNotAuthorized)
		}
		// A secret and an environment that others gave an agent stay while the key changes something else.
		given := must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, mine.UID, factories.AgentChange{Secrets: []string{"TEAM"}, EnvironmentID: ref("rich")}))
		changed := must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), limited, mine.UID, factories.AgentChange{Prompt: ref("p"), Secrets: given.Config.Secrets}))
		if changed.Config.EnvironmentID != "rich" || len(changed.Config.Secrets) != 1 {
			b.Errorf("%+v", changed)
		}
		made := must[*lineshaft.Agent](b)(b.s.CreateAgent(b.Context(), limited, lineshaft.Agent{FactoryUID: own, Name: "x"}))
		wantCode(b, b.s.DeleteAgent(b.Context(), limited, made.UID), "")
	})
}

// Whatever names a secret keeps it.
func TestS1SecretsOfDefinitionsAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		f := b.factory("works", "").UID
		for _, name := range []string{"OF_AGENT", "OF_TEAM", "OF_FACTORY", "OF_DEFAULTS", "OF_ENVIRONMENT", "OF_CLONES", "FREE"} {
			b.managed(name, lineshaft.AccessGranted)
		}
		inside := b.newAgent(lineshaft.Agent{FactoryUID: f, Name: "inside", Config: lineshaft.AgentConfig{Secrets: []string{"OF_AGENT"}}})
		b.newAgent(lineshaft.Agent{Name: "outside", Config: lineshaft.AgentConfig{Secrets: []string{"OF_TEAM"}}})
		b.defaults(f, func(f *lineshaft.Factory) {
			f.Secrets, f.Defaults.Secrets = []string{"OF_FACTORY"}, []string{"OF_DEFAULTS"}
		})
		b.environment("env", "OF_ENVIRONMENT")
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutEnvironment(ctx, lineshaft.Environment{UID: "clones", Config: lineshaft.EnvironmentConfig{Name: "clones", GitCredentials: "OF_CLONES"}})
		})
		for name, by := range map[string]string{
			"OF_AGENT": "agent inside of factory works", "OF_TEAM": "agent outside", "OF_FACTORY": "factory works", "OF_DEFAULTS": "factory works",
			"OF_ENVIRONMENT": "environment env", "OF_CLONES": "environment clones",
		} {
			err := b.s.DeleteSecret(b.Context(), b.admin, name)
			if lineshaft.CodeOf(err) != lineshaft.CodeConflict || !strings.Contains(err.Error(), "in use by "+by+";") {
				b.Errorf("%s: %v", name, err)
			}
		}
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "FREE"), "")
		wantCode(b, b.s.DeleteAgent(b.Context(), b.admin, inside.UID), "")
		wantCode(b, b.s.DeleteSecret(b.Context(), b.admin, "OF_AGENT"), "")
	})
}

// A schedule keeps its agent.
func TestF8AgentsOfSchedulesStay(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		agent := b.agent("", "nightly")
		for _, name := range []string{"second", "first"} {
			id := b.newID()
			b.write(func(ctx context.Context, tx *store.Tx) error {
				return tx.PutSchedule(ctx, lineshaft.Schedule{ID: id, Name: name, AgentUID: agent.UID, Prompt: "p", CreatedAt: b.store.Now(), UpdatedAt: b.store.Now()})
			})
		}
		err := b.s.DeleteAgent(b.Context(), b.admin, agent.UID)
		wantCode(b, err, lineshaft.CodeConflict)
		if !strings.Contains(err.Error(), "schedule first, schedule second;") {
			b.Errorf("unclear: %v", err)
		}
	})
}
