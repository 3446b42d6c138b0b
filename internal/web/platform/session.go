package platform

import (
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// sessionsShown is how many sessions a page lists.
const sessionsShown = 50

func (s pages) sessionRoutes() []page.Route {
	return []page.Route{
		page.Get("/sessions", lineshaft.PermissionWhoami, page.Show("sessions", s.sessionsPage)),
		page.Get("/sessions/others", lineshaft.PermissionWhoami, page.Show("sessionothers", s.otherSessionsPage)),
		page.Post("/sessions/others", lineshaft.PermissionWhoami, s.endOtherSessions),
		page.Get("/sessions/{id}/end", lineshaft.PermissionWhoami, page.Show("sessionend", s.endSessionPage)),
		page.Post("/sessions/{id}/end", lineshaft.PermissionWhoami, page.With(s.sessionOf, s.endSession)),
	}
}

// sessionRow is a session as people read it.
type sessionRow struct {
	lineshaft.Session

	Browser string
	// Here marks the session that reads this page; Own those of the same person.
	Here, Own bool
}

// How says what a person signed in with.
func (r sessionRow) How() string {
	if r.Method == lineshaft.SessionByKey {
		return "Key " + r.KeyName
	}
	return "Identity provider"
}

func rowOf(session lineshaft.Session, c lineshaft.Caller) sessionRow {
	return sessionRow{Session: session, Browser: page.BrowserName(session.UserAgent), Here: session.ID == c.SessionID, Own: session.Principal.UID == c.Principal.UID}
}

type sessionsData struct {
	page.Pager

	Rows []sessionRow
	// Everybody says that all people's sessions are listed; MayAll that they can be.
	Everybody, MayAll bool
	// Others says that the reader is also signed in elsewhere.
	Others bool
}

func (s pages) sessionsPage(r *page.Request) (p page.Page, err error) {
	q := r.URL.Query()
	data := sessionsData{Everybody: q.Get("of") == "everybody", MayAll: r.Caller.Role.May(lineshaft.PermissionKeys) && len(r.Caller.FactoryUIDs) == 0}
	list, err := s.Control.ListSessions(r.Context(), r.Caller, data.Everybody, sessionsShown, q.Get("cursor"))
	for _, session := range list.Sessions {
		row := rowOf(session, r.Caller)
		data.Others = data.Others || row.Own && !row.Here
		data.Rows = append(data.Rows, row)
	}
	data.Pager = r.Pager(list.Next)
	return page.Of("sessions", data), err
}

func (s pages) sessionOf(r *page.Request) (lineshaft.Session, error) {
	return s.Control.GetSession(r.Context(), r.Caller, r.PathValue("id"))
}

func (s pages) endSessionPage(r *page.Request) (page.Page, error) {
	session, err := s.sessionOf(r)
	return page.Below("sessions", "Sign out a browser", rowOf(session, r.Caller)), err
}

func (s pages) endSession(r *page.Request, session lineshaft.Session) error {
	if err := s.Control.RevokeSession(r.Context(), r.Caller, session.ID); err != nil {
		return err
	}
	row := rowOf(session, r.Caller)
	if row.Own {
		return r.Done("/sessions", row.Browser+" is signed out.")
	}
	return r.Done("/sessions?of=everybody", fmt.Sprintf("%s of %s is signed out.", row.Browser, session.Principal.DisplayName))
}

func (s pages) otherSessionsPage(r *page.Request) (p page.Page, err error) {
	list, err := s.Control.ListSessions(r.Context(), r.Caller, false, sessionsShown, "")
	var others []sessionRow
	for _, session := range list.Sessions {
		if row := rowOf(session, r.Caller); !row.Here {
			others = append(others, row)
		}
	}
	return page.Below("sessions", "Sign out all other browsers", others), err
}

func (s pages) endOtherSessions(r *page.Request) error {
	ended, err := s.Control.RevokeOtherSessions(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	switch ended {
	case 0:
		return r.Done("/sessions", "No other browser was signed in.")
	case 1:
		return r.Done("/sessions", "One other browser is signed out.")
	}
	return r.Done("/sessions", fmt.Sprintf("%d other browsers are signed out.", ended))
}
