package worker

import (
	"os"
	"regexp"
	"testing"

	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
)

var guideFile = regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```[a-z]+\n(.*?)\n```\n")

// what the guide has for pushes and for the clock is a sound part of a factory, and
// its runs do something that needs no model.
func TestX14GuideToPrepareAheadOfTime(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/prepared-environments.md")
	if err != nil {
		t.Fatal(err)
	}
	files := definition.Files{
		"factory.yaml":            "schemaVersion: v1alpha1\nname: Shop\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\n\nYou look after the shop.\n",
	}
	for _, found := range guideFile.FindAllStringSubmatch(string(text), -1) {
		files[found[1]] = found[2] + "\n"
	}
	def, problems := definition.Parse(files)
	if len(problems) > 0 || len(files) != 4 || len(def.Automations) != 1 || len(def.Webhooks) != 1 {
		t.Fatalf("%d files have %+v", len(files), problems)
	}
	a := def.Automations[0]
	if a.Config.Harness == nil || a.Config.Harness.Type != "shell" || len(a.Triggers) != 2 || len(shell.Blocks(a.Prompt)) != 1 {
		t.Errorf("the automation is %+v", a)
	}
}
