package mcpserver

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Agent is an agent as the tools show it.
type Agent struct {
	UID         string `json:"uid"`
	Name        string `json:"name"`
	Type        string `json:"agent_type"`
	FactoryUID  string `json:"factory_uid,omitempty" doc:"Absent for an agent of the whole team."`
	Description string `json:"description,omitempty"`
	ModelID     string `json:"model_id,omitempty"`
}

type (
	listAgentsIn struct {
		Factory string `json:"factory,omitempty" maxLength:"200" doc:"The uid, alias or name of a factory; without it the agents of all of them."`
		Cursor  string `json:"cursor,omitempty" maxLength:"4096" doc:"next_cursor of the page before."`
	}
	listAgentsOut struct {
		Agents []Agent `json:"agents"`
		Cut    bool    `json:"cut" doc:"There are more."`
		Paging
	}
)

func (s *Server) listAgents(ctx context.Context, c *call, in listAgentsIn) (listAgentsOut, string, error) {
	factoryUID, err := s.factoryUID(ctx, c, in.Factory)
	if err != nil {
		return listAgentsOut{}, "", err
	}
	page, err := s.Control.ListAgents(ctx, c.Caller, factoryUID, base.MaxPage, in.Cursor)
	if err != nil {
		return listAgentsOut{}, "", err
	}
	agents, err := showPage(&page, showAgent)
	if err != nil {
		return listAgentsOut{}, "", err
	}
	var list []string
	for i := range agents {
		a := &agents[i]
		list = append(list, fmt.Sprintf("%s (uid %s), %s, factory %s", quoted(a.Name), a.UID, a.Type, orNone(a.FactoryUID)))
	}
	out := listAgentsOut{Agents: agents, Cut: page.Next != "", Paging: Paging{page.Next}}
	return out, lines("There is no agent here that this key may see.", list, page.Next), nil
}

func showAgent(a *lineshaft.Agent) Agent {
	return Agent{
		UID: a.UID, Name: a.Name, Type: string(a.Type), FactoryUID: a.FactoryUID, Description: a.Description, ModelID: a.Config.ModelID,
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// agentUID finds the agent that a reference means, in a factory if one is given.
func (s *Server) agentUID(ctx context.Context, c *call, factoryUID, ref string) (string, error) {
	found, err := s.Control.FindAgents(ctx, c.Caller, factoryUID, ref)
	if err != nil {
		return "", err
	}
	return one("agent", ref, found)
}

// environmentUID finds the environment that a reference means.
func (s *Server) environmentUID(ctx context.Context, c *call, ref string) (string, error) {
	if ref == "" || !c.Role.May(see) {
		return ref, nil
	}
	environments, err := s.Control.ListEnvironments(ctx, c.Caller, secrets.EnvironmentsByName)
	if err != nil {
		return "", err
	}
	var named []string
	for i := range environments {
		if environments[i].UID == ref {
			return ref, nil
		}
		if lineshaft.SameFolded(environments[i].Config.Name, ref) {
			named = append(named, environments[i].UID)
		}
	}
	if len(named) == 0 {
		return "", lineshaft.Invalid("environment", "there is no environment %s; leave it out for the default one", quoted(ref))
	}
	return one("environment", ref, named)
}
