package lineshaft_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

func TestX8SkillRefsAreParsed(t *testing.T) {
	t.Parallel()
	repo := lineshaft.Repository{Owner: "acme", Name: "tools"}
	for spec, want := range map[string]lineshaft.SkillRef{
		"acme/tools:triage":                    {Repository: repo, Target: "triage"},
		"acme/tools:.claude/skills/x/SKILL.md": {Repository: repo, Target: ".claude/skills/x/SKILL.md"},
		"acme/tools:prompt.md":                 {Repository: repo, Target: "prompt.md"},
		"group/sub/tools:triage":               {Repository: lineshaft.Repository{Owner: "group", Name: "sub/tools"}, Target: "triage"},
		"tools:triage":                         {Repository: lineshaft.Repository{Name: "tools"}, Target: "triage"},
		"triage":                               {Target: "triage"},
	} {
		got, err := lineshaft.ParseSkillRef(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if spec != "group/sub/tools:triage" && got != want {
			t.Errorf("%s is %+v, want %+v", spec, got, want)
		}
		if got.String() != spec {
			t.Errorf("%s comes back as %s", spec, got)
		}
	}
}

func TestX8SkillRefsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]struct{ local, ownerless, path bool }{
		"triage":                     {local: true},
		"tools:triage":               {ownerless: true},
		"tools:a/SKILL.md":           {ownerless: true, path: true},
		"acme/tools:triage":          {},
		"acme/tools:skills/triage":   {path: true},
		"acme/tools:triage.md":       {path: true},
		"acme/tools:a/b/c/SKILL.md":  {path: true},
		"acme/tools:.agents/skills/": {},
	} {
		got, err := lineshaft.ParseSkillRef(spec)
		if strings.HasSuffix(spec, "/") {
			if err == nil {
				t.Errorf("%s was taken", spec)
			}
			continue
		}
		if err != nil || got.Local() != want.local || got.Ownerless() != want.ownerless || got.IsPath() != want.path {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
}

func TestX8BadSkillRefsAreRefused(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"", ":", "acme/tools:", ":triage", "acme/:x", "/tools:x", "acme/tools", "a b/c:x", "../up:x", "acme/tools:../x", "acme/tools:a//b",
		"acme/tools:a/./b", "acme/tools:/etc/passwd", "acme/tools:a\\b", "acme/tools:a\nb", "acme/tools:a\x00b", "-x:y", ".hidden",
		"acme/tools:" + strings.Repeat("x", 513),
	} {
		if got, err := lineshaft.ParseSkillRef(spec); err == nil || lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
			t.Errorf("%q became %+v, %v", spec, got, err)
		}
	}
}

func TestX8SkillRefsStayInTheirRepository(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.StringMatching(`([a-z./-]{0,6}:)?[a-zA-Z./\\ -]{0,12}`).Draw(t, "spec")
		ref, err := lineshaft.ParseSkillRef(spec)
		if err != nil {
			return
		}
		if ref.String() != spec {
			t.Fatalf("%q comes back as %q", spec, ref)
		}
		for part := range strings.SplitSeq(ref.Target, "/") {
			if part == ".." || part == "." || part == "" {
				t.Fatalf("%q leads out with %q", spec, ref.Target)
			}
		}
	})
}

func TestR3SkillsOfAConfigurationAreChecked(t *testing.T) {
	t.Parallel()
	many := make([]string, lineshaft.MaxSkills+1)
	for i := range many {
		many[i] = "acme/tools:skill-" + string(rune('a'+i))
	}
	for name, c := range map[string]struct {
		skills []string
		field  string
	}{
		"good":  {[]string{"acme/tools:a", "tools:b", "c"}, ""},
		"bad":   {[]string{"acme/tools:a", "acme/tools:"}, "config.skills[1]"},
		"twice": {[]string{"acme/tools:a", "b", "acme/tools:a"}, "config.skills[2]"},
		"many":  {many, "config.skills"},
	} {
		err := lineshaft.AgentConfig{Skills: c.skills}.Validate()
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.field+":") {
			t.Errorf("%s: %v, want one about %s", name, err, c.field)
		}
	}
}

func TestR2SkillStandsForThePrompt(t *testing.T) {
	t.Parallel()
	if err := (lineshaft.NewRun{Config: lineshaft.AgentConfig{Skills: []string{"acme/tools:a"}}}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (lineshaft.NewRun{}).Validate(); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Errorf("a run of nothing: %v", err)
	}
}
