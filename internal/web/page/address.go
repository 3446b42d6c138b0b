package page

import (
	"net/url"

	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// Under is an address below a noun's, whatever ids hold.
func Under(noun, id string, rest ...string) string {
	address := "/" + noun + "/" + url.PathEscape(id)
	for _, part := range rest {
		address += "/" + url.PathEscape(part)
	}
	return address
}

// WithQuery is an address with values.
func WithQuery(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// FactoryAddress is the page of a factory.
func FactoryAddress(uid string) string { return Under("factories", uid) }

// AutomationAddress is the page of an automation.
func AutomationAddress(factoryUID, uid string) string {
	return Under("factories", factoryUID, "automations", uid)
}

// WebhookAddress is the page of a webhook.
func WebhookAddress(factoryUID, uid string) string {
	return Under("factories", factoryUID, "webhooks", uid)
}

// useAddress is the page of a definition that names a thing; empty if there is none.
func useAddress(use secrets.Use) string {
	switch use.Kind {
	case "automation":
		return AutomationAddress(use.FactoryUID, use.UID)
	case "webhook":
		return WebhookAddress(use.FactoryUID, use.UID)
	case "agent", "environment", "schedule":
		return Under(use.Kind+"s", use.UID)
	case "factory":
		return FactoryAddress(use.UID)
	}
	return ""
}

// Pager is where the other pages of a list are; empty without them.
type Pager struct{ Next, First string }

// Pager is that of the list that is asked for, whose next page begins at a cursor.
func (r *Request) Pager(next string) Pager {
	return Pager{r.withCursor(next), r.withoutCursor()}
}

// withCursor is this address with another cursor; empty without one.
func (r *Request) withCursor(cursor string) string {
	if cursor == "" {
		return ""
	}
	query := r.URL.Query()
	query.Set("cursor", cursor)
	return WithQuery(r.URL.EscapedPath(), query)
}

// withoutCursor is the first page of a list; empty on that itself.
func (r *Request) withoutCursor() string {
	query := r.URL.Query()
	if query.Get("cursor") == "" {
		return ""
	}
	query.Del("cursor")
	return WithQuery(r.URL.EscapedPath(), query)
}

// Cursor is where the page of a list begins that is asked for; empty for the first.
func (r *Request) Cursor() string { return r.URL.Query().Get("cursor") }
