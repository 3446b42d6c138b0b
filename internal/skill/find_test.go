package skill_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/skill"
)

func text(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nbody of " + name }

func ref(t *testing.T, spec string) lineshaft.SkillRef {
	t.Helper()
	r, err := lineshaft.ParseSkillRef(spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tree() skill.Tree {
	return skill.Tree{Files: map[string]string{
		".agents/skills/review/SKILL.md": text("review"),
		".claude/skills/review/SKILL.md": text("claude-review"),
		".claude/skills/triage/SKILL.md": text("Triage things"),
		"skills/deploy/SKILL.md":         text("deploy"),
		"skills/broken/SKILL.md":         "no front matter",
		"docs/deep/SKILL.md":             text("deep"),
		"docs/prompt.md":                 text("prompt"),
	}, TooLarge: []string{"skills/huge/SKILL.md"}}
}

func TestX8SkillsAreFound(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]struct{ name, path string }{
		"acme/tools:review":                         {"review", ".agents/skills/review/SKILL.md"},
		"acme/tools:triage":                         {"Triage things", ".claude/skills/triage/SKILL.md"},
		"acme/tools:deploy":                         {"deploy", "skills/deploy/SKILL.md"},
		"acme/tools:.claude/skills/review/SKILL.md": {"claude-review", ".claude/skills/review/SKILL.md"},
		"acme/tools:.claude/skills/review":          {"claude-review", ".claude/skills/review/SKILL.md"},
		"acme/tools:docs/deep/SKILL.md":             {"deep", "docs/deep/SKILL.md"},
		"acme/tools:docs/prompt.md":                 {"prompt", "docs/prompt.md"},
	} {
		got, err := skill.Find(tree(), ref(t, spec))
		if err != nil || got.Name != want.name || got.Path != want.path || got.Spec != spec {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
}

func TestX8FoldersAreSearchedInOrder(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, dir := range slices.Backward(lineshaft.SkillDirs()) {
		path := dir + "/x/SKILL.md"
		files[path] = text("x")
		if got, err := skill.Find(skill.Tree{Files: files}, ref(t, "acme/tools:x")); err != nil || got.Path != path {
			t.Errorf("with %s found %s, %v", path, got.Path, err)
		}
	}
}

func TestX8MissingSkillsListTheNearest(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 9 {
		many[fmt.Sprintf("skills/skill-%d/SKILL.md", i)] = text("s")
	}
	many["skills/triage/SKILL.md"] = text("t")
	for name, c := range map[string]struct {
		tree skill.Tree
		spec string
		want string
	}{
		"few":  {tree(), "acme/tools:reviev", `repository acme/tools has no skill "reviev"; it has review, deploy, triage`},
		"path": {tree(), "acme/tools:skills/deplo/SKILL.md", "it has skills/deploy/SKILL.md, "},
		"many": {skill.Tree{Files: many}, "acme/tools:triag", "the nearest of its 10 are triage, "},
		"none": {skill.Tree{}, "acme/tools:x", "it has none at all"},
		// Only what is in the usual folders has a name.
		"elsewhere": {tree(), "acme/tools:deep", `has no skill "deep"`},
	} {
		_, err := skill.Find(c.tree, ref(t, c.spec))
		if lineshaft.CodeOf(err) != lineshaft.CodeNotFound || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestX8MalformedSkillsAreNotUsed(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{"acme/tools:broken": "no front matter", "acme/tools:huge": "more than 262144 bytes"} {
		_, err := skill.Find(tree(), ref(t, spec))
		if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestF8SkillsAreListed(t *testing.T) {
	t.Parallel()
	var got []string
	for _, f := range skill.List(tree()) {
		got = append(got, fmt.Sprintf("%s %s %t %t", f.Folder, f.Path, f.First, f.Err == nil))
	}
	want := []string{
		"broken skills/broken/SKILL.md true false", "deploy skills/deploy/SKILL.md true true", "huge skills/huge/SKILL.md true false",
		"review .agents/skills/review/SKILL.md true true", "review .claude/skills/review/SKILL.md false true", "triage .claude/skills/triage/SKILL.md true true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
