package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

func (s *server) searchRoutes() []route {
	return []route{{"GET /search", lineshaft.PermissionRunsRead, s.inTurn(s.searchPage)}}
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
func (s *server) searchPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	found, err := s.Control.Search(r.Context(), c, text)
	if err != nil {
		return err
	}
	factories, err := s.factoryNames(r.Context(), c)
	if err != nil {
		return err
	}
	data := searchData{Text: text, Groups: searchGroups(found, factories), Titles: rowsOf(c, found.Titles, factories)}
	// Words are what one looks through; an id or a name is what one goes to.
	if len(data.Groups) == 1 && len(data.Groups[0].Hits) == 1 && len(data.Titles) == 0 {
		http.Redirect(w, r, data.Groups[0].Hits[0].Href, http.StatusFound)
		return nil
	}
	if found.MoreTitles {
		data.More = "/runs?" + url.Values{"q": {text}}.Encode()
	}
	for i := range data.Titles {
		data.Titles[i].Picks, data.Titles[i].Pickable = false, false
	}
	return s.render(w, r, c, "search", page{Title: "Search", Data: data, Query: text})
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
		runs = append(runs, searchHit{Name: run.Title, Detail: run.ID, Href: "/runs/" + run.ID, Run: &found.Runs[i]})
	}
	for _, d := range found.Deliveries {
		deliveries = append(deliveries, searchHit{Name: d.ID, Detail: factories[d.FactoryUID], Href: webhookHref(d.FactoryUID, d.WebhookUID) + "/deliveries/" + url.PathEscape(d.ID)})
	}
	for _, f := range found.Factories {
		names = append(names, searchHit{Name: f.Name, Detail: f.Alias, Href: "/factories/" + url.PathEscape(f.UID)})
	}
	add("Runs by id", "runs", runs)
	add("Deliveries", "webhooks", deliveries)
	add("Factories", "factories", names)
	add("Agents", "agents", namedHits(found.Agents, factories, func(n overview.FoundNamed) string { return "/agents/" + url.PathEscape(n.UID) }))
	add("Automations", "automations", namedHits(found.Automations, factories, func(n overview.FoundNamed) string {
		return "/factories/" + url.PathEscape(n.FactoryUID) + "/automations/" + url.PathEscape(n.UID)
	}))
	add("Webhooks", "webhooks", namedHits(found.Webhooks, factories, func(n overview.FoundNamed) string { return webhookHref(n.FactoryUID, n.UID) }))
	add("Notifications", "notifications", namedHits(found.Notifications, factories, func(n overview.FoundNamed) string { return "/notifications/" + url.PathEscape(n.UID) }))
	return groups
}

func webhookHref(factoryUID, uid string) string {
	return "/factories/" + url.PathEscape(factoryUID) + "/webhooks/" + url.PathEscape(uid)
}

func namedHits(found []overview.FoundNamed, factories map[string]string, href func(overview.FoundNamed) string) []searchHit {
	var hits []searchHit
	for _, n := range found {
		hits = append(hits, searchHit{Name: n.Name, Detail: factories[n.FactoryUID], Href: href(n)})
	}
	return hits
}
