package forge

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// Event is what a forge told. Its values are looked for when somebody asks, and kept.
type Event struct {
	provider string
	kind     string
	family   *family // nil when triggers know no such event
	actions  []string
	doc      *filter.Doc
	body     filter.Value
	known    [fieldCount]bool
	values   [fieldCount][]string
}

// Header is where a provider names the kind of event; "" when it is no forge.
func Header(provider string) string {
	switch provider {
	case lineshaft.ProviderGitHub:
		return GitHubHeader
	case lineshaft.ProviderGitLab:
		return GitLabHeader
	}
	return ""
}

// Read reads a request to a webhook: what the provider's header said, and the body.
func Read(provider, header string, doc *filter.Doc) *Event {
	e := &Event{provider: provider, kind: header, doc: doc, body: doc.Root()}
	switch provider {
	case lineshaft.ProviderGitHub:
		if at := slices.IndexFunc(githubFamilies, func(f *family) bool { return f.kind == header }); at >= 0 {
			e.family = githubFamilies[at]
		}
	case lineshaft.ProviderGitLab:
		e.family = gitlabKind(header, e.body)
	}
	if e.family != nil && e.family.actionsOf != nil {
		e.actions = e.family.actionsOf(e.body)
	}
	return e
}

// did says whether an action is one of the event's.
func (e *Event) did(action string) bool { return slices.Contains(e.actions, action) }

// Names are what triggers call the event: one, or two for a pull request that was
// closed by merging it. An event that triggers do not know has the forge's own name.
func (e *Event) Names() []string {
	switch {
	case e.family == nil && e.kind == "":
		return nil
	case e.family == nil:
		return []string{e.kind}
	case len(e.actions) == 0:
		return []string{e.family.name}
	}
	names := make([]string, len(e.actions))
	for i, action := range e.actions {
		names[i] = e.family.name + "_" + action
	}
	return names
}

// Repo is the repository that it is about, as owner/name; "" when there is none.
func (e *Event) Repo() string { return strings.Join(e.of(repos), "") }

// of are the values that a filter looks at.
func (e *Event) of(f field) []string {
	if !e.known[f] {
		e.known[f] = true
		if e.family != nil && e.family.has[f] != nil {
			e.values[f] = e.family.has[f](e)
		}
	}
	return e.values[f]
}
