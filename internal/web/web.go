package web

import (
	"net/http"
	"sync"

	"github.com/lineshaft/lineshaft/internal/web/factories"
	"github.com/lineshaft/lineshaft/internal/web/hooks"
	"github.com/lineshaft/lineshaft/internal/web/overview"
	"github.com/lineshaft/lineshaft/internal/web/page"
	"github.com/lineshaft/lineshaft/internal/web/platform"
	"github.com/lineshaft/lineshaft/internal/web/runs"
)

// What the pages need, as those who assemble the server know it.
type (
	// Deps is what the pages need.
	Deps = page.Deps
	// IdentityProvider signs people in elsewhere.
	IdentityProvider = page.IdentityProvider
	// Setting is one setting of the server.
	Setting = page.Setting
	// Check is what an examination found out about one thing.
	Check = page.Check
	// Standard is what runs that choose nothing get.
	Standard = page.Standard
	// Certificate is one of the server's own.
	Certificate = page.Certificate
)

func rooms() []page.Room {
	return []page.Room{overview.Room(), runs.Room(), factories.Room(), hooks.Room(), platform.Room()}
}

func routes(site *page.Site) []page.Route {
	var list []page.Route
	for _, room := range rooms() {
		list = append(list, room.Routes(site)...)
	}
	return list
}

// looks reads templates and assets once in a process.
var looks = sync.OnceValues(func() (*page.Look, error) { return page.NewLook(rooms()...) })

// New returns the handler of all pages, to be mounted at "/".
func New(deps Deps) (http.Handler, error) {
	look, err := looks()
	if err != nil {
		return nil, err
	}
	site := page.NewSite(deps, look)
	return site.Handler(routes(site)), nil
}
