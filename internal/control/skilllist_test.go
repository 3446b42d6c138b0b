package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/store"
)

// listed shows a list shortly.
func listed(list []skills.ListedSkill) []string {
	var out []string
	for _, one := range list {
		out = append(out, fmt.Sprintf("%s %s %t", one.Name, one.Spec, !one.LastRun.IsZero()))
	}
	return out
}

func TestF8SkillsOfRepositoriesAreListed(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		list := func(q skills.SkillQuery) []skills.ListedSkill {
			b.Helper()
			return must[[]skills.ListedSkill](b)(b.s.ListSkills(b.Context(), b.admin, q))
		}
		if got := list(skills.SkillQuery{}); len(got) != 0 {
			b.Fatalf("without environments: %v", listed(got))
		}
		b.environmentOf("e1", "one", lineshaft.Repository{Owner: "acme", Name: "tools"}, lineshaft.Repository{Owner: "gone", Name: "gone"})
		b.environmentOf("e2", "two", lineshaft.Repository{Owner: "acme", Name: "tools"}, lineshaft.Repository{Owner: "acme", Name: "empty"})
		b.startSkill("x", "acme/tools:review")
		all := list(skills.SkillQuery{})
		want := []string{"Triage acme/tools:.agents/skills/triage/SKILL.md false", "review acme/tools:skills/review/SKILL.md true"}
		if !slices.Equal(listed(all), want) {
			b.Fatalf("listed %v, want %v", listed(all), want)
		}
		if one := all[0]; len(one.Environments) != 2 || one.Description != "About Triage." || one.Body != "Look at $ARGUMENTS." || one.Commit != "commit-5" {
			b.Fatalf("%+v", one)
		}
		if got := listed(list(skills.SkillQuery{ByLastRun: true})); got[0] != want[1] {
			b.Fatalf("by last run: %v", got)
		}
		broken := list(skills.SkillQuery{Malformed: true})
		at := slices.IndexFunc(broken, func(l skills.ListedSkill) bool { return l.Name == "broken" })
		if at < 0 || !strings.Contains(broken[at].Problem, "no front matter") {
			b.Fatalf("with malformed ones: %v", listed(broken))
		}
		// One that is asked for needs no environment.
		if got := listed(list(skills.SkillQuery{Repository: "other/only"})); !slices.Equal(got, []string{"deploy other/only:skills/deploy/SKILL.md false"}) {
			b.Fatalf("of a repository: %v", got)
		}
		f.set(func(f *forge) { f.away = true })
		if got := list(skills.SkillQuery{Refresh: true}); len(got) != 0 {
			b.Fatalf("of a forge that is away: %v", listed(got))
		}
	})
}

// the id of a listed skill finds the runs that were started with its name, and the
// other way round.
func TestR4SkillFilterTakesNamesAndListedIDs(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		b.environmentOf("e1", "one", lineshaft.Repository{Owner: "acme", Name: "tools"})
		byName, byPath := b.startSkill("x", "acme/tools:review"), b.startSkill("y", "acme/tools:skills/review/SKILL.md")
		b.startSkill("z", "acme/tools:triage")
		for _, spec := range []string{"acme/tools:review", "acme/tools:skills/review/SKILL.md"} {
			page := must[lineshaft.RunPage](b)(b.s.ListRuns(b.Context(), b.admin, lineshaft.RunQuery{Filter: lineshaft.RunFilter{SkillSpec: spec}, Limit: 10, Sort: lineshaft.SortCreated}))
			if len(page.Runs) != 2 || page.Runs[0].ID != byPath || page.Runs[1].ID != byName {
				b.Errorf("%s finds %+v", spec, page.Runs)
			}
		}
	})
}

// F-8: an agent names skills that exist. Those it named before are not checked again, and
// a forge that does not answer keeps no agent from being made.
func TestF8AgentsNameSkillsThatAreThere(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		with := func(specs ...string) lineshaft.Agent {
			return lineshaft.Agent{Name: "n" + b.newID(), Config: lineshaft.AgentConfig{Skills: specs}}
		}
		made := b.newAgent(with("acme/tools:triage"))
		_, err := b.s.CreateAgent(b.Context(), b.admin, with("acme/tools:triage", "acme/tools:triag"))
		if public := asPublic(err); public == nil || public.Code != lineshaft.CodeInvalidRequest || public.Field != "config.skills[1]" {
			b.Errorf("unknown skill: %v", err)
		}
		_, err = b.s.UpdateAgent(b.Context(), b.admin, made.UID, factories.AgentChange{Skills: []string{"acme/nothing:x"}})
		wantCode(b, err, lineshaft.CodeInvalidRequest)
		f.set(func(f *forge) { f.away = true })
		must[*lineshaft.Agent](b)(b.s.UpdateAgent(b.Context(), b.admin, made.UID, factories.AgentChange{Skills: []string{"acme/tools:triage", "other/only:deploy"}}))
	})
}

func TestF8ListOfOneRepositorySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, f *forge) {
		viewer := b.caller(lineshaft.RoleViewer)
		for _, c := range []struct {
			caller lineshaft.Caller
			repo   string
			code   lineshaft.Code
		}{
			{b.admin, "nonsense", lineshaft.CodeInvalidRequest},
			{b.admin, "acme/nothing", lineshaft.CodeNotFound},
			{viewer, "acme/tools", lineshaft.CodeNotAuthorized},
		} {
			_, err := b.s.ListSkills(b.Context(), c.caller, skills.SkillQuery{Repository: c.repo})
			wantCode(b, err, c.code)
		}
		b.environmentOf("e1", "one", lineshaft.Repository{Owner: "acme", Name: "tools"})
		must[[]skills.ListedSkill](b)(b.s.ListSkills(b.Context(), viewer, skills.SkillQuery{Repository: "acme/tools"}))
		f.set(func(f *forge) { f.away = true })
		_, err := b.s.ListSkills(b.Context(), b.admin, skills.SkillQuery{Repository: "acme/tools", Refresh: true})
		wantCode(b, err, lineshaft.CodeUnavailable)
	})
}

// A key that is limited to factories sees the repositories of these only.
func TestS3ListOfSkillsKeepsToTheFactoriesOfAKey(t *testing.T) {
	t.Parallel()
	skilled(t, func(b *bench, _ *forge) {
		mine, theirs := b.factoryWith("mine", "acme/tools"), b.factoryWith("theirs", "other/only")
		for _, c := range []struct {
			factories []string
			want      int
		}{{nil, 3}, {[]string{mine}, 2}, {[]string{theirs}, 1}} {
			caller := b.caller(lineshaft.RoleViewer, c.factories...)
			got := must[[]skills.ListedSkill](b)(b.s.ListSkills(b.Context(), caller, skills.SkillQuery{}))
			if len(got) != c.want {
				b.Errorf("a key of %v sees %v", c.factories, listed(got))
			}
		}
	})
}

// factoryWith makes a factory that works on a repository.
func (b *bench) factoryWith(name, repository string) string {
	b.Helper()
	made := b.factory(name, "")
	b.write(func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.LockFactory(ctx, made.UID, b.clock.now())
		if err != nil {
			return err
		}
		r, err := lineshaft.ParseRepository(repository)
		f.Repositories = []lineshaft.Repository{r}
		return errors.Join(err, tx.UpdateFactory(ctx, *f))
	})
	return made.UID
}
