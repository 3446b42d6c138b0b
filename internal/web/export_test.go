package web

import (
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft/internal/web/page"
)

// Routes is the table of routes, for tests that call each.
func Routes() []page.Route { return routes(&page.Site{}) }

// Patterns is every route there is, with and without a session, in order.
func Patterns() []string {
	list := slices.Collect(maps.Keys((&page.Site{}).OpenRoutes()))
	for _, r := range Routes() {
		list = append(list, r.Pattern)
	}
	slices.Sort(list)
	return list
}

// LiveRoutes are the routes that open pages read by themselves.
func LiveRoutes() []string { return slices.Concat(page.LiveParts(), page.LivePages()) }
