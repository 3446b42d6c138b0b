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
	data.Groups = append(data.Groups, searchCodes(text)...)
	if err := s.searchTeam(r, &data); err != nil {
		return err
	}
	if r.Asked() {
		return r.Fragment("search", "hits", suggestions(r.Caller.Role, data))
	}
	if href := data.only(); href != "" {
		http.Redirect(r.W, r.Request, href, http.StatusFound)
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
	add("Runs", "runs", runs)
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
		{"Schedules", "schedules", found.Schedules, under("schedules")},
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

// searchCodes leads from an error code, or so much of one that it is no word of everyday, to the runs that failed with it.
func searchCodes(text string) []searchGroup {
	start := strings.ReplaceAll(strings.ToLower(text), " ", "_")
	var hits []searchHit
	for _, code := range lineshaft.Codes() {
		if start == string(code) || strings.Contains(start, "_") && strings.HasPrefix(string(code), start) {
			hits = append(hits, searchHit{Name: "Runs that failed with " + string(code), Href: runView{}.Address("error", string(code))})
		}
	}
	if len(hits) == 0 {
		return nil
	}
	return []searchGroup{{"Error codes", "runs", hits}}
}

// teamLimit is how many secrets are searched for a name.
const teamLimit = 200

// only is the page to go to at once: words are for browsing the results; an id or a name leads
// to one thing, if it is the only result or the only exact match.
func (d searchData) only() string {
	var all, same []string
	for _, group := range d.Groups {
		for _, hit := range group.Hits {
			all = append(all, hit.Href)
			if strings.EqualFold(hit.Name, d.Text) {
				same = append(same, hit.Href)
			}
		}
	}
	switch {
	case len(d.Titles) > 0:
	case len(all) == 1:
		return all[0]
	case len(same) == 1:
		return same[0]
	}
	return ""
}

// searchTeam finds what belongs to the whole team by a part of its name.
func (s pages) searchTeam(r *page.Request, data *searchData) error {
	add := func(name, icon string, hits []searchHit) {
		if len(hits) > 0 {
			data.Groups = append(data.Groups, searchGroup{name, icon, hits[:min(len(hits), overview.SearchLimit)]})
		}
	}
	text := strings.ToLower(data.Text)
	fits := func(name string) bool { return text != "" && strings.Contains(strings.ToLower(name), text) }
	var environments, secrets, workers []searchHit
	if r.Caller.Role.May(lineshaft.PermissionFactoriesRead) {
		options, err := s.EnvironmentOptions(r)
		if err != nil {
			return err
		}
		for _, one := range options {
			if fits(one.Name) {
				environments = append(environments, searchHit{Name: one.Name, Href: page.Under("environments", one.Value)})
			}
		}
	}
	if r.Caller.Role.May(lineshaft.PermissionSecrets) && len(r.Caller.FactoryUIDs) == 0 {
		found, err := s.Control.ListSecrets(r.Context(), r.Caller, "", teamLimit, "")
		if err != nil {
			return err
		}
		for _, one := range found.Items {
			if fits(one.Name) {
				secrets = append(secrets, searchHit{Name: one.Name, Href: page.Under("secrets", one.Name)})
			}
		}
	}
	if r.Caller.Role.May(lineshaft.PermissionServerRead) {
		found, err := s.Control.Workers(r.Context(), r.Caller)
		if err != nil {
			return err
		}
		for _, one := range found {
			if fits(one.WorkerHost) {
				workers = append(workers, searchHit{Name: one.WorkerHost, Href: page.Under("workers", one.WorkerHost, "runs")})
			}
		}
	}
	add("Environments", "environments", environments)
	add("Secrets", "secrets", secrets)
	add("Workers", "workers", workers)
	return nil
}

// suggested is one of the things that are offered while the reader types.
type suggested struct{ Kind, Icon, Name, Detail, Href string }

// maxSuggested is how many are offered, and suggestedEach how many of one kind.
const (
	maxSuggested  = 12
	suggestedEach = 5
)

// searchActions are what people do most.
var searchActions = []struct {
	name, href, icon string
	needs            lineshaft.Permission
}{
	{"New run", "/runs/new", "runs", lineshaft.PermissionRunsStart},
	{"Start runs from a webhook", "/start", "webhooks", lineshaft.PermissionFactoriesManage},
	{"New factory", "/factories/new", "factories", lineshaft.PermissionFactoriesManage},
	{"New webhook", "/webhooks/new", "webhooks", lineshaft.PermissionFactoriesManage},
	{"New automation", "/automations/new", "automations", lineshaft.PermissionFactoriesManage},
	{"New schedule", "/schedules/new", "schedules", lineshaft.PermissionFactoriesManage},
	{"New notification", "/notifications/new", "notifications", lineshaft.PermissionFactoriesManage},
	{"Failed runs", "/runs?state=FAILED&state=ERROR", "runs", lineshaft.PermissionRunsRead},
	{"Runs that wait for an answer", "/runs?state=BLOCKED", "runs", lineshaft.PermissionRunsRead},
	{"Deliveries that matched nothing", "/deliveries?only=unmatched", "deliveries", lineshaft.PermissionFactoriesRead},
	{"Deliveries that were rejected", "/deliveries?only=refused", "deliveries", lineshaft.PermissionFactoriesRead},
}

// oneOf is the word for one of a group.
func oneOf(group string) string {
	if stem, ok := strings.CutSuffix(group, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(group, "s")
}

// suggestions are pages, actions and what was found, for a text that is still being typed.
func suggestions(role lineshaft.Role, data searchData) []suggested {
	text := strings.ToLower(data.Text)
	var list []suggested
	for _, section := range page.Sections(role) {
		if strings.Contains(strings.ToLower(section.Name), text) {
			list = append(list, suggested{"Page", section.Icon, section.Name, "", section.Href})
		}
	}
	for _, action := range searchActions {
		if role.May(action.needs) && strings.Contains(strings.ToLower(action.name), text) {
			list = append(list, suggested{"Action", action.icon, action.name, "", action.href})
		}
	}
	list = list[:min(len(list), maxSuggested)]
	if text == "" {
		return list
	}
	list = list[:min(len(list), suggestedEach)]
	for _, group := range data.Groups {
		for _, hit := range group.Hits[:min(len(group.Hits), suggestedEach)] {
			list = append(list, suggested{oneOf(group.Name), group.Icon, hit.Name, hit.Detail, hit.Href})
		}
	}
	for _, run := range data.Titles[:min(len(data.Titles), suggestedEach)] {
		list = append(list, suggested{"Run", "runs", run.Title, page.StateName(run.State), page.Under("runs", run.ID)})
	}
	return list[:min(len(list), maxSuggested)]
}
