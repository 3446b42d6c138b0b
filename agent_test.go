package lineshaft_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF8AgentValidate(t *testing.T) {
	t.Parallel()
	inside := lineshaft.Agent{FactoryUID: "f", Name: "Reviewer 1.0", Type: lineshaft.AgentReview}
	for name, test := range map[string]struct {
		change func(*lineshaft.Agent)
		field  string
	}{
		"as it is":            {func(*lineshaft.Agent) {}, ""},
		"no name":             {func(a *lineshaft.Agent) { a.Name = "" }, "name"},
		"no file name":        {func(a *lineshaft.Agent) { a.Name = "Prüfer/1" }, "name"},
		"team's name":         {func(a *lineshaft.Agent) { a.FactoryUID, a.Name = "", "Prüfer / 1" }, ""},
		"team's blank name":   {func(a *lineshaft.Agent) { a.FactoryUID, a.Name = "", " \t" }, "name"},
		"team's long name":    {func(a *lineshaft.Agent) { a.FactoryUID, a.Name = "", strings.Repeat("ü", 201) }, "name"},
		"team's name, 200":    {func(a *lineshaft.Agent) { a.FactoryUID, a.Name = "", strings.Repeat("ü", 200) }, ""},
		"team's foreman":      {func(a *lineshaft.Agent) { a.FactoryUID, a.Type = "", lineshaft.AgentForeman }, "agent_type"},
		"no type":             {func(a *lineshaft.Agent) { a.Type = "" }, "agent_type"},
		"another type":        {func(a *lineshaft.Agent) { a.Type = "review" }, "agent_type"},
		"long description":    {func(a *lineshaft.Agent) { a.Description = strings.Repeat("ü", lineshaft.MaxDescriptionRunes+1) }, "description"},
		"most description":    {func(a *lineshaft.Agent) { a.Description = strings.Repeat("ü", lineshaft.MaxDescriptionRunes) }, ""},
		"description, no NUL": {func(a *lineshaft.Agent) { a.Description = "\x00" }, "description"},
		"long prompt":         {func(a *lineshaft.Agent) { a.Prompt = strings.Repeat("x", lineshaft.MaxPromptBytes+1) }, "prompt"},
		"prompt not UTF-8":    {func(a *lineshaft.Agent) { a.Prompt = "\xff" }, "prompt"},
		"configuration":       {func(a *lineshaft.Agent) { a.Config.TimeoutMinutes = new(0) }, "config.timeout_minutes"},
		"built-in model": {func(a *lineshaft.Agent) {
			a.Config.ModelID, a.Config.Harness = "m", &lineshaft.HarnessConfig{Type: "oz"}
		}, ""},
		"model twice": {func(a *lineshaft.Agent) {
			a.Config.ModelID, a.Config.Harness = "m", &lineshaft.HarnessConfig{ModelID: "n"}
		}, "config.model_id"},
		"two models": {func(a *lineshaft.Agent) {
			a.Config.ModelID, a.Config.Harness = "m", &lineshaft.HarnessConfig{Type: "codex"}
		}, "config.model_id"},
		"skills":              {func(a *lineshaft.Agent) { a.Config.Skills = []string{"own", "o/r:s", "o/r:p/SKILL.md"} }, ""},
		"no skill":            {func(a *lineshaft.Agent) { a.Config.Skills = []string{"own", "../x"} }, "config.skills[1]"},
		"skill of no factory": {func(a *lineshaft.Agent) { a.FactoryUID, a.Config.Skills = "", []string{"own"} }, "config.skills[0]"},
		"many skills":         {func(a *lineshaft.Agent) { a.Config.Skills = make([]string, lineshaft.MaxSkills+1) }, "config.skills"},
	} {
		agent := inside
		test.change(&agent)
		err := agent.Validate()
		public, _ := errors.AsType[*lineshaft.Error](err)
		if (err == nil) != (test.field == "") || err != nil && public.Field != test.field {
			t.Errorf("%s: %v, want %q", name, err, test.field)
		}
	}
}
