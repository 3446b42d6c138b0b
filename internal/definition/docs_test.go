package definition

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/definition-files.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var documented = regexp.MustCompile("(?s)\n`([^`\n]+)`:\n\n```[a-z]+\n(.*?)\n```\n")

// The examples of the reference are one folder, and a sound one.
func TestF2DocumentedExamples(t *testing.T) {
	t.Parallel()
	files := Files{}
	for _, found := range documented.FindAllStringSubmatch(reference(t), -1) {
		files[found[1]] = found[2] + "\n"
	}
	def, problems := Parse(files)
	if len(problems) > 0 || len(files) < 9 || len(def.Automations) != 2 || len(def.Skills) != 1 {
		t.Errorf("%d files have %+v", len(files), problems)
	}
}

// The reference names every key.
func TestF2DocumentedKeys(t *testing.T) {
	t.Parallel()
	text := reference(t)
	var version, name string
	for _, keys := range [][]key{
		factoryKeys(&version, &lineshaft.Factory{}), agentKeys(&lineshaft.Agent{}), automationKeys(&lineshaft.Automation{}), webhookKeys(&lineshaft.Webhook{}),
		hmacKeys(&lineshaft.WebhookHMAC{}), runnerKeys(&lineshaft.RunnerConfig{}), shapeKeys(&lineshaft.InstanceShape{}), skillKeys(&lineshaft.Skill{}, &name),
		triggerKeys(&lineshaft.Trigger{}), filterKeys(&lineshaft.TriggerFilter{})[:3], serverKeys(&lineshaft.MCPServer{}), budgetKeys(&lineshaft.Budget{}), concurrencyKeys(&lineshaft.Concurrency{}),
	} {
		for _, k := range keys {
			if !strings.Contains(text, "`"+k.name+"`") {
				t.Errorf("docs/definition-files.md does not name %s", k.name)
			}
		}
	}
}
