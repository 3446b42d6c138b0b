package forge

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// field is a filter that triggers of forges have.
type field int

const (
	repos field = iota
	labels
	authors
	branches
	baseBranches
	paths
	conclusions
)

const fieldCount = int(conclusions) + 1

func (f field) String() string {
	return [...]string{"repos", "labels", "authors", "branches", "base_branches", "paths", "conclusions"}[f]
}

// of is the part of a trigger's filter.
func (f field) of(t lineshaft.TriggerFilter) *lineshaft.Choice {
	return [...]*lineshaft.Choice{t.Repos, t.Labels, t.Authors, t.Branches, t.BaseBranches, t.Paths, t.Conclusions}[f]
}

// read finds the values of a field in an event.
type read func(e *Event) []string

// reads are those of all fields; nil where an event has none.
type reads [fieldCount]read

// family is the events about one thing, which differ in what was done to it.
type family struct {
	// kind is what the forge calls it, name what triggers do.
	kind, name string
	// actions are those that a trigger may name; none when there is only one event.
	actions []string
	// aliases are other words for actions.
	aliases map[string]string
	// whole says that the name alone means every action.
	whole bool
	// actionsOf reads what was done.
	actionsOf func(body filter.Value) []string
	// has are the fields that its events have.
	has reads
}

// lacks says that no event with this action ("" is any) has a field.
func (f *family) lacks(has field, action string) bool {
	return f.has[has] == nil || has == conclusions && action != "" && f.actions != nil && action != actionCompleted
}

const actionCompleted = "completed"

// names are what a trigger may write for an event of the family.
func (f *family) names() []string {
	if len(f.actions) == 0 {
		return []string{f.name}
	}
	var names []string
	if f.whole {
		names = append(names, f.name)
	}
	names = append(names, f.name+"_*")
	for _, action := range f.actions {
		names = append(names, f.name+"_"+action)
	}
	for alias := range f.aliases {
		names = append(names, f.name+"_"+alias)
	}
	return names
}

// find tells which action a trigger's event asks for; "" is any.
func (f *family) find(event string) (action string, ok bool) {
	rest, ok := strings.CutPrefix(event, f.name)
	if !ok {
		return "", false
	}
	if rest == "" {
		return "", f.whole || len(f.actions) == 0
	}
	action, ok = strings.CutPrefix(rest, "_")
	switch {
	case !ok || len(f.actions) == 0:
		return "", false
	case action == "*":
		return "", true
	case f.aliases[action] != "":
		return f.aliases[action], true
	}
	return action, slices.Contains(f.actions, action)
}

// families are those of a provider.
func families(provider string) []*family {
	switch provider {
	case lineshaft.ProviderGitHub:
		return githubFamilies
	case lineshaft.ProviderGitLab:
		return gitlabFamilies
	}
	return nil
}

var (
	githubFamilies = github()
	gitlabFamilies = gitlab()
)

// Events lists what triggers of a provider may name as their event, sorted.
func Events(provider string) []string {
	var names []string
	for _, f := range families(provider) {
		names = append(names, f.names()...)
	}
	slices.Sort(names)
	return names
}

// text reads a string, the first of some paths that has one.
func text(paths ...string) read {
	return func(e *Event) []string {
		for _, path := range paths {
			if value, ok := e.body.At(path).Text(); ok && value != "" {
				return []string{value}
			}
		}
		return nil
	}
}

// list reads a string of each element of an array.
func list(path, key string) read {
	return func(e *Event) []string {
		var values []string
		for element := range e.body.At(path).Elements() {
			if value, ok := element.At(key).Text(); ok {
				values = append(values, value)
			}
		}
		return values
	}
}

// branchOf reads a branch from a Git reference; a tag has none.
func branchOf(path string) read {
	return func(e *Event) []string {
		ref, _ := e.body.At(path).Text()
		if branch, ok := strings.CutPrefix(ref, refPrefix); ok && branch != "" {
			return []string{branch}
		}
		return nil
	}
}

const refPrefix = "refs/heads/"

// changedPaths reads the files of all commits of a push, each once.
func changedPaths(e *Event) []string {
	seen := map[string]bool{}
	var found []string
	for commit := range e.body.At("commits").Elements() {
		for _, key := range []string{"added", "modified", "removed"} {
			for file := range commit.At(key).Elements() {
				if path, ok := file.Text(); ok && !seen[path] {
					seen[path], found = true, append(found, path)
				}
			}
		}
	}
	return found
}
