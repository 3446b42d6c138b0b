package runs

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) searchRoutes() []page.Route {
	return []page.Route{page.Get("/search", see, page.InTurn(s.searchPage))}
}

// searchData is what a search found, with the addresses to go to.
type searchData struct {
	Text   string
	Groups []searchGroup
	// Titles are runs with the words, More the list of all of them.
	Titles []runRow
	More   string
}

// searchGroup is what was found of one kind.
type searchGroup struct {
	Name, Icon string
	Hits       []searchHit
}

type searchHit struct {
	Name, Detail, Href string
	// Run is set when the hit is one.
	Run *lineshaft.Run
}

// searchPage shows what was found, or goes straight to what can only be meant.
func (s pages) searchPage(r *page.Request) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	found, err := s.Control.Search(r.Context(), r.Caller, text)
	if err != nil {
		return err
	}
	factories, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	data := searchData{Text: text, Groups: searchGroups(found, factories), Titles: rowsOf(r.Caller, found.Titles, factories)}
	// Words are what one looks through; an id or a name is what one goes to.
	if len(data.Groups) == 1 && len(data.Groups[0].Hits) == 1 && len(data.Titles) == 0 {
		http.Redirect(r.W, r.Request, data.Groups[0].Hits[0].Href, http.StatusFound)
		return nil
	}
	if found.MoreTitles {
		data.More = "/runs?" + url.Values{"q": {text}}.Encode()
	}
	for i := range data.Titles {
		data.Titles[i].Picks, data.Titles[i].Pickable = false, false
	}
	return r.Render("search", page.Page{Title: "Search", Data: data, Query: text})
}

func searchGroups(found overview.Found, factories map[string]string) []searchGroup {
	var groups []searchGroup
	add := func(name, icon string, hits []searchHit) {
		if len(hits) > 0 {
			groups = append(groups, searchGroup{name, icon, hits})
		}
	}
	var runs, deliveries, names []searchHit
	for i, run := range found.Runs {
		runs = append(runs, searchHit{Name: run.Title, Detail: run.ID, Href: page.Under("runs", run.ID), Run: &found.Runs[i]})
	}
	for _, d := range found.Deliveries {
		at := page.Under("factories", d.FactoryUID, "webhooks", d.WebhookUID, "deliveries", d.ID)
		deliveries = append(deliveries, searchHit{Name: d.ID, Detail: factories[d.FactoryUID], Href: at})
	}
	for _, f := range found.Factories {
		names = append(names, searchHit{Name: f.Name, Detail: f.Alias, Href: page.FactoryAddress(f.UID)})
	}
	add("Runs by id", "runs", runs)
	add("Deliveries", "webhooks", deliveries)
	add("Factories", "factories", names)
	under := func(noun string) func(factoryUID, uid string) string {
		return func(_, uid string) string { return page.Under(noun, uid) }
	}
	for _, kind := range []struct {
		name, icon string
		found      []overview.FoundNamed
		href       func(factoryUID, uid string) string
	}{
		{"Agents", "agents", found.Agents, under("agents")},
		{"Automations", "automations", found.Automations, page.AutomationAddress},
		{"Webhooks", "webhooks", found.Webhooks, page.WebhookAddress},
		{"Notifications", "notifications", found.Notifications, under("notifications")},
	} {
		var hits []searchHit
		for _, n := range kind.found {
			hits = append(hits, searchHit{Name: n.Name, Detail: factories[n.FactoryUID], Href: kind.href(n.FactoryUID, n.UID)})
		}
		add(kind.name, kind.icon, hits)
	}
	return groups
}
