package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// readFile reads one file by its place in the folder.
func (p *parsing) readFile(name, text string) {
	if !p.checkFile(name, text) {
		return
	}
	parts := strings.Split(name, "/")
	switch {
	case name == factoryFile:
		p.readFactory(text)
	case unused(parts):
		p.def.Unused = append(p.def.Unused, name)
	case len(parts) == 3 && parts[0] == "agents" && parts[2] == agentFile:
		if p.checkName(name, parts[1]) {
			p.readAgent(name, parts[1], text)
		}
	case len(parts) == 3 && parts[0] == "automations" && parts[2] == automationFile:
		if p.checkName(name, parts[1]) {
			p.readAutomation(name, parts[1], text)
		}
	case len(parts) == 2 && parts[0] == "webhooks" && yamlName(parts[1]) != "":
		if hook := yamlName(parts[1]); p.checkName(name, hook) && p.checkTwice(name, KindWebhook, hook) {
			p.readWebhook(name, hook, text)
		}
	case len(parts) == 2 && parts[0] == "runners" && yamlName(parts[1]) != "":
		if runner := yamlName(parts[1]); p.checkName(name, runner) && p.checkTwice(name, KindRunner, runner) {
			p.readRunner(name, runner, text)
		}
	case len(parts) == 3 && parts[0] == "skills" && parts[2] == skillFile:
		if p.checkName(name, parts[1]) {
			p.readSkill(name, "", parts[1], text)
		}
	case len(parts) == 5 && parts[0] == "agents" && parts[2] == "skills" && parts[4] == skillFile:
		if p.checkName(name, parts[1]) && p.checkName(name, parts[3]) {
			p.readSkill(name, parts[1], parts[3], text)
		}
	default:
		p.unknownFile(name, parts)
	}
}

// yamlName is the name of a part in the name of its file; empty when it is none.
func yamlName(file string) string {
	if name, ok := strings.CutSuffix(file, ".yaml"); ok {
		return name
	}
	name, ok := strings.CutSuffix(file, ".yml")
	if !ok {
		return ""
	}
	return name
}

// unused says whether a file is accepted and not used.
func unused(parts []string) bool {
	if slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".") }) {
		return true
	}
	last := parts[len(parts)-1]
	switch {
	case len(parts) == 1:
		return strings.HasSuffix(last, ".md") || strings.HasPrefix(last, "LICENSE") || strings.HasPrefix(last, "README")
	case parts[0] == "benchmarks" || parts[0] == "scorers":
		return true
	case parts[0] == "skills":
		return len(parts) > 3 || len(parts) == 3 && !strings.EqualFold(last, skillFile)
	case parts[0] == "agents" && len(parts) > 2 && parts[2] == "skills":
		return len(parts) > 5 || len(parts) == 5 && !strings.EqualFold(last, skillFile)
	}
	return false
}

func (p *parsing) checkName(file, name string) bool {
	if err := lineshaft.CheckPartName("", name); err != nil {
		message, _ := advice(err)
		p.file(file, fmt.Sprintf("the name %q %s", short(name, 60), message), "rename the file or folder")
		return false
	}
	return true
}

// checkTwice finds x.yaml beside x.yml.
func (p *parsing) checkTwice(file string, kind Kind, name string) bool {
	if other, twice := p.places[placeKey(kind, name, "")]; twice {
		p.file(file, fmt.Sprintf("%s describes the %s %s already", other.file, kind, name), "keep one of the two")
		return false
	}
	return true
}

// unknownFile reports a file that has no place, and where it probably belongs.
func (p *parsing) unknownFile(name string, parts []string) {
	folders := []string{"agents", "automations", "webhooks", "runners", "skills", "benchmarks", "scorers"}
	last := parts[len(parts)-1]
	hint := "a factory's folder has factory.yaml, agents/NAME/agent.md, automations/NAME/automation.md, webhooks/NAME.yaml, runners/NAME.yaml and skills/NAME/SKILL.md"
	known := slices.Contains(folders, parts[0])
	stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(last, ".md"), ".yml"), ".yaml")
	if len(parts) > 2 {
		stem = parts[1]
	}
	switch near := nearest.Word(parts[0], folders); {
	case len(parts) == 1 && nearest.Word(name, []string{factoryFile}) != "":
		hint = "did you mean " + factoryFile + "?"
	case known:
		kind := Kind(strings.TrimSuffix(parts[0], "s"))
		hint = fmt.Sprintf("did you mean %s?", partFile(kind, stem))
	case len(parts) > 1 && near != "":
		hint = fmt.Sprintf("did you mean the folder %s? %s", near, hint)
	}
	p.file(name, "no file of that name is known here", hint)
}
