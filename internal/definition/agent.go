package definition

import (
	"fmt"

	"github.com/lineshaft/lineshaft"
)

const (
	agentFile      = "agent.md"
	automationFile = "automation.md"
	skillFile      = "SKILL.md"
	// foremanAlias is the published word for the foreman.
	foremanAlias = "MAIN"
)

func agentKeys(a *lineshaft.Agent) []key {
	return append([]key{
		{name: "description", doc: "What the agent is for.", null: sameAsAbsent, value: text(&a.Description, textRules{most: lineshaft.MaxDescriptionRunes})},
		{name: "agentType", doc: "The part it plays; CUSTOM by default. Exactly one is the FOREMAN (or MAIN).", null: sameAsAbsent, value: agentType(&a.Type)},
		{name: "prompt", doc: "The prompt, if it cannot be below the front matter because it begins or ends with blank space.", value: text(&a.Prompt, textRules{})},
		credentialStrategy(),
	}, configKeys(&a.Config)...)
}

func agentType(to *lineshaft.AgentType) value {
	return text(to, textRules{
		words: lineshaft.Convert[string](lineshaft.AgentTypes()), alike: map[string]string{foremanAlias: string(lineshaft.AgentForeman)}, usual: string(lineshaft.AgentCustom),
	})
}

func (p *parsing) readAgent(file, name, text string) {
	r := p.reader(file, KindAgent, name)
	a := lineshaft.Agent{Name: name, Type: lineshaft.AgentCustom}
	before := len(r.problems)
	if !r.markdown(text, &a.Prompt, agentKeys(&a)) {
		p.unreadAgents++
	}
	if len(r.problems) == before {
		r.blame(checkAgent(a), "")
	}
	p.def.Agents = append(p.def.Agents, a)
}

// checkAgent makes the checks of the API. Whose factory's it is does not matter here.
func checkAgent(a lineshaft.Agent) error {
	a.FactoryUID = "-"
	return a.Validate()
}

func (r *reader) checkPrompt(prompt string, line int) {
	if len(prompt) > lineshaft.MaxPromptBytes {
		r.add(lineshaft.FileProblem{
			File: r.file, Line: line, Column: 1, Message: fmt.Sprintf("prompt: has %d bytes", len(prompt)), Hint: fmt.Sprintf("at most %d are allowed; make it shorter", lineshaft.MaxPromptBytes),
		})
	}
}
