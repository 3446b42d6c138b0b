// Package overview has the first page: numbers, charts and what needs attention; and the page
// of what runs cost.
package overview

import (
	"embed"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

//go:embed templates
var templates embed.FS

// pages are those of this room.
type pages struct{ *page.Site }

// Room is this page, for the site.
func Room() page.Room {
	return page.Room{Templates: templates, Routes: func(site *page.Site) []page.Route {
		s := pages{site}
		return []page.Route{
			page.Get("/{$}", lineshaft.PermissionRunsRead, s.overviewPage),
			page.Get("/costs", lineshaft.PermissionFactoriesRead, page.InTurn(page.Show("costs", s.costsPage))),
			page.Get("/costs/export", lineshaft.PermissionFactoriesRead, page.InTurn(s.exportCosts)),
		}
	}}
}
