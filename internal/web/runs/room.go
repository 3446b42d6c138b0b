// Package runs has the pages of runs: the list with its filters, the page of one that follows
// its transcript, starting, steering and cancelling them, and the search that finds them and
// everything else.
package runs

import (
	"embed"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	see   = lineshaft.PermissionRunsRead
	start = lineshaft.PermissionRunsStart
)

//go:embed templates
var templates embed.FS

// pages are those of this room.
type pages struct{ *page.Site }

// Room is these pages, for the site.
func Room() page.Room {
	return page.Room{Templates: templates, Routes: func(site *page.Site) []page.Route {
		s := pages{site}
		return slices.Concat(s.searchRoutes(), s.runListRoutes(), s.runRoutes())
	}}
}
