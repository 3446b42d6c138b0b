// Package factories has the pages of factories and of what they are made of: agents,
// automations with the editor of their triggers, schedules, repositories and revisions.
package factories

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
	// listPage is how many rows a page of a list has, longPage of one with short rows.
	listPage = 25
	longPage = 100
)

//go:embed templates
var templates embed.FS

// pages are those of this room.
type pages struct{ *page.Site }

// Room is these pages, for the site.
func Room() page.Room {
	return page.Room{Templates: templates, Funcs: template.FuncMap{"cronwords": timingWords}, Routes: func(site *page.Site) []page.Route {
		s := pages{site}
		return slices.Concat(
			s.factoryRoutes(), s.repositoryRoutes(), s.revisionRoutes(), s.agentRoutes(), s.automationRoutes(), s.scheduleRoutes(),
		)
	}}
}
