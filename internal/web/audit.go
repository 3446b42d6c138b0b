package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

// auditPerPage is how many entries a page of the audit log has.
const auditPerPage = 50

func (s *server) auditRoutes() []route {
	return []route{
		{"GET /audit", lineshaft.PermissionAudit, s.inTurn(s.auditPage)},
		{"GET /audit/export", lineshaft.PermissionAudit, s.exportAudit},
	}
}

// auditForm is what of the log is asked for, as it is in the address.
type auditForm struct {
	// By is actor, action or target, and Value which one.
	By, Value string
	// Since and Until are days in UTC, both included.
	Since, Until string
}

func readAuditForm(r *http.Request) auditForm {
	query := r.URL.Query()
	text := func(name string) string { return strings.TrimSpace(query.Get(name)) }
	return auditForm{By: text("by"), Value: text("value"), Since: text("since"), Until: text("until")}
}

func (f auditForm) filter() (lineshaft.AuditFilter, error) {
	var filter lineshaft.AuditFilter
	switch f.By {
	case "actor":
		filter.Actor = f.Value
	case "action":
		filter.Action = f.Value
	case "target":
		filter.Target = f.Value
	case "":
		if f.Value != "" {
			return filter, lineshaft.Invalid("Filter", "say whether %q is who, what was done, or to what", f.Value)
		}
	default:
		return filter, lineshaft.Invalid("Filter", "choose who, what was done, or to what")
	}
	var err error
	if filter.Since, err = auditDay("From", f.Since); err != nil {
		return filter, err
	}
	if filter.Until, err = auditDay("To", f.Until); err == nil && !filter.Until.IsZero() {
		filter.Until = filter.Until.AddDate(0, 0, 1)
	}
	return filter, err
}

func auditDay(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 {
		return time.Time{}, lineshaft.Invalid(field, "write the day as 2026-12-31")
	}
	return day, nil
}

// address is where the log is with this filter.
func (f auditForm) address(path string) string {
	values := url.Values{}
	for name, value := range map[string]string{"by": f.By, "value": f.Value, "since": f.Since, "until": f.Until} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return withQuery(path, values)
}

// Only is the address of what has one thing in common, in the same span of time.
func (f auditForm) Only(by, value string) string {
	f.By, f.Value = by, value
	return f.address("/audit")
}

// auditRow is an entry with where its target is shown.
type auditRow struct {
	lineshaft.AuditEntry

	Href    string
	Details []option
}

type auditData struct {
	Form        auditForm
	Entries     []auditRow
	Next, First string
	Export      string
	// Filtered says that a filter is set.
	Filtered bool
	Actions  []string
}

func (s *server) auditPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form := readAuditForm(r)
	data := auditData{Form: form, Filtered: form != auditForm{}, Export: form.address("/audit/export"), Actions: auditActions()}
	p := page{Title: "Audit log", Section: "audit"}
	filter, err := form.filter()
	if err == nil {
		var found access.AuditPage
		if found, err = s.Control.ListAudit(r.Context(), c, access.AuditQuery{Filter: filter, Limit: auditPerPage, Cursor: r.URL.Query().Get("cursor")}); err == nil {
			data.fill(found.Entries)
			data.Next, data.First = pageAddress(r, found.Next), firstAddress(r)
			p.Data = data
			return s.render(w, r, c, "audit", p)
		}
	}
	p.Data = data
	return s.renderAgain(w, r, c, "audit", p, err)
}

func (d *auditData) fill(entries []lineshaft.AuditEntry) {
	for _, entry := range entries {
		row := auditRow{AuditEntry: entry, Href: auditTarget(entry)}
		for _, name := range slices.Sorted(maps.Keys(entry.Detail)) {
			row.Details = append(row.Details, option{Name: name, Value: entry.Detail[name]})
		}
		d.Entries = append(d.Entries, row)
	}
}

// auditTarget is where the target of an entry is shown, if it has a page that needs
// no more than its id.
func auditTarget(e lineshaft.AuditEntry) string {
	nouns := map[string]string{
		"run": "runs", "secret": "secrets", "environment": "environments", "schedule": "schedules", "factory": "factories", "agent": "agents",
	}
	if noun := nouns[e.TargetType]; noun != "" && e.TargetID != "" && !strings.HasSuffix(e.Action, ".delete") {
		return under(noun, e.TargetID)
	}
	return ""
}

// auditActions are offered while one types; others can be written as well.
func auditActions() []string {
	return []string{
		"agent.create", "agent.delete", "agent.update", "apikey.create", "apikey.revoke", "automation.create", "automation.delete",
		"automation.fire_failed", "automation.update", "delivery.redeliver", "environment.create", "environment.delete", "environment.update",
		"factory.create", "factory.delete", "factory.sync", "factory.update", "run.cancel", "run.create", "run.delete", "run.followup", "run.interrupt",
		"schedule.create", "schedule.delete", "schedule.pause", "schedule.resume", "schedule.update", "secret.create", "secret.delete",
		"secret.update", "secret.use", "session.create", "webhook.create", "webhook.delete", "webhook.rotate", "webhook.update",
	}
}
