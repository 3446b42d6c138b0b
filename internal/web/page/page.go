package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/rate"
)

// noticeCookie carries one sentence over the redirect after a change.
const noticeCookie = "lineshaft_notice"

// packFrom is the size from which compressing a page pays.
const packFrom = 1 << 10

// Crumb is a step of the way to a page.
type Crumb struct{ Name, Href string }

// Crumbs are the way to a page.
type Crumbs []Crumb

// To is the way with one step more.
func (c Crumbs) To(name, href string) Crumbs { return append(c[:len(c):len(c)], Crumb{name, href}) }

// Page is what every template gets. A handler fills in the first group.
type Page struct {
	Title string
	// Mark is put before the title in the tab, and Icon is the colour of the dot in its
	// picture: good, bad, warn, busy or idle.
	Mark, Icon string
	// Section is the entry of the menu that is marked, such as "runs".
	Section string
	Crumbs  Crumbs
	Data    any
	// Error is what was wrong with a form that is shown again.
	Error *lineshaft.Error

	Caller  *lineshaft.Caller
	Menu    []menuGroup
	Theme   string
	Density string
	Zone    string
	Warning string
	Notice  string
	Version string
	Path    string
	Query   string
	// absent names the harnesses that cannot run on this server.
	absent func() []string
}

// Parent names what the page is part of, so that two pages of one name can be told apart
// among the tabs of a browser.
func (p Page) Parent() string {
	if len(p.Crumbs) == 0 {
		return ""
	}
	return p.Crumbs[len(p.Crumbs)-1].Name
}

// Picture is the file of the page's icon.
func (p Page) Picture() string {
	if p.Icon == "" {
		return "icon.svg"
	}
	return "icon-" + p.Icon + ".svg"
}

// May says whether the reader's role grants a permission: what it does not, has no button.
func (p Page) May(needs lineshaft.Permission) bool {
	return p.Caller != nil && p.Caller.Role.May(needs)
}

// Wrong returns the complaint about a form's field.
func (p Page) Wrong(field string) string {
	if p.Error == nil || p.Error.Field != field {
		return ""
	}
	return Capital(p.Error.Message)
}

// Harnesses are the programs that runs can choose. Programs that are not set up here can
// also be chosen: another worker may have them.
func (p Page) Harnesses() []Option {
	var absent []string
	if p.absent != nil {
		absent = p.absent()
	}
	var list []Option
	for _, name := range lineshaft.HarnessTypes() {
		o := Option{name, name}
		if slices.Contains(absent, name) {
			o.Name += " (not set up on this server)"
		}
		list = append(list, o)
	}
	return list
}

// trouble is what people call a status.
func trouble(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "There is nothing here"
	case status == http.StatusForbidden:
		return "You may not do this"
	case status == http.StatusTooManyRequests:
		return "Too many requests"
	case status >= http.StatusInternalServerError:
		return "Something went wrong"
	}
	return "This is not possible"
}

// Of is the page of a section itself, under its name in the menu.
func Of(section string, data any) Page {
	return Page{Title: sectionName(section), Section: section, Data: data}
}

// Below is a page below that of a section.
func Below(section, title string, data any) Page {
	return Page{Title: title, Section: section, Crumbs: Way(section), Data: data}
}

// Way leads to the page of a section.
func Way(section string) Crumbs { return Crumbs{{sectionName(section), "/" + section}} }

// Render shows a page.
func (r *Request) Render(name string, p Page) error {
	p.Caller = &r.Caller
	p.Notice = takeNotice(r.W, r.Request)
	return r.site.write(r.W, r.Request, http.StatusOK, name, p)
}

// Again shows a form again with what was wrong with it. An error that the reader cannot
// fix becomes an error page.
func (r *Request) Again(name string, p Page, err error) error {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	switch told.Code {
	case lineshaft.CodeInvalidRequest, lineshaft.CodeConflict, lineshaft.CodeNotSupported, lineshaft.CodePayloadTooLarge:
	default:
		return err
	}
	p.Caller, p.Error = &r.Caller, told
	return r.site.write(r.W, r.Request, problem.StatusOf(err), name, p)
}

func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, name string, p Page) error {
	if p.Caller != nil { // strangers need not know
		p.Warning, p.Version, p.Menu = s.Warning, s.Version, menu(p.Caller.Role, p.Section)
	}
	p.Theme, p.Density, p.Zone, p.Path, p.absent = themeOf(r), densityOf(r), zoneOf(r), r.URL.RequestURI(), s.Absent
	return s.execute(w, r, status, name, "layout.html", p)
}

// Fragment answers with one named template of a page: what htmx puts into it.
func (r *Request) Fragment(name, part string, data any) error {
	return r.site.execute(r.W, r.Request, http.StatusOK, name, part, data)
}

func (s *Site) execute(w http.ResponseWriter, r *http.Request, status int, name, part string, data any) error {
	var out bytes.Buffer
	if err := s.Execute(&out, name, part, data); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	body := out.Bytes()
	// Secrets are shown in answers to POST only, and never beside a compressed echo
	// of the request, whose length would give them away.
	if r.Method == http.MethodGet && len(body) >= packFrom && acceptsGzip(r) {
		packed, err := pack(body, gzip.BestSpeed)
		if err != nil {
			return err
		}
		h.Set("Content-Encoding", "gzip")
		body = packed
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a reader that went away is nobody's error
	return nil
}

// Done goes to another page after a change, and says there what was done, unless that page shows it.
func (r *Request) Done(to, notice string) error {
	if notice != "" {
		http.SetCookie(r.W, &http.Cookie{
			Name: noticeCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(notice)),
			Path: "/", HttpOnly: true, Secure: r.site.secure(r.Request), SameSite: http.SameSiteLaxMode, MaxAge: 60,
		})
	}
	http.Redirect(r.W, r.Request, to, http.StatusSeeOther)
	return nil
}

func takeNotice(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(noticeCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1})
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	return string(text)
}

// TextKind is the type of text that others wrote: no browser makes anything of it.
const TextKind = "text/plain; charset=utf-8"

// AsAttachment makes an answer a file to be saved: nothing in it, by any author, is
// run or shown in our name.
func AsAttachment(w http.ResponseWriter, kind, name string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// AsText lets a browser show text that others wrote, and make nothing of it.
func AsText(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", TextKind)
	h.Set("Content-Disposition", "inline")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// fail shows an error page. The cause of what is the server's fault goes to the log only.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, c *lineshaft.Caller, err error) {
	if r.Context().Err() != nil {
		return // the reader has gone
	}
	status, message := problem.StatusOf(err), "Something went wrong here. The log has the details of request "+requestID(r)+"."
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		told = &lineshaft.Error{Code: lineshaft.CodeInternal}
	}
	if told.Code != lineshaft.CodeInternal {
		message = told.Message
	}
	if told.Code == lineshaft.CodeInternal || status >= http.StatusInternalServerError && told.Cause != nil {
		s.Logger.ErrorContext(r.Context(), "page failed", "route", r.Pattern, "request_id", requestID(r), "err", err, "cause", told.Cause)
	}
	if told.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(rate.Seconds(told.RetryAfter), 10))
	}
	p := Page{Title: trouble(status), Caller: c, Data: Capital(message)}
	if r.Header.Get("Hx-Request") == "true" {
		err = s.execute(w, r, status, "error", "fragment", p)
	} else {
		err = s.write(w, r, status, "error", p)
	}
	if err != nil {
		s.Logger.ErrorContext(r.Context(), "render page", "page", "error", "err", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}
