package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Automation is an automation as the tools show it.
type Automation struct {
	UID      string              `json:"uid"`
	Name     string              `json:"name"`
	Enabled  bool                `json:"enabled"`
	Agent    string              `json:"agent,omitempty" doc:"The name of its agent; absent for the foreman."`
	Triggers []AutomationTrigger `json:"triggers"`
	Prompt   string              `json:"prompt" doc:"The beginning of what its agent is told."`
}

// AutomationTrigger is what starts an automation.
type AutomationTrigger struct {
	Provider string `json:"provider"`
	Event    string `json:"event"`
}

type (
	listAutomationsIn struct {
		FactoryRef
		Limit  int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"100"`
		Cursor string `json:"cursor,omitempty" maxLength:"4096" doc:"next_cursor of the page before."`
	}
	listAutomationsOut struct {
		FactoryUID  string       `json:"factory_uid"`
		Automations []Automation `json:"automations"`
		Paging
	}
)

func (s *Server) listAutomations(ctx context.Context, c *call, in listAutomationsIn) (listAutomationsOut, string, error) {
	uid, err := s.factoryUID(ctx, c, in.Factory)
	if err != nil {
		return listAutomationsOut{}, "", err
	}
	page, err := s.Control.ListAutomations(ctx, c.Caller, uid, in.Limit, in.Cursor)
	if err != nil {
		return listAutomationsOut{}, "", err
	}
	automations, err := showPage(&page, showAutomation)
	if err != nil {
		return listAutomationsOut{}, "", err
	}
	var list []string
	for i := range automations {
		list = append(list, automationWords(&automations[i]))
	}
	out := listAutomationsOut{FactoryUID: uid, Automations: automations, Paging: Paging{page.Next}}
	return out, lines("The factory has no automations.", list, page.Next), nil
}

func showAutomation(a *lineshaft.Automation) Automation {
	out := Automation{UID: a.UID, Name: a.Name, Enabled: a.Enabled, Agent: a.Agent, Triggers: []AutomationTrigger{}, Prompt: shorten(a.Prompt, 1<<10)}
	for i := range a.Triggers {
		out.Triggers = append(out.Triggers, AutomationTrigger{a.Triggers[i].Provider, a.Triggers[i].Event})
	}
	return out
}

func automationWords(a *Automation) string {
	var on []string
	for _, t := range a.Triggers {
		on = append(on, t.Provider+"/"+t.Event)
	}
	line := fmt.Sprintf("%s (uid %s), on %s", quoted(a.Name), a.UID, strings.Join(on, ", "))
	if a.Agent != "" {
		line += ", agent " + quoted(a.Agent)
	}
	if !a.Enabled {
		line += ", disabled"
	}
	return line
}
