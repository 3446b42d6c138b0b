package definition

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// document is what a path of the folder says about its file.
type document struct {
	// kind is empty for a file that is not read.
	kind Kind
	// name is that of the part, and owner the agent of a skill or the suite of a task.
	name, owner string
}

// The documents that are checked and kept, and have no effect here.
const (
	scorerDocument = "scorer"
	suiteDocument  = "benchmark_suite"
	taskDocument   = "benchmark_suite_task"
)

// classify says what a file is by its place in the folder.
func classify(parts []string) document {
	last := parts[len(parts)-1]
	if slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".") }) {
		return document{}
	}
	switch {
	case len(parts) == 1 && last == factoryFile:
		return document{kind: KindFactory}
	case len(parts) == 2 && parts[0] == "automations" && strings.HasSuffix(last, ".md") && !isReadme(last):
		return document{kind: KindAutomation, name: strings.TrimSuffix(last, ".md")}
	case len(parts) == 2 && parts[0] == "webhooks" && yamlName(last) != "":
		return document{kind: KindWebhook, name: yamlName(last)}
	case len(parts) == 2 && parts[0] == "runners" && yamlName(last) != "":
		return document{kind: KindRunner, name: yamlName(last)}
	case len(parts) == 4 && parts[0] == "benchmarks" && parts[2] == "tasks" && yamlName(last) != "":
		return document{kind: taskDocument, owner: parts[1], name: yamlName(last)}
	case len(parts) == 5 && parts[0] == "agents" && parts[2] == "skills" && last == skillFile:
		return document{kind: KindSkill, owner: parts[1], name: parts[3]}
	case len(parts) == 3:
		return document{kind: nestedKinds()[parts[0]+"/"+last], name: parts[1]}
	}
	return document{}
}

func nestedKinds() map[string]Kind {
	return map[string]Kind{
		"agents/" + agentFile: KindAgent, "automations/" + automationFile: KindAutomation, "skills/" + skillFile: KindSkill,
		"scorers/" + scorerFile: scorerDocument, "benchmarks/" + suiteFile: suiteDocument,
	}
}

func isReadme(file string) bool { return strings.HasPrefix(strings.ToUpper(file), "README") }

// readFile reads one file by its place in the folder.
func (p *parsing) readFile(name, text string) {
	if !p.checkFile(name, text) {
		return
	}
	parts := strings.Split(name, "/")
	doc := classify(parts)
	if doc.kind == "" {
		p.otherFile(name, parts)
		return
	}
	if doc.kind != KindFactory && !p.checkName(name, doc.name) || doc.owner != "" && !p.checkName(name, doc.owner) {
		return
	}
	switch doc.kind {
	case KindFactory:
		p.readFactory(text)
	case KindAgent:
		p.readAgent(name, doc.name, text)
	case KindAutomation:
		if p.checkTwice(name, doc.kind, doc.name) {
			p.readAutomation(name, doc.name, text)
		}
	case KindWebhook:
		if p.checkTwice(name, doc.kind, doc.name) {
			p.readWebhook(name, doc.name, text)
		}
	case KindRunner:
		if p.checkTwice(name, doc.kind, doc.name) {
			p.readRunner(name, doc.name, text)
		}
	case KindSkill:
		p.readSkill(name, doc.owner, doc.name, text)
	default:
		p.readEvaluation(name, doc, text)
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
func unused(parts []string) bool { return classify(parts).kind == "" && !misplaced(parts) }

func (p *parsing) checkName(file, name string) bool {
	if err := lineshaft.CheckPartName("", name); err != nil {
		message, _ := advice(err)
		p.file(file, fmt.Sprintf("the name %q %s", lineshaft.Clip(name, 60), message), "rename the file or folder").as(CodeUnsupportedPath)
		return false
	}
	return true
}

// checkTwice finds x.yaml next to x.yml.
func (p *parsing) checkTwice(file string, kind Kind, name string) bool {
	if other, twice := p.places[placeKey(kind, name, "")]; twice {
		p.file(file, fmt.Sprintf("%s describes the %s %s already", other.file, kind, name), "keep one of the two").as(CodeDuplicatePath)
		return false
	}
	return true
}

func folders() []string {
	return []string{"agents", "automations", "webhooks", "runners", "skills", "benchmarks", "scorers"}
}

// misplaced says that a file has the name of a document at a depth where none is read.
func misplaced(parts []string) bool {
	last := parts[len(parts)-1]
	if len(parts) < 2 || slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, ".") }) || len(parts) > 3 && parts[0] == "agents" && parts[2] == "skills" {
		return false
	}
	switch parts[0] {
	case "runners", "webhooks":
		return yamlName(last) != ""
	case "scorers":
		return last == scorerFile || len(parts) == 2 && strings.HasSuffix(last, ".md") && !isReadme(last)
	}
	return parts[0] != "skills" && nestedKinds()[parts[0]+"/"+last] != ""
}

// otherFile handles a file that is not read: as published it is ignored, but a file that
// looks as if it should be read gets a notice.
func (p *parsing) otherFile(name string, parts []string) {
	if misplaced(parts) {
		p.add(lineshaft.FileProblem{File: name, Code: CodeUnsupportedPath, Message: "a file of that name is not read here", Hint: suggest(parts)})
		return
	}
	p.def.Unused = append(p.def.Unused, name)
	if looksMisplaced(parts) {
		p.notice(name, lineshaft.FileProblem{File: name, Message: "is not used: no file of that name is known here", Hint: suggest(parts)})
	}
}

// looksMisplaced says that a file may have been meant to be read.
func looksMisplaced(parts []string) bool {
	first, last := parts[0], parts[len(parts)-1]
	stem, ending := cutEnding(last)
	switch {
	case strings.HasPrefix(first, ".") || strings.HasPrefix(last, ".") || isReadme(last):
		return false
	case len(parts) == 1:
		return ending != ".md" && nearest.Word(last, []string{factoryFile}) != ""
	case !slices.Contains(folders(), first):
		return nearest.Word(first, folders()) != ""
	case len(parts) == 2:
		return slices.Contains([]string{".md", ".yaml", ".yml", ".json", ".toml"}, ending)
	}
	for document := range nestedKinds() {
		folder, file, _ := strings.Cut(document, "/")
		own, _ := cutEnding(file)
		if folder == first && lineshaft.SameFolded(stem, own) {
			return true
		}
	}
	return false
}

func cutEnding(file string) (stem, ending string) {
	ending = path.Ext(file)
	return strings.TrimSuffix(file, ending), ending
}

// suggest says where a file probably belongs.
func suggest(parts []string) string {
	all := "a factory's folder has factory.yaml, agents/NAME/agent.md, automations/NAME/automation.md, webhooks/NAME.yaml, runners/NAME.yaml and skills/NAME/SKILL.md"
	stem, _ := cutEnding(parts[len(parts)-1])
	if len(parts) > 2 {
		stem = parts[1]
	}
	switch near := nearest.Word(parts[0], folders()); {
	case len(parts) == 1:
		return "did you mean " + factoryFile + "?"
	case slices.Contains(folders(), parts[0]):
		return fmt.Sprintf("did you mean %s?", strings.ReplaceAll(places()[parts[0]], "NAME", stem))
	case near != "":
		return fmt.Sprintf("did you mean the folder %s? %s", near, all)
	}
	return all
}

func places() map[string]string {
	return map[string]string{
		"agents": "agents/NAME/" + agentFile, "automations": "automations/NAME/" + automationFile, "webhooks": "webhooks/NAME.yaml", "runners": "runners/NAME.yaml",
		"skills": "skills/NAME/" + skillFile, "scorers": "scorers/NAME/" + scorerFile, "benchmarks": "benchmarks/NAME/" + suiteFile,
	}
}
