package client

import "testing"

func TestF8SkillCalls(t *testing.T) {
	t.Parallel()
	c, s := scripted(
		t, answer(200, `{"agents":[{"name":"triage","variants":[{"id":"acme/tools:skills/triage/SKILL.md","description":"d","base_prompt":"b",`+
			`"source":{"owner":"acme","name":"tools","skill_path":"skills/triage/SKILL.md","commit":"c"},"environments":[{"uid":"e","name":"n"}],`+
			`"last_run_timestamp":"2026-08-01T09:30:00Z"},{"id":"x","last_run_timestamp":null,"error":"broken"}]}]}`),
		answer(200, `{"agents":[]}`), answer(404, `{"code":"resource_not_found","detail":"no repository"}`),
	)
	list, err := c.Skills.List(t.Context(), SkillQuery{Repository: "acme/tools", Refresh: true, SortBy: "last_run", Malformed: true})
	if err != nil || len(list) != 1 || len(list[0].Variants) != 2 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if first := list[0].Variants[0]; first.LastRunAt == nil || first.Source.Commit != "c" || first.Environments[0].Name != "n" || first.BasePrompt != "b" {
		t.Errorf("the first is %+v", first)
	}
	if second := list[0].Variants[1]; second.LastRunAt != nil || second.Error != "broken" {
		t.Errorf("the second is %+v", second)
	}
	if list, err := c.Skills.List(t.Context(), SkillQuery{}); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if _, err := c.Skills.List(t.Context(), SkillQuery{}); err == nil {
		t.Error("a refusal is no error")
	}
	requests := s.requests()
	if got := requests[0].path + "?" + requests[0].query; got != "/api/v1/agent?include_malformed_skills=true&refresh=true&repo=acme%2Ftools&sort_by=last_run" {
		t.Errorf("asked for %s", got)
	}
	if requests[1].query != "" {
		t.Errorf("asked with %s", requests[1].query)
	}
}
