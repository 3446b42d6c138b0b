package control_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	controlskills "github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// forge is a control.Git with repositories in memory.
type forge struct {
	mu    sync.Mutex
	files map[string]map[string]string // by owner/name
	heads int                          // how often it was asked for a newest commit
	trees int
	away  bool
	gate  chan struct{} // when set, answers wait for it
}

func (f *forge) URL(r lineshaft.Repository) string { return "forge:" + r.String() }

func (f *forge) Head(ctx context.Context, url, _ string) (string, error) {
	f.mu.Lock()
	f.heads++
	gate, away, files := f.gate, f.away, f.files[strings.TrimPrefix(url, "forge:")]
	f.mu.Unlock()
	if gate != nil {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("ask forge: %w", ctx.Err())
		case <-gate:
		}
	}
	switch {
	case away:
		return "", lineshaft.Unavailable(errors.New("connection refused"), "the forge does not answer")
	case files == nil:
		return "", lineshaft.NotFound("repository", url)
	}
	return fmt.Sprintf("commit-%d", len(files)), nil
}

func (f *forge) Tree(_ context.Context, url, _ string, keep func(string, int64) bool) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trees++
	kept := maps.Clone(f.files[strings.TrimPrefix(url, "forge:")])
	maps.DeleteFunc(kept, func(path, text string) bool { return !keep(path, int64(len(text))) })
	return kept, nil
}

func (f *forge) set(change func(*forge)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *forge) asked() (heads, trees int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heads, f.trees
}

func skillText(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + body
}

func newForge() *forge {
	return &forge{files: map[string]map[string]string{
		"acme/tools": {
			".agents/skills/triage/SKILL.md": skillText("Triage", "Look at $ARGUMENTS."),
			"skills/review/SKILL.md":         skillText("review", "Be kind."),
			"skills/broken/SKILL.md":         "nothing",
			"docs/prompt.md":                 skillText("prompt", "From a file."),
			"main.go":                        "package main",
		},
		"acme/empty": {"README.md": "x"},
		"other/only": {"skills/deploy/SKILL.md": skillText("deploy", "Ship it.")},
	}}
}

// skilled runs fn on every engine with a control plane that has a forge.
func skilled(t *testing.T, fn func(b *bench, f *forge)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		f := newForge()
		fn(open(t, database, func(c *base.Config) { c.Git = f }), f)
	})
}

func skillRun(prompt string, specs ...string) lineshaft.NewRun {
	return lineshaft.NewRun{Prompt: prompt, Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{Skills: specs}}
}

func (b *bench) startSkill(prompt string, specs ...string) string {
	b.Helper()
	return must[runs.Started](b)(b.s.StartRun(b.Context(), b.admin, skillRun(prompt, specs...), nil)).RunID
}

// told is the first message to the agent of a job.
func told(job lineshaft.Job) string {
	return skill.Compose(job.Config.BasePrompt, job.Skills, job.Turn.Message)
}

func TestX8SkillIsFoundAtCreate(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		runID := b.startSkill("issue 7", "acme/tools:triage", "acme/tools:docs/prompt.md")
		run := b.want(runID, lineshaft.Queued)
		if len(run.Skills) != 2 || run.Skills[0].Name != "Triage" || run.Skills[0].Path != ".agents/skills/triage/SKILL.md" ||
			run.Skills[0].Commit != "commit-5" || run.Skills[0].Spec != "acme/tools:triage" || run.Skills[1].Name != "prompt" {
			b.Fatalf("%+v", run.Skills)
		}
		if run.Config.Name != "Triage" || run.Status.Message != "waiting for a worker" {
			b.Fatalf("name is %q, status %q", run.Config.Name, run.Status.Message)
		}
		if from := must[map[string]string](b)(b.s.ExplainRun(b.Context(), b.admin, runID)); from["name"] != "skill" {
			b.Fatalf("the name comes from %q", from["name"])
		}
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if got := told(job); got != "Look at issue 7.\n\nFrom a file." {
			b.Fatalf("the agent is told %q", got)
		}
		b.begin(job)
		b.followup(runID, "and then?")
		if next := b.end(job, lineshaft.Succeeded); next == nil || next.Message != "and then?" {
			b.Fatalf("the follow-up came as %+v", next)
		}
	})
}

func TestR3NameOfARunIsKept(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		req := skillRun("x", "acme/tools:triage")
		req.Config.Name = "mine"
		run := b.run(b.start(req).RunID)
		if run.Config.Name != "mine" {
			b.Fatalf("the name became %q", run.Config.Name)
		}
	})
}

func TestR2SkillNeedsNoPrompt(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		runID := b.startSkill("", "acme/tools:skills/review/SKILL.md")
		if run := b.run(runID); run.Title != "review" {
			b.Fatalf("the title is %q", run.Title)
		}
		if result := b.followup(runID, "And be quick."); result.Outcome != lineshaft.OutcomeQueuedPrompt {
			b.Fatalf("outcome is %s", result.Outcome)
		}
		if got := told(b.claimOne(lineshaft.HostedWorker, runID)); got != "Be kind.\n\nAnd be quick." {
			b.Fatalf("the agent is told %q", got)
		}
		b.sound(runID)
	})
}

func TestX8UnknownSkillsAreRefusedAtCreate(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		for spec, want := range map[string]struct {
			code lineshaft.Code
			text string
		}{
			"acme/tools:triag":       {lineshaft.CodeNotFound, "it has triage, review"},
			"acme/empty:x":           {lineshaft.CodeNotFound, "it has none at all"},
			"acme/nothing:x":         {lineshaft.CodeNotFound, "the forge has no repository acme/nothing"},
			"acme/tools:broken":      {lineshaft.CodeInvalidRequest, "no front matter"},
			"acme/tools:docs/no.md":  {lineshaft.CodeNotFound, `no skill "docs/no.md"`},
			"tools:triage":           {lineshaft.CodeInvalidRequest, "write owner/tools:triage"},
			"triage":                 {lineshaft.CodeInvalidRequest, "write owner/repo:triage"},
			"acme/tools:../../passw": {lineshaft.CodeInvalidRequest, "inside its repository"},
		} {
			_, err := b.s.StartRun(b.Context(), b.admin, skillRun("x", spec), nil)
			if lineshaft.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error(), "config.skills[0]") {
				b.Errorf("%s: %v", spec, err)
			}
		}
	})
}

func TestX8ServerWithoutForgeSaysSo(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		_, err := b.s.StartRun(b.Context(), b.admin, skillRun("x", "acme/tools:triage"), nil)
		wantCode(b, err, lineshaft.CodeNotSupported)
		if !strings.Contains(err.Error(), "--forge-url") {
			b.Error(err)
		}
		_, err = b.s.ListSkills(b.Context(), b.admin, controlskills.SkillQuery{Repository: "acme/tools"})
		wantCode(b, err, lineshaft.CodeNotSupported)
		if list := must[[]controlskills.ListedSkill](b)(b.s.ListSkills(b.Context(), b.admin, controlskills.SkillQuery{})); len(list) != 0 {
			b.Errorf("%+v", list)
		}
	})
}

func TestX8OwnerIsTakenFromTheEnvironment(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		b.environmentOf("e1", "tools", lineshaft.Repository{Owner: "acme", Name: "tools"})
		req := skillRun("x", "tools:review")
		req.Config.EnvironmentID = "e1"
		run := b.run(b.start(req).RunID)
		if len(run.Skills) != 1 || run.Config.Skills[0] != "acme/tools:review" {
			b.Fatalf("%v, %+v", run.Config.Skills, run.Skills)
		}
	})
}

// environmentOf makes one, as the API would.
func (b *bench) environmentOf(uid, name string, repositories ...lineshaft.Repository) {
	b.Helper()
	err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.PutEnvironment(ctx, lineshaft.Environment{UID: uid, Config: lineshaft.EnvironmentConfig{Name: name, Repositories: repositories}})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// Skills that were read are remembered by commit; which commit is the newest, for a minute.
func TestX8SkillsAreCached(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		b.startSkill("x", "acme/tools:triage")
		b.startSkill("x", "acme/tools:review")
		if heads, trees := f.asked(); heads != 1 || trees != 1 {
			b.Fatalf("asked %d times for the head, %d for the tree", heads, trees)
		}
		b.clock.advance(time.Minute)
		b.startSkill("x", "acme/tools:triage")
		if heads, trees := f.asked(); heads != 2 || trees != 1 {
			b.Fatalf("after a minute: asked %d times for the head, %d for the tree", heads, trees)
		}
		f.set(func(f *forge) {
			f.files["acme/tools"] = maps.Clone(f.files["acme/tools"])
			f.files["acme/tools"]["skills/new/SKILL.md"] = skillText("new", "x")
		})
		must[[]controlskills.ListedSkill](b)(b.s.ListSkills(b.Context(), b.admin, controlskills.SkillQuery{Repository: "acme/tools", Refresh: true}))
		if run := b.run(b.startSkill("x", "acme/tools:new")); run.Skills[0].Commit != "commit-6" {
			b.Fatalf("%+v", run.Skills)
		}
	})
}

// Many that ask for the same at once are one question.
func TestX8ReadersShareOneReading(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		gate := make(chan struct{})
		f.set(func(f *forge) { f.gate = gate })
		together(8, func(i int) {
			if i == 0 { // the others wait by now, or come when it is known
				close(gate)
			}
			if _, err := b.s.StartRun(b.Context(), b.admin, skillRun("x", "acme/tools:triage"), nil); err != nil {
				b.Error(err)
			}
		})
		if heads, trees := f.asked(); heads != 1 || trees != 1 {
			b.Fatalf("asked %d times for the head, %d for the tree", heads, trees)
		}
	})
}

// The skills of a factory's definition need no repository.
func TestX8DefinitionSkills(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		factory := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "f"}))
		skills := []lineshaft.Skill{
			{Name: "triage", Description: "d", Body: "Shared."},
			{Name: "review", Description: "d", Body: "Review."},
			{Agent: "fixer", Name: "triage", Description: "d", Body: "Own."},
			{Agent: "other", Name: "secret", Description: "d", Body: "No."},
		}
		agent := lineshaft.Agent{UID: "agent-1", FactoryUID: factory.UID, Name: "fixer", Type: lineshaft.AgentCustom, CreatedAt: b.clock.now()}
		err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.PutAgent(ctx, agent), tx.ReplaceSkills(ctx, factory.UID, skills))
		})
		if err != nil {
			b.Fatal(err)
		}
		start := func(agentUID, spec string) (string, error) { return b.startIn(factory.UID, agentUID, spec) }
		for _, c := range []struct{ agent, want string }{{"", "Shared."}, {agent.UID, "Own."}} {
			runID := must[string](b)(start(c.agent, "triage"))
			job := b.claimOne(lineshaft.HostedWorker, runID)
			if len(job.Skills) != 1 || job.Skills[0].Body != c.want || b.run(runID).Config.Name != "triage" {
				b.Errorf("agent %q has %+v", c.agent, job.Skills)
			}
			var names []string
			for _, s := range job.Prepare.Skills {
				names = append(names, s.Name+" "+s.Body)
			}
			slices.Sort(names)
			if !slices.Equal(names, []string{"review Review.", "triage " + c.want}) {
				b.Errorf("agent %q finds %q in its workspace", c.agent, names)
			}
		}
		_, err = start("", "triag")
		wantCode(b, err, lineshaft.CodeNotFound)
		if !strings.Contains(err.Error(), "the factory has no skill \"triag\"; it has triage, review") {
			b.Error(err)
		}
		_, err = start(agent.UID, "secret")
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}

// startIn starts a run of a factory in a transaction, as automations do.
func (b *bench) startIn(factoryUID, agentUID string, specs ...string) (runID string, err error) {
	err = b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		runID, err = control.StartInFactory(ctx, b.s, tx, b.admin, factoryUID, agentUID, skillRun("x", specs...))
		return err
	})
	return runID, err
}

// A short skill may ask for a long prompt many times.
func TestX7SkillsMayNotBlowUpThePrompt(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		f.files["acme/tools"]["skills/bomb/SKILL.md"] = skillText("bomb", strings.Repeat("$ARGUMENTS ", 100))
		_, err := b.s.StartRun(b.Context(), b.admin, skillRun(strings.Repeat("x", 500_000), "acme/tools:bomb"), nil)
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		runID := b.startSkill(strings.Repeat("x", 50_000), "acme/tools:bomb")
		b.followup(runID, strings.Repeat("y", 900_000))
		if job := b.claimOne(lineshaft.HostedWorker, runID); !strings.Contains(job.Fault, "at most 8388608 are allowed") {
			b.Fatalf("fault is %q", job.Fault)
		}
	})
}

// Skills that an agent's configuration names are looked up as well, and its factory's
// repositories need no owner.
func TestX8SkillsOfAgents(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		factoryUID := b.factoryWith("f", "acme/tools")
		uid, _ := b.store.NewID()
		b.write(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutAgent(ctx, lineshaft.Agent{
				UID: uid, FactoryUID: factoryUID, Name: "fixer", Type: lineshaft.AgentCustom, CreatedAt: b.clock.now(),
				Config: lineshaft.AgentConfig{Skills: []string{"tools:triage"}},
			})
		})
		run := b.run(b.start(lineshaft.NewRun{Prompt: "x", AgentUID: uid}).RunID)
		if len(run.Skills) != 1 || run.Config.Skills[0] != "acme/tools:triage" || run.Config.Name != "Triage" {
			b.Fatalf("%v %+v", run.Config, run.Skills)
		}
		req := skillRun("x", "tools:nothing") // the run's own win
		req.AgentUID = uid
		_, err := b.s.StartRun(b.Context(), b.admin, req, nil)
		wantCode(b, err, lineshaft.CodeNotFound)
	})
}
