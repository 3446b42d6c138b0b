package web

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/rate"
)

// noticeCookie carries one sentence over the redirect after a change.
const noticeCookie = "lineshaft_notice"

// packFrom is the size from which compressing a page pays.
const packFrom = 1 << 10

// crumb is a step of the way to a page.
type crumb struct{ Name, Href string }

// page is what every template gets. A handler fills in the first group.
type page struct {
	Title string
	// Section is the entry of the menu that is marked, such as "runs".
	Section string
	Crumbs  []crumb
	Data    any
	// Error is what was wrong with a form that is shown again.
	Error *lineshaft.Error

	Caller  *lineshaft.Caller
	Menu    []menuGroup
	Theme   string
	Warning string
	Notice  string
	Version string
	Path    string
	Query   string
	// absent names the harnesses that cannot run on this server.
	absent func() []string
}

// May says whether the reader's role grants a permission: what it does not, has no button.
func (p page) May(needs lineshaft.Permission) bool {
	return p.Caller != nil && p.Caller.Role.May(needs)
}

// Wrong returns the complaint about a form's field.
func (p page) Wrong(field string) string {
	if p.Error == nil || p.Error.Field != field {
		return ""
	}
	return p.Error.Message
}

// render shows a page to somebody who has signed in.
func (s *server) render(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, name string, p page) error {
	p.Caller = &c
	p.Notice = takeNotice(w, r)
	return s.write(w, r, http.StatusOK, name, p)
}

// renderAgain shows a form again with what was wrong with it. Whatever is not the
// reader's to mend becomes an error page.
func (s *server) renderAgain(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, name string, p page, err error) error {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	switch told.Code {
	case lineshaft.CodeInvalidRequest, lineshaft.CodeConflict, lineshaft.CodeNotSupported, lineshaft.CodePayloadTooLarge:
	default:
		return err
	}
	p.Caller, p.Error = &c, told
	return s.write(w, r, problem.StatusOf(err), name, p)
}

func (s *server) write(w http.ResponseWriter, r *http.Request, status int, name string, p page) error {
	if p.Caller != nil { // strangers need not know
		p.Warning, p.Version, p.Menu = s.Warning, s.Version, menu(p.Caller.Role, p.Section)
	}
	p.Theme, p.Path, p.absent = themeOf(r), r.URL.RequestURI(), s.Absent
	return s.execute(w, r, status, name, "layout.html", p)
}

// fragment answers with one named template of a page: what htmx puts into it.
func (s *server) fragment(w http.ResponseWriter, r *http.Request, name, part string, data any) error {
	return s.execute(w, r, http.StatusOK, name, part, data)
}

func (s *server) execute(w http.ResponseWriter, r *http.Request, status int, name, part string, data any) error {
	var out bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&out, part, data); err != nil {
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

// done goes to another page after a change, and says there what was done.
func (s *server) done(w http.ResponseWriter, r *http.Request, to, notice string) error {
	http.SetCookie(w, &http.Cookie{
		Name: noticeCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(notice)),
		Path: "/", HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode, MaxAge: 60,
	})
	http.Redirect(w, r, to, http.StatusSeeOther)
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

// textKind is the type of text that others wrote: no browser makes anything of it.
const textKind = "text/plain; charset=utf-8"

// asAttachment makes an answer a file to be saved: nothing in it, whoever wrote it, is
// run or shown in our name.
func asAttachment(w http.ResponseWriter, kind, name string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// fail shows an error page. The cause of what is the server's fault goes to the log only.
func (s *server) fail(w http.ResponseWriter, r *http.Request, c *lineshaft.Caller, err error) {
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
	p := page{Title: http.StatusText(status), Caller: c, Data: message}
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
