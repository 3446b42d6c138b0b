package trigger

import (
	"cmp"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// titleValue is how many bytes of one value of a payload can become part of a title.
const titleValue = 1000

// slackWords is how many words of a message become a title.
const slackWords = 12

// TitleFor is the title of a run of the automation for a payload that a provider sent: the
// automation's own words, else the provider's, else the automation's name (W-17). Strangers
// write parts of it, so it is only ever shown.
func (h *HookAutomation) TitleFor(provider string, doc *filter.Doc) string {
	words := payloadWords{doc}
	title := h.Title
	if title == "" {
		title = words.of(provider)
	} else if filled, err := fillTemplate(title, func(path string) (string, error) { return words.at(path), nil }); err == nil {
		title = filled
	}
	return cmp.Or(lineshaft.CleanTitle(title), h.Name)
}

// providerOf is the sender to a webhook, as far as its signature scheme says.
func providerOf(w lineshaft.Webhook) string {
	if w.AuthMode != lineshaft.AuthSignature {
		return ""
	}
	return w.SignatureScheme
}

// payloadWords finds what a payload calls itself.
type payloadWords struct{ doc *filter.Doc }

// at is the value at the first path that has one, or nothing.
func (p payloadWords) at(paths ...string) string {
	for _, path := range paths {
		if value, ok := p.doc.Lookup(path); ok && value != "" && value != "null" {
			return value[:min(len(value), titleValue)]
		}
	}
	return ""
}

// both is two words; nothing without the first.
func both(first, second string) string {
	if first == "" {
		return ""
	}
	return first + " " + second
}

// of is what the provider's payloads are called.
func (p payloadWords) of(provider string) string {
	switch provider {
	case "github":
		return cmp.Or(p.numbered("#", "issue"), p.numbered("#", "pull_request"), p.numbered("#", "discussion"), p.commit(p.at("head_commit.message")))
	case "gitlab":
		return p.gitlab()
	case "bitbucket":
		return cmp.Or(both(sign("#", p.at("pullrequest.id")), p.at("pullrequest.title")), both(sign("#", p.at("issue.id")), p.at("issue.title")))
	case "linear":
		return cmp.Or(both(p.at("data.identifier"), p.at("data.title")), both(p.at("data.issue.identifier"), p.at("data.issue.title")), both(p.at("agentSession.issue.identifier"), p.at("agentSession.issue.title")), both(p.at("type"), p.at("data.id")))
	case "jira":
		return both(p.at("issue.key"), p.at("issue.fields.summary"))
	case "slack":
		words := strings.Fields(p.at("event.text", "text"))
		if len(words) > slackWords {
			return strings.Join(words[:slackWords], " ") + "…"
		}
		return strings.Join(words, " ")
	}
	kind, id := eventPaths(provider)
	return both(p.at(kind...), p.at(id...))
}

// eventPaths are where a provider's payloads name the kind of event, and its id.
func eventPaths(provider string) (kind, id []string) {
	switch provider {
	case "stripe", "vercel", "circleci":
		return []string{"type"}, []string{"id"}
	case "standard_webhooks":
		return []string{"type", "event_type", "event"}, []string{"id", "data.id"}
	case "pagerduty":
		return []string{"event.event_type"}, []string{"event.data.id", "event.id"}
	case "sentry":
		return []string{"action"}, []string{"data.issue.shortId", "data.issue.id", "data.event.event_id", "data.error.event_id"}
	case "square":
		return []string{"type"}, []string{"event_id"}
	case "intercom":
		return []string{"topic"}, []string{"id"}
	case "buildkite":
		return []string{"event"}, []string{"build.number", "build.id"}
	case "zoom":
		return []string{"event"}, []string{"payload.object.id"}
	case "typeform":
		return []string{"event_type"}, []string{"event_id"}
	case "calendly":
		return []string{"event"}, []string{"payload.uuid", "payload.uri"}
	case "grafana":
		return []string{"status"}, []string{"title", "groupKey"}
	}
	return nil, nil
}

// numbered is the number and title of an issue and the like.
func (p payloadWords) numbered(mark, what string) string {
	return both(sign(mark, p.at(what+".number", what+".iid")), p.at(what+".title"))
}

func sign(mark, number string) string {
	if number == "" {
		return ""
	}
	return mark + number
}

func (p payloadWords) gitlab() string {
	if subject := p.at("object_attributes.title"); subject != "" {
		mark := "#"
		if p.at("object_kind") == "merge_request" {
			mark = "!"
		}
		return both(sign(mark, p.at("object_attributes.iid")), subject)
	}
	message := ""
	if p.doc != nil {
		for commit := range p.doc.Root().At("commits").Elements() { // the newest comes last
			message, _ = commit.At("message").Text()
		}
	}
	return cmp.Or(p.numbered("!", "merge_request"), p.numbered("#", "issue"), p.commit(message[:min(len(message), titleValue)]))
}

// commit is the branch or tag of a push, and what its last commit says first.
func (p payloadWords) commit(message string) string {
	ref := strings.TrimPrefix(strings.TrimPrefix(p.at("ref"), "refs/heads/"), "refs/tags/")
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return both(ref, subject)
}
