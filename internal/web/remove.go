package web

import (
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// removal is the question that is asked before something goes for good.
type removal struct {
	// Kind and Name are of what goes, such as "secret" and "TRACKER_TOKEN".
	Kind, Name string
	// Gone is what goes or stops with it; Effects say what happens then, and what stays.
	Gone    []string
	Effects []string
	// Uses keep it from going.
	Uses secrets.Uses
	// Action is where the answer goes, Back where to go without one.
	Action, Back string
	// Verb is what the button says.
	Verb string
}

// askRemoval shows the question; err is why the last answer could not be done.
func (s *server) askRemoval(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, section string, way []crumb, ask removal, err error) error {
	p := page{Title: strings.TrimSpace(ask.Verb + " " + ask.Kind), Section: section, Crumbs: way, Data: ask}
	if err != nil {
		return s.renderAgain(w, r, c, "remove", p, err)
	}
	return s.render(w, r, c, "remove", p)
}
