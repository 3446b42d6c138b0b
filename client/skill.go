package client

import (
	"context"
	"net/url"
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
