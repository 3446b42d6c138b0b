package api

import (
	"context"
	"errors"
	"slices"

	"github.com/lineshaft/lineshaft"
	controlskills "github.com/lineshaft/lineshaft/internal/control/skills"
)

// AgentSkill is a skill that a run was asked to use, as it was found.
type AgentSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	FullPath    string `json:"full_path" doc:"Where its file is in the repository, or in the definition of the factory." example:".agents/skills/triage/SKILL.md"`
	Commit      string `json:"commit,omitempty" doc:"The commit of the repository that it was read from."`
}

// wireAgentSkill shows the first of a run's skills.
func wireAgentSkill(skills []lineshaft.Skill) *AgentSkill {
	if len(skills) == 0 {
		return nil
	}
	s := skills[0]
	if s.Path == "" { // of a definition
		s.Path = "skills/" + s.Name + "/SKILL.md"
		if s.Agent != "" {
			s.Path = "agents/" + s.Agent + "/" + s.Path
		}
	}
	return &AgentSkill{Name: s.Name, Description: s.Description, FullPath: s.Path, Commit: s.Commit}
}

// ListAgentsResponse lists skills by name.
type ListAgentsResponse struct {
	Agents   []AgentListItem `json:"agents"`
	PageInfo *PageInfo       `json:"page_info,omitempty" doc:"There are more, perhaps of the last name; absent if the list is complete."`
}

// AgentListItem is a name with the skills that have it.
type AgentListItem struct {
	Name     string         `json:"name"`
	Variants []AgentVariant `json:"variants"`
}

// AgentVariant is one skill of a repository.
type AgentVariant struct {
	ID               string               `json:"id" doc:"What to give as skill." example:"acme/tools:.agents/skills/triage/SKILL.md"`
	Description      string               `json:"description"`
	BasePrompt       string               `json:"base_prompt" doc:"The text of the skill."`
	Source           AgentVariantSource   `json:"source"`
	Environments     []VariantEnvironment `json:"environments" doc:"The environments that have the repository."`
	LastRunTimestamp *string              `json:"last_run_timestamp" format:"date-time" doc:"When the newest run with it that you may see was created; null if there is none."`
	Error            string               `json:"error,omitempty" doc:"With include_malformed_skills: why it cannot be used."`
}

// AgentVariantSource is where a skill is kept.
type AgentVariantSource struct {
	Owner     string `json:"owner"`
	Name      string `json:"name"`
	SkillPath string `json:"skill_path"`
	Commit    string `json:"commit,omitempty" doc:"The commit that was read."`
}

// VariantEnvironment names an environment.
type VariantEnvironment struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

type listAgentsInput struct {
	ListQuery
	Repo      string `query:"repo" doc:"Only the skills of this repository, owner/repo. Otherwise those of all environments and factories."`
	Refresh   bool   `query:"refresh" doc:"Ask the forge again instead of using what was read in the last minute."`
	SortBy    string `query:"sort_by" enum:"name,last_run" doc:"name by default; last_run lists the most recently used first."`
	Malformed bool   `query:"include_malformed_skills" doc:"Also list files that are not valid skills, with their error."`
}

func (s *server) listAgents(ctx context.Context, in *listAgentsInput) (*answer[ListAgentsResponse], error) {
	query := controlskills.SkillQuery{Repository: in.Repo, Refresh: in.Refresh, Malformed: in.Malformed, ByLastRun: in.SortBy == "last_run"}
	list, err := s.Control.ListSkills(ctx, callerOf(ctx), query)
	if err != nil {
		return nil, err
	}
	page, err := query.Page(list, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	if err := s.takeTurn(ctx, weightList); err != nil { // not before: forges may take their time
		return nil, err
	}
	variants, info, err := fillWith(wireVariant)(page, nil)
	agents := []AgentListItem{}
	for i, variant := range variants {
		name := page.Items[i].Name
		at := slices.IndexFunc(agents, func(a AgentListItem) bool { return a.Name == name })
		if at < 0 {
			at, agents = len(agents), append(agents, AgentListItem{Name: name})
		}
		agents[at].Variants = append(agents[at].Variants, variant)
	}
	return reply(ListAgentsResponse{agents, whenMore(info)}, err)
}

func wireVariant(s *controlskills.ListedSkill) AgentVariant {
	return AgentVariant{
		ID: s.Spec, Description: s.Description, BasePrompt: s.Body, Error: s.Problem,
		Source:           AgentVariantSource{Owner: s.Repository.Owner, Name: s.Repository.Name, SkillPath: s.Path, Commit: s.Commit},
		LastRunTimestamp: stampOrNull(s.LastRun),
		Environments:     each(s.Environments, func(e *lineshaft.Environment) VariantEnvironment { return VariantEnvironment{e.UID, e.Config.Name} }),
	}
}

// publicText is the message of an error without its code and field.
func publicText(err error) string {
	if public, ok := errors.AsType[*lineshaft.Error](err); ok {
		return public.Message
	}
	return err.Error()
}

// blameSkill gives an error about the only skill the name that the caller used.
func (r *RunAgentRequest) blameSkill(err error) error {
	return lineshaft.Rename(err, func(field string) string {
		switch {
		case field != "config.skills[0]":
		case r.Skill != "":
			return "skill"
		case r.Config != nil && r.Config.SkillSpec != "":
			return "config.skill_spec"
		}
		return field
	})
}
