package worker

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// The skills of the factory are where agents look for them.
func TestX8DefinitionSkillsAreInTheWorkspace(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", script(`cat .agents/skills/triage/SKILL.md`, `ls .agents/skills`))
		j.Prepare.Skills = []lineshaft.Skill{
			{Name: "triage", Description: "Sorts: all.", Body: "Read it."}, {Name: "review", Description: "d", Body: "b"},
		}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Fatalf("ended %+v", result)
		}
		_, printed := c.text("a")
		for _, want := range []string{`name: "triage"`, "Sorts: all.", "---\n\nRead it.\n", "review\n"} {
			if !strings.Contains(printed, want) {
				t.Errorf("%q is not in %q", want, printed)
			}
		}
	})
}

// A name that cannot be a folder is reported, and the agent works nonetheless.
func TestX8SkillThatCannotBePlaced(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", script("echo works"))
		j.Prepare.Skills = []lineshaft.Skill{{Name: strings.Repeat("n", 300), Description: "d"}}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Fatalf("ended %+v", result)
		}
		if all, _ := c.text("a"); !strings.Contains(all, "could not be put into the workspace") {
			t.Errorf("nothing is said in %s", all)
		}
	})
}

// What a run was asked to do with a skill is what the agent does.
func TestX7SkillIsExecuted(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", "two words")
		j.Skills = []lineshaft.Skill{{Name: "say", Body: "```sh\necho \"$1 then $0\"\n```"}}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			t.Fatalf("ended %+v", result)
		}
		if _, printed := c.text("a"); printed != "words then two\n" {
			t.Errorf("printed %q", printed)
		}
	})
}
