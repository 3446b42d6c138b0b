package platform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// auditPerPage is how many entries a page of the audit log has.
const auditPerPage = 50

func (s pages) auditRoutes() []page.Route {
	return []page.Route{
		page.Get("/audit", lineshaft.PermissionAudit, page.InTurn(s.auditPage)),
		page.Get("/audit/export", lineshaft.PermissionAudit, s.exportAudit),
	}
}

// auditForm is the part of the log that is asked for, as it is in the address.
type auditForm struct {
	// By is actor, action or target, and Value which one.
	By, Value string
	// Since and Until are days in UTC, both included.
	Since, Until string
}

func readAuditForm(r *page.Request) auditForm {
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
			return filter, lineshaft.Invalid("Filter", "choose whether %q is who, what was done, or a target", f.Value)
		}
	default:
		return filter, lineshaft.Invalid("Filter", "choose who, what was done, or a target")
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

func (f auditForm) address(path string) string {
	values := url.Values{}
	for name, value := range map[string]string{"by": f.By, "value": f.Value, "since": f.Since, "until": f.Until} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return page.WithQuery(path, values)
}

// Only is the address of what has one thing in common, in the same span of time.
func (f auditForm) Only(by, value string) string {
	f.By, f.Value = by, value
	return f.address("/audit")
}

// auditRow is an entry with the name of its target, and where that is shown.
type auditRow struct {
	lineshaft.AuditEntry

	Name    string
	Href    string
	Details []page.Option
}

type auditData struct {
	page.Pager

	Form    auditForm
	Entries []auditRow
	Export  string
	// Filtered says that a filter is set.
	Filtered bool
	Actions  []string
	// People are owners of keys, whose uids are suggested by their names: names may be alike.
	People []page.Option
}

func (s pages) auditPage(r *page.Request) error {
	form := readAuditForm(r)
	data := auditData{Form: form, Filtered: form != auditForm{}, Export: form.address("/audit/export"), Actions: auditActions()}
	p := page.Page{Title: "Audit log", Section: "audit"}
	var err error
	if data.People, err = s.auditPeople(r); err != nil {
		return err
	}
	filter, err := form.filter()
	if err == nil {
		var found access.AuditPage
		if found, err = s.Control.ListAudit(r.Context(), r.Caller, access.AuditQuery{Filter: filter, Limit: auditPerPage, Cursor: r.Cursor()}); err == nil {
			var names auditNames
			if names, err = s.auditNames(r, found.Entries); err != nil {
				return err
			}
			data.fill(found.Entries, names)
			data.Pager = r.Pager(found.Next)
			p.Data = data
			return r.Render("audit", p)
		}
	}
	p.Data = data
	return r.Again("audit", p, err)
}

// auditPeople are the owners of the newest keys. Everyone else is chosen by uid, or from an entry.
func (s pages) auditPeople(r *page.Request) (people []page.Option, err error) {
	keys, err := s.Control.ListAPIKeys(r.Context(), r.Caller, 100, "")
	for _, key := range keys.Items {
		one := page.Option{Name: key.Owner.DisplayName, Value: key.Owner.UID}
		if one.Name != "" && !slices.Contains(people, one) {
			people = append(people, one)
		}
	}
	return people, err
}

// auditNames are names that entries do not hold, and where what has them is shown, by its type and its id.
type auditNames map[string]map[string]page.Option

// auditNames reads the titles of runs and the names of factories, once each for a page, and each key and live session that
// the entries are about.
func (s pages) auditNames(r *page.Request, entries []lineshaft.AuditEntry) (auditNames, error) {
	names := auditNames{"run": {}, "factory": {}, "api_key": {}, "session": {}}
	var runIDs []string
	factories := false
	for _, entry := range entries {
		var err error
		switch _, known := names[entry.TargetType][entry.TargetID]; {
		case known:
		case entry.TargetType == "run":
			runIDs = append(runIDs, entry.TargetID)
		case entry.TargetType == "factory":
			factories = factories || entry.Detail["name"] == ""
		case entry.TargetType == "api_key":
			names["api_key"][entry.TargetID], err = s.auditedKey(r, entry.TargetID)
		case entry.TargetType == "session":
			names["session"][entry.TargetID], err = s.auditedSession(r, entry.TargetID)
		}
		if base.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	if len(runIDs) > 0 {
		found, err := s.Control.RunsByID(r.Context(), r.Caller, runIDs)
		if err != nil {
			return nil, err
		}
		for _, run := range found {
			names["run"][run.ID] = page.Option{Name: run.Title, Value: page.Under("runs", run.ID)}
		}
	}
	if !factories {
		return names, nil
	}
	found, err := s.FactoryNames(r.Context(), r.Caller)
	for uid, name := range found {
		names["factory"][uid] = page.Option{Name: name}
	}
	return names, err
}

// auditedKey is a key in the list of those that can be used, or have ended.
func (s pages) auditedKey(r *page.Request, id string) (page.Option, error) {
	key, err := s.Control.GetAPIKey(r.Context(), r.Caller, id)
	if err != nil {
		return page.Option{}, err
	}
	at := "/keys"
	if !key.Usable(time.Now()) {
		at += "?show=ended"
	}
	return page.Option{Name: key.Name, Value: at + "#key-" + key.ID}, nil
}

// auditedSession is a browser that is still signed in.
func (s pages) auditedSession(r *page.Request, id string) (page.Option, error) {
	session, err := s.Control.GetSession(r.Context(), r.Caller, id)
	if err != nil {
		return page.Option{}, err
	}
	return page.Option{Name: page.BrowserName(session.UserAgent), Value: "/sessions?of=everybody#session-" + session.ID}, nil
}

func (d *auditData) fill(entries []lineshaft.AuditEntry, names auditNames) {
	for _, entry := range entries {
		known := names[entry.TargetType][entry.TargetID]
		row := auditRow{AuditEntry: entry, Name: cmp.Or(entry.Detail["name"], known.Name), Href: cmp.Or(known.Value, auditTarget(entry))}
		for _, name := range slices.Sorted(maps.Keys(entry.Detail)) {
			row.Details = append(row.Details, page.Option{Name: name, Value: entry.Detail[name]})
		}
		d.Entries = append(d.Entries, row)
	}
}

// auditTarget is where the target of an entry is shown, if it has a page that its entry alone leads to.
func auditTarget(e lineshaft.AuditEntry) string {
	if e.TargetID == "" || strings.HasSuffix(e.Action, ".delete") {
		return ""
	}
	switch e.TargetType {
	case "secret", "environment", "schedule", "agent", "notification":
		return page.Under(e.TargetType+"s", e.TargetID)
	case "factory":
		return page.FactoryAddress(e.TargetID)
	case "automation":
		if factory := e.Detail["factory"]; factory != "" {
			return page.AutomationAddress(factory, e.TargetID)
		}
	case "webhook":
		if factory := e.Detail["factory_uid"]; factory != "" {
			return page.WebhookAddress(factory, e.TargetID)
		}
	case "delivery":
		if factory, webhook := e.Detail["factory_uid"], e.Detail["webhook"]; factory != "" && webhook != "" {
			return page.WebhookAddress(factory, webhook) + page.Under("deliveries", e.TargetID)
		}
	}
	return ""
}

// auditActions are suggested as you type; others are also allowed.
func auditActions() []string {
	return []string{
		"agent.create", "agent.delete", "agent.update", "apikey.create", "apikey.revoke", "automation.create", "automation.delete",
		"automation.fire_failed", "automation.update", "delivery.redeliver", "environment.create", "environment.delete", "environment.update",
		"factory.create", "factory.delete", "factory.sync", "factory.update", "run.cancel", "run.create", "run.delete", "run.followup", "run.interrupt",
		"schedule.create", "schedule.delete", "schedule.pause", "schedule.resume", "schedule.update", "secret.create", "secret.delete",
		"secret.update", "secret.use", "session.create", "webhook.create", "webhook.delete", "webhook.rotate",
		"webhook.test", "webhook.update",
	}
}

// exportBatch is how many entries of an export are in memory at once.
const exportBatch = 500

// exportedEntry is an entry as the API shows it.
type exportedEntry struct {
	ID         string            `json:"id"`
	Time       time.Time         `json:"time"`
	Actor      exportedActor     `json:"actor"`
	KeyID      string            `json:"key_id,omitempty"`
	Action     string            `json:"action"`
	TargetType string            `json:"target_type,omitempty"`
	TargetID   string            `json:"target_id,omitempty"`
	RemoteAddr string            `json:"remote_addr,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Detail     map[string]string `json:"detail,omitempty"`
}

type exportedActor struct {
	Type        string `json:"type,omitempty"`
	UID         string `json:"uid,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
}

// exportAudit sends all that a filter selects, a batch at a time, newest first.
func (s pages) exportAudit(r *page.Request) error {
	filter, err := readAuditForm(r).filter()
	if err != nil {
		return err
	}
	query := access.AuditQuery{Filter: filter, Limit: exportBatch}
	batch, err := s.Control.ListAudit(r.Context(), r.Caller, query)
	if err != nil {
		return err
	}
	page.AsAttachment(r.W, "application/x-ndjson", "lineshaft-audit.ndjson")
	out := http.NewResponseController(r.W)
	for {
		_ = out.SetWriteDeadline(time.Now().Add(page.WriteWithin)) // of each batch, not of the whole
		if writeEntries(r.W, batch.Entries) != nil || out.Flush() != nil {
			return nil //nolint:nilerr // the reader has gone
		}
		if batch.Next == "" {
			return nil
		}
		query.Cursor = batch.Next
		if batch, err = s.Control.ListAudit(r.Context(), r.Caller, query); err == nil {
			err = s.Control.Recheck(r.Context(), r.Caller)
		}
		if err != nil {
			// The status is sent already: anyone who reads the file must see that it is not whole.
			s.Logger.ErrorContext(r.Context(), "export of the audit log broke off", "err", err)
			_, _ = io.WriteString(r.W, `{"error":"the export broke off here; start it again"}`+"\n")
			return nil
		}
	}
}

func writeEntries(w io.Writer, entries []lineshaft.AuditEntry) error {
	encoder := json.NewEncoder(w)
	for _, e := range entries {
		if err := encoder.Encode(exportedEntry{
			ID: e.ID, Time: e.Time, Actor: exportedActor{string(e.Actor.Type), e.Actor.UID, e.Actor.DisplayName}, KeyID: e.KeyID, Action: e.Action,
			TargetType: e.TargetType, TargetID: e.TargetID, RemoteAddr: e.RemoteAddr, RequestID: e.RequestID, Detail: e.Detail,
		}); err != nil {
			return fmt.Errorf("write entry: %w", err)
		}
	}
	return nil
}
