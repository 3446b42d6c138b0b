// Package hooks has the pages of what goes in and out by HTTP: webhooks with their deliveries,
// and notifications with their callbacks.
package hooks

import (
	"embed"
	"html/template"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	see  = lineshaft.PermissionFactoriesRead
	edit = lineshaft.PermissionFactoriesManage
)

//go:embed templates
var templates embed.FS

// pages are those of this room.
type pages struct{ *page.Site }

// Room is these pages, for the site.
func Room() page.Room {
	return page.Room{Templates: templates, Funcs: template.FuncMap{
		"hookkind":  hookKindName,
		"guide":     hookGuide,
		"kindwords": kindWords,
		"operator":  checkWords,
		"overlaps":  overlaps,
		"verifiers": verifiers,
	}, Routes: func(site *page.Site) []page.Route {
		s := pages{site}
		return slices.Concat(s.startRoutes(), s.webhookRoutes(), s.deliveryRoutes(), s.redeliverAllRoutes(), s.notificationRoutes())
	}}
}
