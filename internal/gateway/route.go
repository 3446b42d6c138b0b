package gateway

import (
	"crypto/subtle"
	"net/http"
	"path"
	"strings"

	"github.com/lineshaft/lineshaft/internal/model"
)

// ServeHTTP leads a request where it may go.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(1, 0)
	if r.Method == http.MethodConnect || r.URL.IsAbs() && r.URL.Host != s.base.Host {
		s.serveProxy(w, r)
		return
	}
	clean := path.Clean(r.URL.Path)
	if clean != r.URL.Path && clean+"/" != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	switch first {
	case string(model.Anthropic), string(model.OpenAI), string(model.Gemini):
		s.serveModel(w, r, model.Protocol(first), "/"+rest)
	case "api":
		s.serveAPI(w, r, rest)
	case "mcp":
		s.serveTool(w, r, rest)
	default:
		http.NotFound(w, r)
	}
}

// given is the key that a client has sent in any of the protocols' ways.
func given(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return token
	}
	return r.URL.Query().Get("key")
}

func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
