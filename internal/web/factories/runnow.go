package factories

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// byHand says to an agent why it does not find what its prompt may mention.
const byHand = "\n\n(Started by hand, so there is no payload.)"

// notByHand says why a person cannot ask for a run with the configuration of a definition; empty
// if they can.
func notByHand(c lineshaft.Caller, config lineshaft.AgentConfig, factoryUID string) string {
	switch {
	case len(config.NamedSecrets()) > 0:
		return "it names secrets, and this button starts a run without any"
	case config.WorkerHost != "" && factoryUID != "":
		return "it names a worker, and a run that you start yourself in a factory cannot"
	case config.EnvironmentID != "" && len(c.FactoryUIDs) > 0:
		return "it names an environment, and a key that is limited to factories cannot"
	}
	return ""
}

// allOnSchedule says that nothing but times starts an automation.
func allOnSchedule(triggers []lineshaft.Trigger) bool {
	return !slices.ContainsFunc(triggers, func(t lineshaft.Trigger) bool { return t.Schedule == nil })
}

// agentOf is the uid of the agent that an automation gives its work to; empty if it is gone.
func (s pages) agentOf(r *page.Request, of automationOf) (string, error) {
	agents, err := s.Control.ListAgents(r.Context(), r.Caller, of.Factory.UID, base.MaxPage, "")
	for _, agent := range agents.Items {
		if a := of.Automation; agent.Name == a.Agent || a.Agent == "" && agent.Name == of.Factory.Foreman {
			return agent.UID, err
		}
	}
	return "", err
}

// runAutomation starts what an automation would start, for the reader and without a payload.
func (s pages) runAutomation(r *page.Request, of automationOf) error {
	a := of.Automation
	agentUID, err := s.agentOf(r, of)
	if err != nil {
		return err
	}
	if agentUID == "" {
		return lineshaft.Conflict("the agent of automation %q is gone; choose another one", a.Name)
	}
	asked := lineshaft.NewRun{Prompt: a.Prompt, Title: a.Name, Config: a.Config, AgentUID: agentUID}
	if !allOnSchedule(a.Triggers) {
		asked.Prompt += byHand
	}
	if rule := a.Config.Concurrency; rule != nil && strings.Contains(rule.Key, "{{") {
		asked.Config.Concurrency = nil // its key is made of the payload
	}
	return s.startByHand(r, asked)
}

// runSchedule starts what a schedule starts, now and for the reader.
func (s pages) runSchedule(r *page.Request, one *lineshaft.Schedule) error {
	return s.startByHand(r, lineshaft.NewRun{
		Prompt: one.Prompt, Title: one.Name, Config: one.Config, AgentUID: one.AgentUID, Metadata: one.Metadata,
	})
}

func (s pages) startByHand(r *page.Request, asked lineshaft.NewRun) error {
	asked.Source = lineshaft.SourceWebApp
	started, err := s.Control.StartRun(r.Context(), r.Caller, asked, r.Once())
	if err != nil {
		return err
	}
	return r.Done(page.Under("runs", started.RunID), "")
}
