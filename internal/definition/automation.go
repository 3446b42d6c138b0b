package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

// automationKeys are those of automation.md.
func automationKeys(a *lineshaft.Automation) []key {
	return append([]key{
		{name: "enabled", doc: "Whether it starts runs; true by default.", value: toggle(&a.Enabled, true)},
		{name: "agent", doc: "The agent that its runs go to; the foreman by default.", value: text(&a.Agent, textRules{filled: true})},
		{
			name: "triggers", doc: "What starts it.", required: true,
			value: filledList(triggers(&a.Triggers), "an automation needs at least one"),
		},
		{
			name: "title", doc: "What its runs are called, in up to 200 characters; may hold {{payload.path}}. By default the words of the provider that sends, or the name.",
			value: text(&a.Title, textRules{most: lineshaft.MaxTitleRunes}),
		},
		{name: "maxRunsPerHour", doc: "0 means no limit.", value: whole(&a.MaxRunsPerHour, 0, lineshaft.MaxRunsPerHourCap, 0)},
		{name: "prompt", doc: "The prompt, if it cannot be below the front matter because it begins or ends with blank space.", value: text(&a.Prompt, textRules{})},
	}, configKeys(&a.Config)...)
}

// filledList refuses an empty list.
func filledList(list value, message string) value {
	read, described := list.read, list.schema
	list.schema = func() schema {
		s := described()
		s["minItems"] = 1
		return s
	}
	list.read = func(r *reader, path string, n *node) {
		if n.kind == listNode && len(n.items) == 0 {
			r.wrong(n, path, "the list is empty", message).as(CodeMissingRequired)
			return
		}
		read(r, path, n)
	}
	return list
}

// readAutomation reads automations/NAME/automation.md.
func (p *parsing) readAutomation(file, name, text string) {
	r := p.reader(file, KindAutomation, name)
	a := lineshaft.Automation{Name: name, Enabled: true}
	before := len(r.problems)
	if r.markdown(text, &a.Prompt, automationKeys(&a)) && strings.TrimSpace(a.Prompt) == "" {
		r.add(lineshaft.FileProblem{
			File: file, Line: strings.Count(strings.TrimRight(text, "\n"), "\n") + 1, Column: 1,
			Code: CodeMissingRequired, Message: "prompt: an automation needs one", Hint: "write below the front matter what its runs have to do",
		})
	}
	if len(r.problems) == before {
		r.blame(a.Validate(), "")
	}
	p.def.Automations = append(p.def.Automations, a)
}
