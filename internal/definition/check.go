package definition

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// checkParts checks what parts of the folder say about each other.
func (p *parsing) checkParts() {
	p.checkForeman()
	p.checkTrackers()
	p.checkEvaluations()
	p.checkAuths()
	p.checkConfig(KindFactory, "", "agentDefaults", "", p.def.Factory.Defaults)
	agents := partNames(p.def.Agents, func(a lineshaft.Agent) string { return a.Name })
	for _, s := range p.def.Skills {
		if s.Agent != "" && !contains(agents, s.Agent) {
			p.add(p.def.Problem(KindSkill, skillName(s), "", fmt.Sprintf("the skill is one of agent %q, which the folder does not have", s.Agent),
				"add "+partFile(KindAgent, s.Agent)+", or move the skill to "+partFile(KindSkill, s.Name))).as(CodeInvalidReference)
		}
	}
	for _, a := range p.def.Agents {
		p.checkConfig(KindAgent, a.Name, "", a.Name, a.Config)
	}
	for i := range p.def.Automations {
		a := &p.def.Automations[i]
		p.checkAutomation(a)
		p.checkConfig(KindAutomation, a.Name, "", cmp.Or(a.Agent, p.def.Factory.Foreman), a.Config)
		p.noteEvents(a)
		if agent := p.agentOf(a); agent != nil {
			p.noteSecrets(a, agent.Config)
		}
	}
}

// agentOf is the agent that an automation's runs go to; nil when the folder has none such.
func (p *parsing) agentOf(a *lineshaft.Automation) *lineshaft.Agent {
	name := cmp.Or(a.Agent, p.def.Factory.Foreman)
	if at := slices.IndexFunc(p.def.Agents, func(agent lineshaft.Agent) bool { return agent.Name == name }); at >= 0 {
		return &p.def.Agents[at]
	}
	return nil
}

// checkAutomation checks what an automation refers to.
func (p *parsing) checkAutomation(a *lineshaft.Automation) {
	agents := partNames(p.def.Agents, func(a lineshaft.Agent) string { return a.Name })
	if a.Agent != "" && !contains(agents, a.Agent) {
		p.refer(KindAutomation, a.Name, "agent", KindAgent, a.Agent, agents)
	}
	hooks := partNames(p.def.Webhooks, func(w lineshaft.Webhook) string { return w.Name })
	for i, t := range a.Triggers {
		for _, name := range t.Filter.Webhooks {
			if !contains(hooks, name) {
				p.refer(KindAutomation, a.Name, indexed("triggers", i)+".filter.webhooks", KindWebhook, name, hooks)
			}
		}
	}
}

func (p *parsing) refer(kind Kind, name, path string, noun Kind, wanted string, known []string) {
	message, hint := unknownName(string(noun), wanted, known, nearest.Word(wanted, known))
	at, found := p.places[placeKey(kind, name, valuePath(path, wanted))]
	if !found {
		at, _ = findPlace(p.places, kind, name, path)
	}
	p.add(lineshaft.FileProblem{File: at.file, Line: at.line, Column: at.column, Message: path + ": " + message, Hint: hint, Code: CodeInvalidReference})
}

// deferLast says that the published format finds the last problem only when
// a definition is applied: other servers have runners that are in no folder.
func (p *parsing) deferLast() {
	if len(p.problems) > 0 {
		p.def.AtApply = append(p.def.AtApply, p.problems[len(p.problems)-1])
	}
}

// checkAuths wants a worker of one's own where its environment has the key of a model.
func (p *parsing) checkAuths() {
	defaults := p.def.Factory.Defaults
	for _, a := range p.def.Agents {
		p.checkAuth(KindAgent, a.Name, a.Config, defaults)
	}
	for i := range p.def.Automations {
		auto := &p.def.Automations[i]
		if agent := p.agentOf(auto); agent != nil {
			p.checkAuth(KindAutomation, auto.Name, auto.Config, agent.Config, defaults)
		}
	}
}

// checkAuth looks at layers, narrowest first, and blames the first.
func (p *parsing) checkAuth(kind Kind, name string, layers ...lineshaft.AgentConfig) {
	host, source := "", ""
	for _, c := range layers {
		host = cmp.Or(host, c.WorkerHost)
		if c.Harness != nil && c.Harness.Auth != nil && source == "" {
			source = cmp.Or(c.Harness.Auth.Source, "none")
		}
	}
	if source == lineshaft.AuthWorkerEnvironment && (host == "" || host == lineshaft.HostedWorker) {
		p.add(p.def.Problem(kind, name, "harness.auth.source", "harness.auth.source: "+source+" needs a self-hosted worker", "name one in workerHost, or use source "+lineshaft.AuthManagedSecret))
	}
}

var uidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// checkConfig checks what a configuration refers to. Runners may also be named by uid,
// as the API does.
func (p *parsing) checkConfig(kind Kind, name, path, agent string, c lineshaft.AgentConfig) {
	p.checkSkills(kind, name, path, agent, c)
	p.noteModel(kind, name, path, c)
	if err := c.CheckModel(); err != nil {
		message, hint := advice(err)
		p.add(p.def.Problem(kind, name, joinPath(path, "model"), joinPath(path, "model")+": "+message, hint))
	}
	runners := partNames(p.def.Runners, func(r lineshaft.Runner) string { return r.Name })
	if c.RunnerID != "" && !contains(runners, c.RunnerID) && !uidForm.MatchString(c.RunnerID) {
		p.refer(kind, name, joinPath(path, "runner"), KindRunner, c.RunnerID, runners)
		p.deferLast()
	}
}

// checkSkills checks that the skills that a configuration names without a repository are
// in the folder: those of all agents, or of the agent.
func (p *parsing) checkSkills(kind Kind, name, path, agent string, c lineshaft.AgentConfig) {
	for _, spec := range c.Skills {
		ref, err := lineshaft.ParseSkillRef(spec)
		if err != nil || !ref.Local() {
			continue
		}
		var known []string
		for _, s := range p.def.Skills {
			if s.Agent == "" || s.Agent == agent {
				known = append(known, s.Name)
			}
		}
		if !contains(known, ref.Target) {
			p.refer(kind, name, joinPath(path, "skills"), KindSkill, ref.Target, known)
		}
	}
}

// unknownName reports a name that refers to nothing in the folder.
func unknownName(noun, name string, known []string, near string) (message, hint string) {
	file := partFile(Kind(noun), "NAME")
	if noun == taskDocument {
		noun, file = "task", "tasks/NAME.yaml beside the suite"
	}
	message = fmt.Sprintf("there is no %s %q in this folder", noun, lineshaft.Clip(name, 60))
	switch {
	case len(known) == 0:
		return message, fmt.Sprintf("the folder has no %ss; add %s", noun, file)
	case near != "":
		return message, fmt.Sprintf("did you mean %s?", near)
	case len(known) > 10:
		known = append(slices.Clone(known[:10]), "…")
	}
	return message, "there are " + strings.Join(known, ", ")
}

// checkForeman wants exactly one.
func (p *parsing) checkForeman() {
	var foremen []lineshaft.Agent
	for _, a := range p.def.Agents {
		if a.Type == lineshaft.AgentForeman {
			foremen = append(foremen, a)
		}
	}
	switch len(foremen) {
	case 1:
		p.def.Factory.Foreman = foremen[0].Name
	case 0:
		if p.unreadAgents == 0 {
			p.add(lineshaft.FileProblem{
				File: factoryFile, Line: 1, Column: 1, Code: CodeMissingRequired, Message: "the factory has no foreman, the agent that gets work that names no agent",
				Hint: "give one of its agents agentType: FOREMAN, or add agents/" + lineshaft.ForemanName + "/agent.md with it",
			})
		}
	default:
		for i, a := range foremen {
			other := foremen[(i+1)%len(foremen)]
			p.add(p.def.Problem(KindAgent, a.Name, "agentType",
				fmt.Sprintf("agentType: %s and %s are both the foreman", a.Name, other.Name), "a factory has exactly one; make the others CUSTOM")).as(CodeDuplicateKey)
		}
	}
}
