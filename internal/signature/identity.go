package signature

import (
	"net/http"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// source is a Source with the names that headers are stored under.
type source struct {
	place  Source
	header string
	with   string
}

func newSource(place Source) source {
	return source{
		place:  place,
		header: http.CanonicalHeaderKey(place.Header),
		with:   http.CanonicalHeaderKey(place.with),
	}
}

// Identity returns the provider's own delivery id and where it came from ("header
// X-GitHub-Delivery", "body id"), or nothing if there is none that can be trusted
// to be one: it must be there once, and be printable ASCII of at most 256
// characters. Call it for authentic requests only.
func (v *Verifier) Identity(r Request) (id, from string) {
	for _, s := range v.ids {
		if id := s.find(&r); id != "" && len(id) <= maxID && printable(id) {
			return id, s.place.String()
		}
	}
	return "", ""
}

func (s *source) find(r *Request) string {
	if s.header == "" {
		return jsontext.MemberText(r.Body, s.place.Body)
	}
	if s.with != "" && len(r.Header[s.with]) == 0 {
		return ""
	}
	if values := r.Header[s.header]; len(values) == 1 {
		return values[0]
	}
	return ""
}
