package control_test

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store"
)

// richConfig is that of a parent that has something in every field.
func richConfig() lineshaft.AgentConfig {
	return lineshaft.AgentConfig{
		Name: "parent", ModelID: "m", BasePrompt: "be good", EnvironmentID: "env", WorkerHost: "box", RunnerID: "small",
		MCPServers: map[string]lineshaft.MCPServer{"tools": {URL: "https://tools.example", Headers: map[string]string{"X-Key": "literal"}}, "more": {Command: "run"}},
		Harness:    &lineshaft.HarnessConfig{Type: "claude", Mode: "acp", ModelID: "m", ReasoningLevel: "low", Command: []string{"agent"}, Permissions: lineshaft.PermissionsAsk, Auth: ownKey("A")},
		Secrets:    []string{"A", "B"}, ComputerUseEnabled: new(false), ComputerUseModelID: "eyes",
		IdleTimeoutMinutes: new(5), TimeoutMinutes: new(30), StallMinutes: new(5), QueueTimeoutMinutes: new(60), MaxAttempts: new(2),
		Budget: &lineshaft.Budget{MaxTokens: 1000, MaxCostMicros: 2_000_000},
	}
}

// ownKey says that the model is called with the key in a secret.
func ownKey(secret string) *lineshaft.HarnessAuth {
	return &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: secret}
}

// asks are what children ask for, by the field that a refusal names: wider is 403,
// the others are taken.
func asks() map[string]struct{ wider, equal, narrower lineshaft.AgentConfig } {
	type config = lineshaft.AgentConfig
	type ask = struct{ wider, equal, narrower config }
	harness := func(h lineshaft.HarnessConfig) config { return config{Harness: &h} }
	tools := func(servers map[string]lineshaft.MCPServer) config { return config{MCPServers: servers} }
	rich := richConfig()
	return map[string]ask{
		"model_id":              {config{ModelID: "dear"}, config{ModelID: "m"}, config{}},
		"environment_id":        {config{EnvironmentID: "other"}, config{EnvironmentID: "env"}, config{}},
		"worker_host":           {config{WorkerHost: "build-box"}, config{WorkerHost: "box"}, config{}},
		"runner_id":             {config{RunnerID: "large"}, config{RunnerID: "small"}, config{}},
		"secrets":               {config{Secrets: []string{"A", "DEPLOY_KEY"}}, config{Secrets: []string{"A", "B"}}, config{Secrets: []string{"B"}}},
		"skills":                {config{Skills: []string{"acme/skills:deploy"}}, config{}, config{}},
		"mcp_servers.out":       {tools(map[string]lineshaft.MCPServer{"out": {URL: "https://sink.example"}}), tools(rich.MCPServers), tools(map[string]lineshaft.MCPServer{"more": {Command: "run"}})},
		"mcp_servers.tools":     {tools(map[string]lineshaft.MCPServer{"tools": {URL: "https://sink.example"}}), tools(rich.Shown().MCPServers), tools(map[string]lineshaft.MCPServer{"tools": {URL: "https://tools.example"}})},
		"idle_timeout_minutes":  {config{IdleTimeoutMinutes: new(6)}, config{IdleTimeoutMinutes: new(5)}, config{IdleTimeoutMinutes: new(0)}},
		"timeout_minutes":       {config{TimeoutMinutes: new(31)}, config{TimeoutMinutes: new(30)}, config{TimeoutMinutes: new(1)}},
		"stall_minutes":         {config{StallMinutes: new(6)}, config{StallMinutes: new(5)}, config{StallMinutes: new(1)}},
		"queue_timeout_minutes": {config{QueueTimeoutMinutes: new(61)}, config{QueueTimeoutMinutes: new(60)}, config{QueueTimeoutMinutes: new(1)}},
		"retry.max_attempts":    {config{MaxAttempts: new(3)}, config{MaxAttempts: new(2)}, config{MaxAttempts: new(1)}},
		"budget.max_tokens":     {config{Budget: &lineshaft.Budget{MaxTokens: 1001}}, config{Budget: &lineshaft.Budget{MaxTokens: 1000}}, config{Budget: &lineshaft.Budget{MaxTokens: 1}}},
		"budget.max_cost_usd": {
			config{Budget: &lineshaft.Budget{MaxCostMicros: 2_000_001}}, config{Budget: &lineshaft.Budget{MaxCostMicros: 2_000_000}}, config{Budget: &lineshaft.Budget{MaxCostMicros: 1}},
		},
		"computer_use_enabled":  {config{ComputerUseEnabled: new(true)}, config{ComputerUseEnabled: new(false)}, config{}},
		"computer_use_model_id": {config{ComputerUseModelID: "other"}, config{ComputerUseModelID: "eyes"}, config{}},
		"harness.auth":          {harness(lineshaft.HarnessConfig{Auth: ownKey("B")}), harness(lineshaft.HarnessConfig{Auth: ownKey("A")}), config{}},
		"harness.type":          {harness(lineshaft.HarnessConfig{Type: "shell"}), harness(lineshaft.HarnessConfig{Type: "claude"}), config{}},
		"harness.model_id":      {harness(lineshaft.HarnessConfig{ModelID: "dear"}), harness(lineshaft.HarnessConfig{ModelID: "m"}), config{}},
		"harness.command":       {harness(lineshaft.HarnessConfig{Command: []string{"sh", "-c", "id"}}), harness(lineshaft.HarnessConfig{Type: "claude", Command: []string{"agent"}}), config{}},
		"harness.mode":          {harness(lineshaft.HarnessConfig{Type: "claude", Mode: "command"}), harness(lineshaft.HarnessConfig{Type: "claude", Mode: "acp"}), config{}},
		"harness.reasoning_level": {
			harness(lineshaft.HarnessConfig{ReasoningLevel: "high"}), harness(lineshaft.HarnessConfig{ReasoningLevel: "low"}), config{},
		},
		"harness.permissions": {
			harness(lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsAllow}), harness(lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsAsk}),
			harness(lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsDeny}),
		},
	}
}

// parent is a run that starts children.
type parent struct{ kind, runID string }

// parents are of a factory, of none, and of a delivery, in the order that they wait in.
func (w *works) parents() []parent {
	w.Helper()
	rich := richConfig()
	placed := rich
	placed.WorkerHost = "" // the factory's definition decides
	w.defaults(w.factory, func(f *lineshaft.Factory) { f.Defaults.WorkerHost, f.Defaults.ModelID = "box", "m" })
	hand := w.agent(w.factory, "hand")
	w.automation("a", "", func(n *lineshaft.Automation) {
		n.Agent, n.Config = "hand", placed
		n.Config.ModelID = "" // another agent's model is its harness's; this one is the factory's
	})
	free := rich
	free.RunnerID = "" // runs of no factory have none
	return []parent{
		{"factory", w.start(lineshaft.NewRun{AgentUID: hand.UID, Config: placed}).RunID},
		{"none", w.start(lineshaft.NewRun{Config: free}).RunID},
		{"webhook", w.deliver("", opened).Outcomes[0].RunID},
	}
}

// TestX15ChildrenMatrix asks, with the token of every kind of run, for more, for the
// same and for less of everything that a configuration has.
func TestX15ChildrenMatrix(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		for _, name := range []string{"A", "B", "DEPLOY_KEY"} {
			w.managed(name, lineshaft.AccessRuns)
		}
		w.environment("env")
		w.environment("other", "DEPLOY_KEY")
		for _, p := range w.parents() {
			kind, runID, token := p.kind, p.runID, w.token(p.runID)
			for field, ask := range asks() {
				if kind == "none" && field == "runner_id" {
					ask.equal = lineshaft.AgentConfig{}
				}
				started, err := w.as(token, lineshaft.NewRun{Config: ask.wider})
				if err == nil || lineshaft.CodeOf(err) != lineshaft.CodeNotAuthorized || fieldOf(err) != "config."+field {
					w.Errorf("%s, wider %s: %v, %+v", kind, field, err, started)
				}
				for name, config := range map[string]lineshaft.AgentConfig{"equal": ask.equal, "narrower": ask.narrower} {
					started, err := w.as(token, lineshaft.NewRun{Config: config})
					if err != nil {
						w.Errorf("%s, %s %s: %v", kind, name, field, err)
						continue
					}
					w.noMore(kind+" "+name+" "+field, w.run(started.RunID), w.run(runID))
					w.cancel(started.RunID)
				}
			}
		}
	}, func(cfg *base.Config) { cfg.Trees.Descendants = 1000 })
}

// TestX15MatrixHasEveryField wants a row for whatever a configuration can say.
func TestX15MatrixHasEveryField(t *testing.T) {
	t.Parallel()
	free := []string{"name", "base_prompt", "concurrency.key", "concurrency.policy"} // words, and keys that are apart
	named := map[string]string{"max_attempts": "retry.max_attempts", "budget.max_cost_micros": "budget.max_cost_usd", "mcp_servers": "mcp_servers.out", "harness.auth.source": "harness.auth", "harness.auth.secret_name": "harness.auth"}
	rows := asks()
	var walk func(of reflect.Type, prefix string)
	walk = func(of reflect.Type, prefix string) {
		for i := range of.NumField() {
			field := of.Field(i)
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			path := prefix + tag
			if field.Type.Kind() == reflect.Pointer && field.Type.Elem().Kind() == reflect.Struct {
				walk(field.Type.Elem(), path+".")
				continue
			}
			if _, found := rows[cmp.Or(named[path], path)]; !found && !slices.Contains(free, path) {
				t.Errorf("no child asks for %s: decide what it may have, in lineshaft.NarrowConfig, and add a row", path)
			}
		}
	}
	walk(reflect.TypeFor[lineshaft.AgentConfig](), "")
}

// noMore checks that a child has nothing that its parent has not.
func (w *works) noMore(name string, child, parent *lineshaft.Run) {
	w.Helper()
	has, may := child.Config, parent.Config
	within := has.WorkerHost == may.WorkerHost && has.EnvironmentID == may.EnvironmentID && has.RunnerID == may.RunnerID && has.ModelID == may.ModelID &&
		*has.TimeoutMinutes <= *may.TimeoutMinutes && *has.MaxAttempts <= *may.MaxAttempts && has.Budget.MaxTokens <= may.Budget.MaxTokens &&
		has.Budget.MaxTokens > 0 && has.Budget.MaxCostMicros > 0 && has.Harness.Permissions != lineshaft.PermissionsAllow && child.FactoryUID == parent.FactoryUID
	for server, config := range has.MCPServers {
		within = within && may.MCPServers[server].URL == config.URL && maps.Equal(may.MCPServers[server].Headers, config.Headers)
	}
	for _, secret := range has.Secrets {
		within = within && slices.Contains(may.Secrets, secret)
	}
	if !within {
		w.Errorf("%s: %+v, parent %+v", name, has, may)
	}
}

// TestX15ParentRunIDWidensNothing holds a key that is limited to a factory to the same
// with a parent as without.
func TestX15ParentRunIDWidensNothing(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		for _, name := range []string{"A", "B", "DEPLOY_KEY"} {
			w.managed(name, lineshaft.AccessGranted)
		}
		w.environment("env")
		w.environment("other", "DEPLOY_KEY")
		hand := w.agent(w.factory, "hand")
		limited := w.caller(lineshaft.RoleMember, w.factory)
		for field, ask := range asks() {
			parent := must[controlruns.Started](w.bench)(w.as(limited, lineshaft.NewRun{AgentUID: hand.UID})).RunID
			_, alone := w.as(limited, lineshaft.NewRun{AgentUID: hand.UID, Config: ask.wider})
			_, below := w.as(limited, lineshaft.NewRun{ParentRunID: parent, Config: ask.wider})
			if alone != nil && (below == nil || lineshaft.CodeOf(alone) != lineshaft.CodeOf(below)) {
				w.Errorf("%s: with a parent %v, without %v", field, below, alone)
			}
		}
	})
}

// TestX15AnAgentIsStartedAsItIs lets a run give work to an agent of its factory with
// that agent's configuration, and nothing else.
func TestX15AnAgentIsStartedAsItIs(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		hand := w.agent(w.factory, "hand", func(a *lineshaft.Agent) { a.Config.ModelID, a.Config.TimeoutMinutes = "m", new(20) })
		token := w.token(w.start(lineshaft.NewRun{AgentUID: hand.UID}).RunID)
		for field, config := range map[string]lineshaft.AgentConfig{
			"model_id": {ModelID: "other"}, "timeout_minutes": {TimeoutMinutes: new(1)}, "name": {Name: "x"}, "worker_host": {WorkerHost: "box"},
		} {
			_, err := w.as(token, lineshaft.NewRun{AgentUID: hand.UID, Config: config})
			wantCode(w.bench, err, lineshaft.CodeNotAuthorized)
			if fieldOf(err) != "config."+field {
				w.Errorf("%s: %v", field, err)
			}
		}
		run := w.run(must[controlruns.Started](w.bench)(w.as(token, lineshaft.NewRun{AgentUID: hand.UID, Config: lineshaft.AgentConfig{ModelID: "m"}})).RunID)
		if run.AgentUID != hand.UID || run.Config.ModelID != "m" || *run.Config.TimeoutMinutes != 20 {
			w.Errorf("%+v", run)
		}
	})
}

// TestX15DescendantsAreCounted bounds what is ever started below one root, by whichever
// of its runs and all at once, and not what lives.
func TestX15DescendantsAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root := b.start(lineshaft.NewRun{}).RunID
		token := b.token(root)
		first := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
		below := b.token(first)
		codes := make([]lineshaft.Code, 14)
		together(len(codes), func(i int) {
			_, err := b.as([]lineshaft.Caller{token, below}[i%2], lineshaft.NewRun{})
			if err != nil {
				codes[i] = lineshaft.CodeOf(err)
			}
		})
		taken := 1
		for _, code := range codes {
			if code == "" {
				taken++
			} else if code != lineshaft.CodeInvalidRequest {
				b.Errorf("a start failed with %s", code)
			}
		}
		if taken != 10 || len(b.list(lineshaft.RunFilter{AncestorRunID: root})) != 10 {
			b.Fatalf("%d descendants, want 10", taken)
		}
		must[controlruns.CancelResult](b)(b.s.Cancel(b.Context(), b.admin, first, true, nil))
		_, err := b.as(token, lineshaft.NewRun{})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		if !strings.Contains(err.Error(), root) {
			b.Errorf("%v", err)
		}
	}, func(cfg *base.Config) { cfg.Trees.Descendants = 10 })
}

// TestX15KeysOfChildrenHoldUpNobody keeps a concurrency key that an agent chooses apart
// from those of its factory and of other trees.
func TestX15KeysOfChildrenHoldUpNobody(t *testing.T) {
	t.Parallel()
	eachWorks(t, controlfactories.NewWebhook{}, func(w *works) {
		hand := w.agent(w.factory, "hand")
		w.automation("deploy", "", concurrency("deploy", lineshaft.PolicySkip))
		key := lineshaft.AgentConfig{Concurrency: &lineshaft.Concurrency{Key: "deploy"}}
		token := w.token(w.start(lineshaft.NewRun{AgentUID: hand.UID}).RunID)
		w.want(must[controlruns.Started](w.bench)(w.as(token, lineshaft.NewRun{Config: key})).RunID, lineshaft.Queued)
		if o := w.deliver("", opened).Outcomes[0]; o.Result != lineshaft.ResultStarted {
			w.Errorf("%+v", o)
		}
		second := w.run(must[controlruns.Started](w.bench)(w.as(token, lineshaft.NewRun{Config: key})).RunID)
		if !strings.Contains(second.Status.Message, "waiting for run") { // among the children of one root it is one key
			w.Errorf("%q", second.Status.Message)
		}
	})
}

// spend reports that the agent of a job has used tokens.
func (b *bench) spend(job lineshaft.Job, first, tokens int64) {
	b.Helper()
	used := lineshaft.NewDraft(lineshaft.EventUsage, b.clock.now(), lineshaft.UsageData{ModelID: "m", OutputTokens: tokens})
	if err := b.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: first, Events: []lineshaft.Draft{used}}); err != nil {
		b.Fatal(err)
	}
}

// TestX15OnePoolUnderTheRoot lets a tree of runs spend what its root may, together.
func TestX15OnePoolUnderTheRoot(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		root, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxTokens: 1000}}})
		token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		start := func(c lineshaft.Caller) string {
			return must[controlruns.Started](b)(b.as(c, lineshaft.NewRun{})).RunID
		}
		b.spend(job, 1, 300)
		one := start(token)
		first := b.claimOne(lineshaft.HostedWorker, one)
		b.begin(first)
		if first.Config.Budget.MaxTokens != 700 { // what the root has left is all that it gets
			b.Errorf("%+v", first.Config.Budget)
		}
		b.spend(first, 1, 600)
		two := start(must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), first.RunToken)))
		second := b.claimOne(lineshaft.HostedWorker, two)
		b.begin(second)
		if second.Config.Budget.MaxTokens != 100 {
			b.Errorf("%+v", second.Config.Budget)
		}
		waiting := start(token)
		b.spend(second, 1, 101)
		for _, runID := range []string{root, one, two, waiting} {
			run := b.want(runID, lineshaft.Failed)
			if run.Status.ErrorCode != lineshaft.CodeBudgetExceeded || !strings.Contains(run.Status.Message, "1001 of 1000 tokens") {
				b.Errorf("%+v", run.Status)
			}
		}
	})
}

// TestX15ASpentPoolStartsNothing refuses children, also when those that spent it are
// gone, and gives a queued one to a worker only to have it ended.
func TestX15ASpentPoolStartsNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxTokens: 1000}}})
		token := must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken))
		child := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
		unclaimed := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
		waiting := must[controlruns.Started](b)(b.as(token, lineshaft.NewRun{})).RunID
		spender := b.claimOne(lineshaft.HostedWorker, child)
		b.begin(spender)
		b.spend(spender, 1, 1000)
		b.end(spender, lineshaft.Succeeded)
		if err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, child) }); err != nil {
			b.Fatal(err)
		}
		_, err := b.as(token, lineshaft.NewRun{})
		wantCode(b, err, lineshaft.CodeBudgetExceeded)
		b.cancel(waiting)
		_, err = b.s.Followup(b.Context(), b.admin, lineshaft.NewFollowup{RunID: waiting, Message: "go on"}, nil)
		wantCode(b, err, lineshaft.CodeBudgetExceeded)
		waiting = unclaimed
		late := b.claimOne(lineshaft.HostedWorker, waiting)
		if late.FaultCode != lineshaft.CodeBudgetExceeded || late.Fault == "" {
			b.Errorf("%q %q", late.FaultCode, late.Fault)
		}
	})
}

// TestX15BoundWorkersTakeRunsOfTheirFactories gives a worker whose key is bound to
// factories their runs and no others.
func TestX15BoundWorkersTakeRunsOfTheirFactories(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		var factories []string
		var runs []string
		start := func(factory string) {
			agent := b.agent(factory, "hand", func(a *lineshaft.Agent) { a.Config.WorkerHost = "box" })
			runs = append(runs, b.start(lineshaft.NewRun{AgentUID: agent.UID}).RunID)
		}
		for _, name := range []string{"a", "b", "c"} {
			factories = append(factories, b.factory(name, "").UID)
			start(factories[len(factories)-1])
		}
		free := b.start(lineshaft.NewRun{Config: lineshaft.AgentConfig{WorkerHost: "box"}}).RunID
		claim := func(bound ...string) []string {
			remote := must[*controlruns.RemoteWorker](b)(b.s.Remote(b.caller(lineshaft.RoleWorker, bound...), "box", "box/p"+b.newID()))
			var taken []string
			for _, job := range must[[]lineshaft.Job](b)(remote.Claim(b.Context(), lineshaft.ClaimRequest{Limit: 10, Capacity: 10}, nil)) {
				taken = append(taken, job.RunID)
			}
			return taken
		}
		if got := claim(factories[2], factories[0]); !slices.Equal(got, []string{runs[0], runs[2]}) {
			b.Fatalf("claimed %v, want %v", got, []string{runs[0], runs[2]})
		}
		if run := b.run(runs[1]); !strings.Contains(run.Status.Message, "limited to other factories") {
			b.Errorf("%q", run.Status.Message)
		}
		if got := claim(); !slices.Equal(got, []string{runs[1], free}) {
			b.Fatalf("claimed %v, want %v", got, []string{runs[1], free})
		}
	})
}

// TestH14PromptsDoNotGrowWithoutEnd keeps follow-ups that would make a waiting run's
// prompt too long as turns of their own.
func TestH14PromptsDoNotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		runID := b.start(lineshaft.NewRun{Prompt: "begin"}).RunID
		long := strings.Repeat("x", lineshaft.MaxPromptBytes)
		var turns int
		for range 4 {
			if b.followup(runID, long).FollowupID != "" {
				turns++
			}
		}
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if turns != 3 || len(job.Turn.Message) != len("begin\n\n")+len(long) {
			b.Errorf("%d turns, a prompt of %d bytes", turns, len(job.Turn.Message))
		}
	})
}
