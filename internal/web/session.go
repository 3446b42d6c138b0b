package web

import (
	"fmt"
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// sessionsShown is how many sessions a page lists.
const sessionsShown = 50

func (s *server) sessionRoutes() []route {
	return []route{
		{"GET /sessions", lineshaft.PermissionWhoami, s.sessionsPage},
		{"GET /sessions/others", lineshaft.PermissionWhoami, s.otherSessionsPage},
		{"POST /sessions/others", lineshaft.PermissionWhoami, s.endOtherSessions},
		{"GET /sessions/{id}/end", lineshaft.PermissionWhoami, s.endSessionPage},
		{"POST /sessions/{id}/end", lineshaft.PermissionWhoami, s.endSession},
	}
}

// sessionRow is a session as people read it.
type sessionRow struct {
	lineshaft.Session

	Browser string
	// Here marks the session that reads this page; Own those of the same person.
	Here, Own bool
}

// How says what somebody signed in with.
func (r sessionRow) How() string {
	if r.Method == lineshaft.SessionByKey {
		return "Key " + r.KeyName
	}
	return "Identity provider"
}

func rowOf(session lineshaft.Session, c lineshaft.Caller) sessionRow {
	return sessionRow{Session: session, Browser: browserName(session.UserAgent), Here: session.ID == c.SessionID, Own: session.Principal.UID == c.Principal.UID}
}

type sessionsData struct {
	Rows []sessionRow
	// Everybody says that all people's sessions are listed; MayAll that they can be.
	Everybody, MayAll bool
	// Others says that the reader is signed in elsewhere, too.
	Others      bool
	Next, First string
}

func (s *server) sessionsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	q := r.URL.Query()
	data := sessionsData{Everybody: q.Get("of") == "everybody", MayAll: c.Role.May(lineshaft.PermissionKeys) && len(c.FactoryUIDs) == 0}
	list, err := s.Control.ListSessions(r.Context(), c, data.Everybody, sessionsShown, q.Get("cursor"))
	if err != nil {
		return err
	}
	for _, session := range list.Sessions {
		row := rowOf(session, c)
		data.Others = data.Others || row.Own && !row.Here
		data.Rows = append(data.Rows, row)
	}
	data.Next, data.First = pageAddress(r, list.Next), firstAddress(r)
	return s.render(w, r, c, "sessions", page{Title: "Sessions", Section: "sessions", Data: data})
}

func (s *server) endSessionPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	session, err := s.Control.GetSession(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.render(w, r, c, "sessionend", page{Title: "Sign out a browser", Section: "sessions", Crumbs: []crumb{{"Sessions", "/sessions"}}, Data: rowOf(session, c)})
}

func (s *server) endSession(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	session, err := s.Control.GetSession(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := s.Control.RevokeSession(r.Context(), c, session.ID); err != nil {
		return err
	}
	row := rowOf(session, c)
	if row.Own {
		return s.done(w, r, "/sessions", row.Browser+" is signed out.")
	}
	return s.done(w, r, "/sessions?of=everybody", fmt.Sprintf("%s of %s is signed out.", row.Browser, session.Principal.DisplayName))
}

func (s *server) otherSessionsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	list, err := s.Control.ListSessions(r.Context(), c, false, sessionsShown, "")
	if err != nil {
		return err
	}
	var others []sessionRow
	for _, session := range list.Sessions {
		if row := rowOf(session, c); !row.Here {
			others = append(others, row)
		}
	}
	return s.render(w, r, c, "sessionothers", page{Title: "Sign out all other browsers", Section: "sessions", Crumbs: []crumb{{"Sessions", "/sessions"}}, Data: others})
}

func (s *server) endOtherSessions(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	ended, err := s.Control.RevokeOtherSessions(r.Context(), c)
	if err != nil {
		return err
	}
	switch ended {
	case 0:
		return s.done(w, r, "/sessions", "No other browser was signed in.")
	case 1:
		return s.done(w, r, "/sessions", "One other browser is signed out.")
	}
	return s.done(w, r, "/sessions", fmt.Sprintf("%d other browsers are signed out.", ended))
}
