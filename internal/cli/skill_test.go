package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const skillsAnswer = `{"agents":[{"name":"triage","variants":[{"id":"acme/tools:.agents/skills/triage/SKILL.md","description":"Sorts issues.\nSlowly.","base_prompt":"Read $0.",` +
	`"source":{"owner":"acme","name":"tools","skill_path":".agents/skills/triage/SKILL.md","commit":"abc"},"environments":[],"last_run_timestamp":"2026-01-02T03:59:30Z"}]},` +
	`{"name":"broken","variants":[{"id":"acme/tools:skills/broken/SKILL.md","description":"","base_prompt":"","source":{"owner":"acme","name":"tools","skill_path":"skills/broken/SKILL.md"},` +
	`"environments":[],"last_run_timestamp":null,"error":"line 1: has no front matter"}]}]}`

func TestF8SkillListAsksForWhatIsWanted(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"skill list": "",
		"skills list --repo acme/tools --refresh":    "refresh=true&repo=acme%2Ftools",
		"skill list --all --sort last_run -o ndjson": "include_malformed_skills=true&sort_by=last_run",
	} {
		s := newStage(t)
		s.answer("GET /api/v1/agent", 200, skillsAnswer)
		if r := s.run(t.Context(), strings.Fields(line)...); r.code != shell.ExitOK || s.requests()[0].query != want {
			t.Errorf("%s: %+v asked with %q", line, r, s.requests()[0].query)
		}
	}
	s := newStage(t)
	s.mux.HandleFunc("GET /api/v1/agent", problem(404, "resource_not_found", "no repository acme/nothing at the forge"))
	if r := s.run(t.Context(), "skill", "list", "--repo", "acme/nothing"); r.code != shell.ExitNotFound || !strings.Contains(r.err, "no repository") {
		t.Errorf("%+v", r)
	}
	if r := newStage(t).run(t.Context(), "skill", "lst"); r.code != shell.ExitUsage || !strings.Contains(r.err, "Did you mean `lineshaft skill list`?") {
		t.Errorf("%+v", r)
	}
}

func TestR2RunWithASkillNeedsNoPrompt(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "--skill", "acme/tools:triage"}, {"run", "--skill", "acme/tools:triage", "issue 7"}} {
		s := newStage(t).library()
		if r := s.run(t.Context(), args...); r.code != shell.ExitOK {
			t.Fatalf("%v: %+v", args, r)
		}
		var got client.RunRequest
		if err := json.Unmarshal([]byte(s.requests()[0].body), &got); err != nil || got.Skill != "acme/tools:triage" || (got.Prompt != "") != (len(args) == 4) {
			t.Errorf("%v sends %s, %v", args, s.requests()[0].body, err)
		}
	}
}
