package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft/internal/model"
)

// passedQuery is what is passed on of a query: parameters that the agents' programs
// send and that cannot change what is answered in a way that hides its usage.
func passedQuery(c *call, given url.Values) url.Values {
	passed := url.Values{}
	keep := func(name string, values ...string) {
		value := given.Get(name)
		for _, known := range values {
			if value == known {
				passed.Set(name, value)
			}
		}
		if len(values) == 0 && value != "" {
			passed.Set(name, value)
		}
	}
	switch {
	case c.method == http.MethodGet: // lists come in pages
		for _, name := range []string{"limit", "after", "after_id", "before_id", "pageSize", "pageToken"} {
			keep(name)
		}
	case c.protocol == model.Anthropic:
		keep("beta", "true")
	case c.kind == kindGenerate && c.stream:
		keep("alt", "sse")
	}
	return passed
}

// passedHeader is what is passed on of the headers: those of the agents' programs
// that tell versions, features and sessions. What selects an account, a project,
// a method or a part of the answer is not among them.
func passedHeader(given http.Header) http.Header {
	given = given.Clone()
	withoutPrivate(given)
	passed := http.Header{}
	for name, values := range given {
		if passes(name) {
			passed[name] = values
		}
	}
	if !plainAccept(given.Values("Accept")) {
		passed.Set("Accept", "application/json")
	}
	return passed
}

func passes(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "User-Agent", "Idempotency-Key", "Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "Openai-Beta",
		"Originator", "Version", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Conversation-Id", "X-App", "X-Client-Request-Id", "X-Goog-Api-Client",
		"X-Session-Affinity", "X-Session-Id":
		return true
	}
	for _, prefix := range []string{"X-Stainless-", "X-Claude-Code-", "X-Codex-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// plainAccept says whether only forms are asked for whose usage can be read.
func plainAccept(lists []string) bool {
	for _, list := range lists {
		for part := range strings.SplitSeq(list, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.TrimSpace(media) {
			case "application/json", "text/event-stream", "*/*", "":
			default:
				return false
			}
		}
	}
	return true
}
