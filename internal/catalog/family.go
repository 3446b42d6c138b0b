package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// read finds the values of a key in an event.
type read func(e *Event) []string

// reads are the keys that events have. A nil read is for providers that send nothing.
type reads map[string]read

// family is the events about one thing, which differ in what was done to it.
type family struct {
	// kinds are what the provider calls requests that may be about it, name what
	// triggers call it.
	kinds []string
	name  string
	// actions are those that a trigger may name; none when there is only one event.
	actions []string
	// aliases are other words for actions.
	aliases map[string]string
	// whole says that the name alone means every action.
	whole bool
	// actionsOf reads what was done.
	actionsOf func(body filter.Value) []string
	// about says whether a request of its kinds is one of its events; nil: all are.
	about func(e *Event) bool
	// aside says what requests of its kinds are that no family is about.
	aside string
	// has are the keys that its events have.
	has reads
	// only are the actions that a key goes with, where it does not go with all.
	only map[string][]string
	// blind says why a key is usually not in the payload, and what to do.
	blind map[string]string
	// handled says that its events are those which mention the factory's handle.
	handled bool
	// silent is why no such event ever comes here; "" when they do.
	silent string
}

// lacks says that no event with this action ("" is any) has a key.
func (f *family) lacks(key, action string) bool {
	if _, there := f.has[key]; !there {
		return true
	}
	only := f.only[key]
	return only != nil && action != "" && f.actions != nil && !slices.Contains(only, action)
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

// find returns which action a trigger's event asks for; "" is any.
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

func (f *family) alias(other, action string) *family {
	if f.aliases == nil {
		f.aliases = map[string]string{}
	}
	f.aliases[other] = action
	return f
}

func (f *family) doing(actionsOf func(filter.Value) []string) *family {
	f.actionsOf = actionsOf
	return f
}

func (f *family) unseen(why string, keys ...string) *family {
	if f.blind == nil {
		f.blind = map[string]string{}
	}
	for _, key := range keys {
		f.blind[key] = why
	}
	return f
}

func (f *family) keysOnly(actions string, keys ...string) *family {
	if f.only == nil {
		f.only = map[string][]string{}
	}
	for _, key := range keys {
		f.only[key] = strings.Fields(actions)
	}
	return f
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

func all(readers ...read) read {
	return func(e *Event) []string {
		var values []string
		for _, one := range readers {
			values = append(values, one(e)...)
		}
		return values
	}
}

func first(readers ...read) read {
	return func(e *Event) []string {
		for _, one := range readers {
			if values := one(e); len(values) > 0 {
				return values
			}
		}
		return nil
	}
}

// none is for what is never in a payload.
func none(*Event) []string { return nil }

// list reads a string of each element of an array; without a key, the elements.
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

// nested reads a string of each element of arrays that are in the elements of another.
func nested(path, inner, key string) read {
	return func(e *Event) []string {
		var values []string
		for element := range e.body.At(path).Elements() {
			for one := range element.At(inner).Elements() {
				if value, ok := one.At(key).Text(); ok {
					values = append(values, value)
				}
			}
		}
		return values
	}
}

func number(path string) read {
	return func(e *Event) []string {
		if value, ok := e.body.At(path).Number(); ok {
			return []string{value}
		}
		return nil
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
