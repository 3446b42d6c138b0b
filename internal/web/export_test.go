package web

import (
	"maps"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// Route is a row of the table of routes.
type Route struct {
	Pattern string
	Needs   lineshaft.Permission
}

// Routes is the table of routes, for tests that call each.
func Routes() []Route {
	var list []Route
	for _, r := range (&server{}).routes() {
		list = append(list, Route{r.pattern, r.needs})
	}
	return list
}

// Patterns is every route there is, with and without a session, in order.
func Patterns() []string {
	list := slices.Collect(maps.Keys((&server{}).openRoutes()))
	for _, r := range Routes() {
		list = append(list, r.Pattern)
	}
	slices.Sort(list)
	return list
}

// TriggerWords is a trigger in words.
func TriggerWords(t lineshaft.Trigger) string {
	text := triggerHead(t)
	for _, c := range triggerConditions(t) {
		text += "; " + c.Field + " " + c.Text
	}
	return text
}

// LiveRoutes are the routes that open pages read by themselves.
func LiveRoutes() []string { return slices.Concat(liveParts(), livePages()) }

// WebhookKinds are the ways in which a sender may prove who it is.
func WebhookKinds() []webhookKind { return webhookKinds() } //nolint:revive // its fields are enough for tests
