// Package platform has the pages of what runs are given and of who may do what: environments,
// secrets, workers, keys, sessions, the audit log and the settings of the server.
package platform

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
type pages struct {
	*page.Site

	// examining lets one examination run at a time.
	examining chan struct{}
}

// Room is these pages, for the site.
func Room() page.Room {
	return page.Room{Templates: templates, Funcs: template.FuncMap{"checkkind": checkKind}, Routes: func(site *page.Site) []page.Route {
		s := pages{site, make(chan struct{}, 1)}
		return slices.Concat(
			s.environmentRoutes(), s.secretRoutes(), s.workerRoutes(), s.apiKeyRoutes(), s.sessionRoutes(), s.auditRoutes(), s.settingRoutes(),
		)
	}}
}
