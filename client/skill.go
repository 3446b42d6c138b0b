package client

import (
	"context"
	"net/url"
	"time"
)

// SkillsService lists skills, which runs use as RunRequest.Skill. It is part of a Client.
type SkillsService struct{ c *Client }

// SkillQuery selects skills.
type SkillQuery struct {
	// Repository is owner/name; empty are those of all environments and factories.
	Repository string
	// Refresh has the server ask the forge anew.
	Refresh bool
	// SortBy is name (default) or last_run.
	SortBy string
	// Malformed also lists files that are no skills, with their error.
	Malformed bool
}

// NamedSkills is a name with the skills that have it.
type NamedSkills struct {
	Name     string  `json:"name"`
	Variants []Skill `json:"variants"`
}

// Skill is a skill of a repository.
type Skill struct {
	// ID is what to start a run with: owner/repo:path.
	ID          string `json:"id"`
	Description string `json:"description"`
	// BasePrompt is its text.
	BasePrompt   string             `json:"base_prompt"`
	Source       SkillSource        `json:"source"`
	Environments []SkillEnvironment `json:"environments"`
	// LastRunAt is when it was last used; nil when never.
	LastRunAt *time.Time `json:"last_run_timestamp"`
	// Error is why a malformed one cannot be used.
	Error string `json:"error,omitempty"`
}

// SkillSource is where a skill is kept.
type SkillSource struct {
	Owner     string `json:"owner"`
	Name      string `json:"name"`
	SkillPath string `json:"skill_path"`
	Commit    string `json:"commit,omitempty"`
}

// SkillEnvironment is an environment that has the skill's repository.
type SkillEnvironment struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// List reads the skills that a query selects, by name.
func (s *SkillsService) List(ctx context.Context, q SkillQuery) ([]NamedSkills, error) {
	query := url.Values{}
	for name, value := range map[string]string{"repo": q.Repository, "sort_by": q.SortBy} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, set := range map[string]bool{"refresh": q.Refresh, "include_malformed_skills": q.Malformed} {
		if set {
			query.Set(name, "true")
		}
	}
	out, err := get[struct {
		Agents []NamedSkills `json:"agents"`
	}](ctx, s.c, "/agent", query)
	if err != nil {
		return nil, err
	}
	return out.Agents, nil
}
