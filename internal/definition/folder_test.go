package definition

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF2StrangeFiles(t *testing.T) {
	t.Parallel()
	agent := "---\n---\n"
	daily := "---\ntriggers: [{provider: schedule, event: cron_fired, schedule: '@daily'}]\n---\nGo.\n"
	for name, c := range map[string]struct {
		files         Files
		file          string
		message, hint string
	}{
		"agent too deep":    {Files{"agents/a/b/agent.md": agent}, "agents/a/b/agent.md", "is not read here", "did you mean agents/a/agent.md?"},
		"scorer as file":    {Files{"scorers/a.md": agent}, "scorers/a.md", "is not read here", "did you mean scorers/a/scorer.md?"},
		"webhook in folder": {Files{"webhooks/a/b.yaml": "secretName: A"}, "webhooks/a/b.yaml", "is not read here", "did you mean webhooks/a.yaml?"},
		"both forms":        {Files{"automations/a.md": daily, "automations/a/automation.md": daily}, "automations/a/automation.md", "automations/a.md describes the automation a already", "keep one"},
		"bad name":          {Files{"agents/-a/agent.md": agent}, "agents/-a/agent.md", `the name "-a" must begin with`, "rename"},
		"bad webhook":       {Files{"webhooks/a*.yaml": "secretName: A"}, "webhooks/a*.yaml", `the name "a*" must begin with`, "rename"},
		"twice":             {Files{"webhooks/ci.yml": "secretName: A"}, "webhooks/ci.yml", "webhooks/ci.yaml describes the webhook ci already", "keep one"},
		"only case":         {Files{"agents/Boss/agent.md": agent}, "agents/boss/agent.md", "agents/Boss/agent.md differs from it only in", "rename"},
		"dots":              {Files{"../x.md": ""}, "../x.md", "not a path inside", "relative"},
		"absolute":          {Files{"/x.md": ""}, "/x.md", "not a path inside", "relative"},
		"backslash":         {Files{`agents\a\agent.md`: ""}, `agents\a\agent.md`, "not a path inside", "relative"},
		"drive":             {Files{"c:x.md": ""}, "c:x.md", "not a path inside", "relative"},
		"large":             {Files{"README.md": strings.Repeat("x", MaxFileBytes+1)}, "README.md", "the file has 1310721 bytes", "at most"},
		"large skill":       {Files{"skills/a/SKILL.md": strings.Repeat("x", lineshaft.MaxSkillBytes+1)}, "skills/a/SKILL.md", "the skill has", "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := sound()
			maps.Copy(files, c.files)
			_, problems := Parse(files)
			if len(problems) != 1 || problems[0].File != c.file || problems[0].Line != 0 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("told %+v", problems)
			}
		})
	}
}

// Files that have nothing to do with a factory are let be; one that looks as if it should
// be read is talked about.
func TestF2UnrelatedFiles(t *testing.T) {
	t.Parallel()
	for name, hint := range map[string]string{
		"agent/a/agent.md":        "did you mean the folder agents?",
		"factory.yml":             "did you mean factory.yaml?",
		"agents/a.md":             "did you mean agents/a/agent.md?",
		"agents/a/AGENT.md":       "did you mean agents/a/agent.md?",
		"agents/a/agent.yaml":     "did you mean agents/a/agent.md?",
		"skills/a/skill.md":       "did you mean skills/a/SKILL.md?",
		"webhooks/ci.json":        "did you mean webhooks/ci.yaml?",
		"benchmarks/a.yaml":       "did you mean benchmarks/a/suite.yaml?",
		"src/main.go":             "",
		"docs/agents.md":          "",
		"scripts/check.py":        "",
		"skills/README.md":        "",
		"automations/README.md":   "",
		"agents/notes.txt":        "",
		"agents/boss/diagram.svg": "",
		"package.json":            "",
	} {
		files := sound()
		files[name] = "anything: ["
		def, problems := Parse(files)
		if len(problems) > 0 || !slices.Equal(def.Unused, []string{name}) {
			t.Errorf("%s: %+v, unused are %v", name, problems, def.Unused)
		}
		if noticed := len(def.Notices) == 1 && def.Notices[0].File == name && strings.Contains(def.Notices[0].Hint, hint); noticed != (hint != "") {
			t.Errorf("%s: %+v", name, def.Notices)
		}
		if again := Render(def, files); !maps.Equal(again, files) {
			t.Errorf("%s: rendered as %v", name, sortedPaths(again))
		}
	}
}

func TestF2FoldersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	large, many := sound(), sound()
	for i := range 17 {
		large["benchmarks/"+strings.Repeat("x", i+1)] = strings.Repeat("x", MaxFileBytes)
	}
	for i := range MaxFiles {
		many["benchmarks/"+strings.Repeat("x", i+1)] = ""
	}
	keys := sound()
	for i := range 25 {
		keys["runners/r"+strings.Repeat("x", i)+".yaml"] = "x:\n" + strings.Repeat("  a: 1\n", maxKeys-1)
	}
	unknown := sound()
	unknown["runners/r.yaml"] = strings.Repeat("a: 1\n", maxKeys)
	yaml := sound()
	for i := range 17 {
		yaml["runners/r"+strings.Repeat("x", i)+".yaml"] = "description: " + strings.Repeat("x", maxYAML-13)
	}
	one := sound()
	one["runners/r.yaml"] = "image: " + strings.Repeat("x", maxYAML)
	for text, files := range map[string]Files{"there is too much YAML: 262144 bytes here, 4194": yaml, "there is too much YAML: 262151 bytes here": one, "there are 3000 more problems": unknown, "the folder has 21 files": large, "the folder has 2004 files": many, "more keys and values in the folder than can be read": keys} {
		_, problems := Parse(files)
		if !slices.ContainsFunc(problems, func(p lineshaft.FileProblem) bool { return strings.Contains(p.Message, text) }) {
			t.Errorf("%s: told %d problems, %+v", text, len(problems), problems[:min(3, len(problems))])
		}
	}
}

func TestF2UnusedFiles(t *testing.T) {
	t.Parallel()
	files := sound()
	for _, name := range []string{
		"README.md", "LICENSE", "CHANGELOG.md", ".gitignore", ".github/workflows/ci.yaml", "benchmarks/a/b.md", "scorers/s.py",
		"skills/review/helper.py", "skills/review/deep/er.md", "agents/boss/skills/x/notes.txt", "agents/boss/.agent.md.swp",
	} {
		files[name] = "anything: ["
	}
	def, problems := Parse(files)
	if len(problems) > 0 || len(def.Unused) != 11 || !slices.IsSorted(def.Unused) {
		t.Errorf("%+v\nunused are %v", problems, def.Unused)
	}
	if again := Render(def, files); !maps.Equal(again, files) {
		t.Errorf("rendered as %v", sortedPaths(again))
	}
}

func TestF2Foreman(t *testing.T) {
	t.Parallel()
	files := sound()
	files["agents/boss/agent.md"] = "---\n---\n"
	_, problems := Parse(files)
	agree(t, problems, []lineshaft.FileProblem{{File: factoryFile, Line: 1, Column: 1, Message: "the factory has no foreman"}})
	// An agent that could not be read may be the one.
	files["agents/boss/agent.md"] = "agentType: FOREMAN\n"
	_, problems = Parse(files)
	agree(t, problems, []lineshaft.FileProblem{{File: "agents/boss/agent.md", Line: 1, Column: 1, Message: "no front matter"}})
	_, problems = Parse(Files{})
	agree(t, problems, []lineshaft.FileProblem{{File: factoryFile, Message: "the folder has no factory.yaml"}, {File: factoryFile, Line: 1, Column: 1, Message: "no foreman"}})
}

// Files that say the same stay as they are; others are written again.
func TestF5RenderKeepsBytes(t *testing.T) {
	t.Parallel()
	keep := sound()
	keep["factory.yaml"] = "# my comment\nname:   'acme'\r\nschemaVersion: \"v1alpha1\"\r\n"
	keep["webhooks/ci.yml"] = "secretName: CI_SECRET # kept\nenabled: true\n"
	delete(keep, "webhooks/ci.yaml")
	keep["agents/boss/agent.md"] = "---\nagentType: MAIN\n---\n\n\nWork.\n\n\n"
	def, problems := Parse(keep)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := Render(def, keep); !maps.Equal(got, keep) {
		t.Errorf("rendered\n%s\nof\n%s", printed(got), printed(keep))
	}
	changed := *def
	changed.Agents = slices.Clone(def.Agents)
	changed.Agents[0].Prompt = "Work harder."
	changed.Webhooks = slices.Clone(def.Webhooks)
	changed.Webhooks[0].Enabled = false
	want := maps.Clone(keep)
	want["agents/boss/agent.md"] = "---\nagentType: FOREMAN\n---\n\nWork harder.\n"
	delete(want, "webhooks/ci.yml")
	want["webhooks/ci.yaml"] = "secretName: CI_SECRET\nenabled: false\n"
	if got := Render(&changed, keep); !maps.Equal(got, want) {
		t.Errorf("rendered\n%s\nwant\n%s", printed(got), printed(want))
	}
	// A file with a mistake is not kept, even if it says the same.
	keep["webhooks/ci.yml"] += "colour: red\n"
	if got := Render(def, keep); got["webhooks/ci.yaml"] != "secretName: CI_SECRET\n" || got["webhooks/ci.yml"] != "" {
		t.Errorf("rendered\n%s", printed(got))
	}
	// Without a part its file is gone.
	changed.Webhooks = nil
	if got := Render(&changed, sound()); got["webhooks/ci.yaml"] != "" {
		t.Errorf("rendered\n%s", printed(got))
	}
}
