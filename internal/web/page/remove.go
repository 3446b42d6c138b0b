package page

import (
	"cmp"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Removal is the question that is asked before something is removed for good.
type Removal struct {
	// Section and Crumbs are the way to what goes.
	Section string
	Crumbs  Crumbs
	// ID, Kind and Name are of what goes, such as "secret" and "TRACKER_TOKEN".
	ID, Kind, Name string
	// Gone is what goes or stops with it; Effects say what happens then, and what stays.
	Gone    []string
	Effects []string
	// Uses keep it from going; RunTitle is of the run among them.
	Uses     secrets.Uses
	RunTitle string
	// Action is where the answer goes, Back where to go without one. To is where to go after the
	// removal, unless that is the section, and Done the notice there.
	Action, Back, To, Done string
	// Verb is what the button says.
	Verb string
}

// Removing is the two routes of a removal: of the question, and of the answer. What prevents
// the removal is shown with the question again.
func Removing(path string, needs lineshaft.Permission, ask func(*Request) (Removal, error), do func(r *Request, id string) error) []Route {
	question := func(r *Request) (Page, error) {
		asked, err := ask(r)
		asked.Action = r.URL.EscapedPath()
		return Page{Title: strings.TrimSpace(asked.Verb + " " + asked.Kind), Section: asked.Section, Crumbs: asked.Crumbs, Data: asked}, err
	}
	return []Route{Get(path, needs, Show("remove", question)), Post(path, needs, With(ask, func(r *Request, asked Removal) error {
		wrong := do(r, asked.ID)
		if wrong == nil {
			return r.Done(cmp.Or(asked.To, "/"+asked.Section), asked.Done)
		}
		if lineshaft.CodeOf(wrong) != lineshaft.CodeConflict {
			return wrong
		}
		p, err := question(r)
		return r.Again("remove", p, cmp.Or(err, wrong))
	}))}
}
