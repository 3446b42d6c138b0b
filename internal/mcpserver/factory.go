package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Factory is a factory as the tools show it.
type Factory struct {
	UID          string `json:"uid"`
	Name         string `json:"name"`
	Alias        string `json:"alias,omitempty" doc:"A short name, unique whatever its case."`
	Description  string `json:"description,omitempty"`
	ForemanAgent string `json:"foreman_agent" doc:"The name of the agent that dispatched work goes to."`
	Mode         string `json:"mode" doc:"managed is edited on this server, repository in a Git repository."`
	Paused       bool   `json:"paused" doc:"Its automations start no runs for now; dispatch still does."`
	URL          string `json:"url" doc:"The page of this server that shows it."`
}

type (
	listFactoriesIn struct {
		Search string `json:"search,omitempty" maxLength:"200" doc:"A part of the name or alias, in any case."`
		Limit  int    `json:"limit,omitempty" default:"50" minimum:"1" maximum:"100"`
		Cursor string `json:"cursor,omitempty" maxLength:"4096" doc:"next_cursor of the page before."`
	}
	listFactoriesOut struct {
		Factories []Factory `json:"factories"`
		Paging
	}
)

func (s *Server) listFactories(ctx context.Context, c *call, in listFactoriesIn) (listFactoriesOut, string, error) {
	page, err := s.Control.ListFactories(ctx, c.Caller, factories.FactoryQuery{Search: in.Search, Limit: in.Limit, Cursor: in.Cursor})
	out := listFactoriesOut{showAll(page.Factories, s.showFactory), Paging{page.Next}}
	return out, lines("There is no such factory that this key may see.", out.Factories, factoryWords, page.Next), err
}

func factoryWords(f *Factory) string {
	line := fmt.Sprintf("%s (uid %s), foreman %s", quoted(f.Name), f.UID, quoted(f.ForemanAgent))
	if f.Alias != "" {
		line += ", alias " + quoted(f.Alias)
	}
	if f.Paused {
		line += ", paused"
	}
	return line
}

func (s *Server) showFactory(f *lineshaft.Factory) Factory {
	return Factory{
		UID: f.UID, Name: f.Name, Alias: f.Alias, Description: f.Description, ForemanAgent: f.Foreman, Mode: string(f.Mode), Paused: f.Paused,
		URL: s.BaseURL + "/factories/" + f.UID,
	}
}

// FactoryRef is the argument that names a factory.
type FactoryRef struct {
	Factory string `json:"factory" minLength:"1" maxLength:"200" doc:"The uid, alias or name of a factory; list_factories has them."`
}

// factoryUID finds the factory that a reference means. Whoever may not read factories
// has to know the uid.
func (s *Server) factoryUID(ctx context.Context, c *call, ref string) (string, error) {
	if ref == "" || !c.Role.May(see) {
		return ref, nil
	}
	found, err := s.Control.GetFactory(ctx, c.Caller, ref)
	if err == nil {
		return found.UID, nil
	}
	if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return "", err
	}
	var named []string
	for cursor := ""; ; {
		page, err := s.Control.ListFactories(ctx, c.Caller, factories.FactoryQuery{Search: ref, Limit: 100, Cursor: cursor})
		if err != nil {
			return "", err
		}
		for i := range page.Factories {
			if lineshaft.SameFolded(page.Factories[i].Alias, ref) {
				return page.Factories[i].UID, nil
			}
			if lineshaft.SameFolded(page.Factories[i].Name, ref) {
				named = append(named, page.Factories[i].UID)
			}
		}
		if cursor = page.Next; cursor == "" {
			return one("factory", ref, named)
		}
	}
}

// one is the only uid that goes by a name.
func one(noun, name string, uids []string) (string, error) {
	switch len(uids) {
	case 0:
		return "", lineshaft.NotFound(noun, lineshaft.Clip(name, 80))
	case 1:
		return uids[0], nil
	default:
		return "", lineshaft.Invalid(noun, "%d have the name %s; give one of their uids: %s", len(uids), quoted(name), strings.Join(uids[:min(len(uids), 10)], ", "))
	}
}

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
	agents, paging, text, err := showPage(showAgent, agentWords, "There is no agent here that this key may see.")(
		s.Control.ListAgents(ctx, c.Caller, factoryUID, base.MaxPage, in.Cursor))
	return listAgentsOut{agents, paging.NextCursor != "", paging}, text, err
}

func showAgent(a *lineshaft.Agent) Agent {
	return Agent{
		UID: a.UID, Name: a.Name, Type: string(a.Type), FactoryUID: a.FactoryUID, Description: a.Description, ModelID: a.Config.ModelID,
	}
}

func agentWords(a *Agent) string {
	return fmt.Sprintf("%s (uid %s), %s, factory %s", quoted(a.Name), a.UID, a.Type, cmp.Or(a.FactoryUID, "none"))
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
