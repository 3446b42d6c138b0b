package control_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// heldRun starts a run of a skill while the forge is unreachable.
func (b *bench) heldRun(f *forge, prompt string, change ...func(*lineshaft.NewRun)) string {
	b.Helper()
	f.set(func(f *forge) { f.away = true })
	req := skillRun(prompt, "acme/tools:triage")
	for _, fn := range change {
		fn(&req)
	}
	started := must[runs.Started](b)(b.s.StartRun(b.Context(), b.admin, req, nil))
	if len(b.claimable(lineshaft.HostedWorker)) != 0 {
		b.Fatal("a run without its skill was claimed")
	}
	return started.RunID
}

// forgeBack lets the forge answer again, and the runs that wait find their skills.
func (b *bench) forgeBack(f *forge) int {
	b.Helper()
	f.set(func(f *forge) { f.away = false })
	b.clock.advance(2 * time.Minute)
	return must[int](b)(b.s.FindSkills(b.Context()))
}

func TestX8ForgeThatIsAwayHoldsTheRun(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "issue 7")
		if run := b.want(runID, lineshaft.Queued); run.Status.Message != "waiting for its skill acme/tools:triage" || run.Config.Name != "" {
			b.Fatalf("%+v", run.Status)
		}
		for range 3 { // each try of a repository waits longer
			if n := must[int](b)(b.s.FindSkills(b.Context())); n != 0 {
				b.Fatalf("%d runs are through", n)
			}
		}
		if heads, _ := f.asked(); heads != 2 { // at create and once in the background
			b.Fatalf("the forge was asked %d times", heads)
		}
		if run := b.run(runID); !strings.Contains(run.Status.Message, "acme/tools:triage: repository acme/tools cannot be read now") {
			b.Fatalf("%+v", run.Status)
		}
		b.clock.advance(time.Second)
		must[int](b)(b.s.FindSkills(b.Context()))
		if heads, _ := f.asked(); heads != 3 {
			b.Fatalf("the forge was asked %d times", heads)
		}
		if n := b.forgeBack(f); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
		run := b.want(runID, lineshaft.Queued)
		if run.Config.Name != "Triage" || run.Status.Message != "waiting for a worker" || len(run.Skills) != 1 || run.Skills[0].Commit != "commit-5" {
			b.Fatalf("%+v", run)
		}
		if got := told(b.claimOne(lineshaft.HostedWorker, runID)); got != "Look at issue 7." {
			b.Fatalf("the agent is told %q", got)
		}
		b.sound(runID)
	})
}

// Lists, filters and search know a name that came later.
func TestR4HeldRunsAreFoundByTheirSkill(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "issue 7")
		must[bool](b)(b.s.SettleRuns(b.Context()))
		b.forgeBack(f)
		must[bool](b)(b.s.SettleRuns(b.Context()))
		plain := b.start(lineshaft.NewRun{}).RunID
		for name, filter := range map[string]lineshaft.RunFilter{
			"name": {Name: "Triage"}, "skill": {SkillSpec: "acme/tools:triage"}, "words": {Query: "triage"}, "words of the prompt": {Query: "issue"},
		} {
			q := lineshaft.RunQuery{Filter: filter, Sort: lineshaft.SortUpdated, Limit: 10}
			page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, q))
			if len(page.Runs) != 1 || page.Runs[0].ID != runID {
				b.Errorf("%s: %d runs", name, len(page.Runs))
			}
		}
		q := lineshaft.RunQuery{Sort: lineshaft.SortAgent, Ascending: true, Limit: 10, Filter: lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Queued}}}
		page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, q))
		if len(page.Runs) != 2 || page.Runs[0].ID != runID || page.Runs[1].ID != plain {
			b.Errorf("sorted by agent: %d runs", len(page.Runs))
		}
	})
}

// A forge that hangs does not hang the caller for long.
func TestX8ForgeThatHangsHoldsTheRun(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		gate := make(chan struct{})
		f.set(func(f *forge) { f.gate = gate })
		runID := b.startSkill("x", "acme/tools:triage")
		if run := b.want(runID, lineshaft.Queued); !strings.HasPrefix(run.Status.Message, "waiting for its skill") {
			b.Fatalf("%+v", run.Status)
		}
		close(gate)
		if n := must[int](b)(b.s.FindSkills(b.Context())); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
	})
}

func TestX8SkillThatIsMissingLaterFailsTheRun(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "x", func(r *lineshaft.NewRun) { r.Config.Skills = []string{"acme/tools:triag"} })
		if n := b.forgeBack(f); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
		run := b.want(runID, lineshaft.Failed)
		if run.Status.ErrorCode != lineshaft.CodeNotFound || !strings.Contains(run.Status.Message, "it has triage, review") {
			b.Fatalf("%+v", run.Status)
		}
		// Someone adds it and continues.
		f.set(func(f *forge) {
			f.files["acme/tools"] = maps.Clone(f.files["acme/tools"])
			f.files["acme/tools"]["skills/triag/SKILL.md"] = skillText("triag", "New: $0")
		})
		b.followup(runID, "it is there now")
		if n := b.forgeBack(f); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
		if got := told(b.claimOne(lineshaft.HostedWorker, runID)); got != "New: x" {
			b.Fatalf("the agent is told %q", got)
		}
		b.sound(runID)
	})
}

func TestX8HeldRunCanBeCancelled(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "x")
		b.cancel(runID)
		if n := b.forgeBack(f); n != 0 {
			b.Fatalf("%d runs are through", n)
		}
		b.want(runID, lineshaft.Cancelled)
		b.followup(runID, "go on") // it was never begun, so its skill is still needed
		if n := must[int](b)(b.s.FindSkills(b.Context())); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
		job := b.claimOne(lineshaft.HostedWorker, runID)
		if got := told(job); got != "Look at x." {
			b.Fatalf("the agent is told %q", got)
		}
		b.begin(job)
		if next := b.end(job, lineshaft.Succeeded); next == nil || next.Message != "go on" {
			b.Fatalf("then %+v", next)
		}
		b.sound(runID)
	})
}

func TestX8HeldRunTakesFollowups(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "one")
		if result := b.followup(runID, "two"); result.Outcome != lineshaft.OutcomeQueuedPrompt {
			b.Fatalf("outcome is %s", result.Outcome)
		}
		b.forgeBack(f)
		if got := told(b.claimOne(lineshaft.HostedWorker, runID)); got != "Look at one\n\ntwo." {
			b.Fatalf("the agent is told %q", got)
		}
	})
}

func TestX8HeldRunCanBeRunAgain(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "")
		again := must[runs.Started](b)(b.s.Rerun(b.Context(), b.admin, runID, lineshaft.SourceAPI, nil))
		if n := b.forgeBack(f); n != 2 {
			b.Fatalf("%d runs are through", n)
		}
		for _, id := range []string{runID, again.RunID} {
			if got := told(b.claimOne(lineshaft.HostedWorker, id)); got != "Look at ." {
				b.Fatalf("the agent is told %q", got)
			}
		}
	})
}

func TestX2HeldRunDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		runID := b.heldRun(f, "x", func(r *lineshaft.NewRun) { r.Config.QueueTimeoutMinutes = new(5) })
		b.clock.advance(6 * time.Minute)
		if n := must[int](b)(b.s.EndOverdue(b.Context())); n != 1 {
			b.Fatalf("%d runs ended", n)
		}
		run := b.want(runID, lineshaft.Errored)
		if !strings.Contains(run.Status.Message, "--forge-url") || run.Status.ErrorCode != lineshaft.CodeInfrastructureTimeout {
			b.Fatalf("%+v", run.Status)
		}
		if n := b.forgeBack(f); n != 0 {
			b.Fatalf("%d runs are through", n)
		}
	})
}

// Two holds at once: whichever goes first, the other stays.
func TestX10HeldRunsKeepTheirConcurrency(t *testing.T) {
	t.Parallel()
	key := func(r *lineshaft.NewRun) { r.Config.Concurrency = &lineshaft.Concurrency{Key: "k"} }
	for name, skillFirst := range map[string]bool{"skill first": true, "key first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skilled(t, func(b *bench, f *forge) {
				first := lineshaft.NewRun{}
				key(&first)
				_, job := b.working(first)
				runID := b.heldRun(f, "x", key)
				steps := []func(){func() { b.end(job, lineshaft.Succeeded) }, func() { b.forgeBack(f) }}
				if skillFirst {
					steps[0], steps[1] = steps[1], steps[0]
				}
				steps[0]()
				if len(b.claimable(lineshaft.HostedWorker)) != 0 {
					b.Fatal("the run was claimed with one hold left")
				}
				want := map[bool]string{true: "waiting for run ", false: "waiting for its skill"}[skillFirst]
				if run := b.run(runID); !strings.HasPrefix(run.Status.Message, want) {
					b.Fatalf("status is %q", run.Status.Message)
				}
				steps[1]()
				if got := told(b.claimOne(lineshaft.HostedWorker, runID)); got != "Look at x." {
					b.Fatalf("the agent is told %q", got)
				}
				b.sound(runID)
			})
		})
	}
}

func TestX10HeldRunsGiveWay(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		with := func(policy lineshaft.ConcurrencyPolicy) func(*lineshaft.NewRun) {
			return func(r *lineshaft.NewRun) {
				r.Config.Concurrency = &lineshaft.Concurrency{Key: "k", Policy: policy}
			}
		}
		first := b.heldRun(f, "x", with(lineshaft.PolicyQueue))
		second := b.heldRun(f, "y", with(lineshaft.PolicyCancelPrevious))
		b.want(first, lineshaft.Cancelled)
		b.want(b.heldRun(f, "z", with(lineshaft.PolicySkip)), lineshaft.Cancelled)
		if followed := b.heldRun(f, "", with(lineshaft.PolicyFollowup)); followed != second {
			b.Fatalf("run %s was made", followed)
		}
		if n := b.forgeBack(f); n != 1 {
			b.Fatalf("%d runs are through", n)
		}
		if got := told(b.claimOne(lineshaft.HostedWorker, second)); got != "Look at y\n\nUse the skill acme/tools:triage.." {
			b.Fatalf("the agent is told %q", got)
		}
		b.sound(first, second)
	})
}

// A run that fails for its skill passes its key on.
func TestX10FailedSkillFreesTheKey(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		key := func(r *lineshaft.NewRun) { r.Config.Concurrency = &lineshaft.Concurrency{Key: "k"} }
		failing := b.heldRun(f, "x", key, func(r *lineshaft.NewRun) { r.Config.Skills = []string{"acme/tools:nothing"} })
		next := b.heldRun(f, "y", key, func(r *lineshaft.NewRun) { r.Config.Skills = nil })
		b.forgeBack(f)
		b.want(failing, lineshaft.Failed)
		b.claimOne(lineshaft.HostedWorker, next)
	})
}

// Deliveries are taken without asking the forge; the run waits for its skill.
func TestW13AutomationsWithSkillsDoNotWaitForTheForge(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		f := newForge()
		w := newWorks(t, database, factories.NewWebhook{}, func(c *base.Config) { c.Git = f })
		w.automation("a", "", func(n *lineshaft.Automation) { n.Config.Skills = []string{"acme/tools:review"} })
		w.automation("local", "", func(n *lineshaft.Automation) { n.Config.Skills = []string{"nothing"} })
		outcomes := w.outcomes("1", "{}")
		runID := outcomes["a"].RunID
		if heads, _ := f.asked(); heads != 0 || runID == "" {
			w.Fatalf("the forge was asked %d times; %+v", heads, outcomes)
		}
		if o := outcomes["local"]; o.Result != lineshaft.ResultError || o.RunID != "" || !strings.Contains(o.Reason, `no skill "nothing"`) {
			w.Fatalf("%+v", o)
		}
		if n := must[int](w.bench)(w.s.FindSkills(w.Context())); n != 1 {
			w.Fatalf("%d runs are through", n)
		}
		if run := w.run(runID); run.Config.Name != "a" || run.Skills[0].Name != "review" { // the automation's name is narrower
			w.Fatalf("%+v", run)
		}
		if got := told(w.claimOne(lineshaft.HostedWorker, runID)); !strings.HasPrefix(got, "Be kind.\n\n") || !strings.Contains(got, "Work on it: a") {
			w.Fatalf("the agent is told %q", got)
		}
		w.sound(runID)
	})
}

// Several nodes look for the same skills.
func TestX8NodesShareTheWaitingRuns(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		f := newForge()
		f.away = true
		setting := func(c *base.Config) { c.Git = f }
		b := open(t, database, setting)
		other := b // SQLite has one node, which may look twice at once
		if b.store.Engine() == "postgres" {
			other = open(t, database, setting)
		}
		var runIDs []string
		for range 5 {
			runIDs = append(runIDs, b.startSkill("x", "acme/tools:triage"))
		}
		f.set(func(f *forge) { f.away = false })
		nodes, done := []*bench{b, other}, make([]int, 2)
		together(2, func(i int) {
			n, err := nodes[i].s.FindSkills(b.Context())
			if err != nil {
				b.Error(err)
			}
			done[i] = n
		})
		if done[0]+done[1] != len(runIDs) {
			b.Fatalf("the nodes settled %v of %d runs", done, len(runIDs))
		}
		b.sound(runIDs...)
	})
}

// Workers that wait for work of this kind are woken at once.
func TestX8WaitingRunsWakeTheJob(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		wanted := b.s.SkillsWanted()
		b.heldRun(f, "x")
		select {
		case <-wanted:
		case <-time.After(time.Minute):
			b.Fatal("nobody was told")
		}
	})
}
