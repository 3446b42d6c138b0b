package page

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

// ticketLife is how long signing in elsewhere may take.
const ticketLife = 10 * time.Minute

// wayLife is how long a browser remembers that it signs in at the provider.
const wayLife = 30 * 24 * time.Hour

// goesStraight says whether a browser without a session is sent to the provider at once.
// That is so when its session expired: the provider then says which role the person
// has by now, without a click where they are still signed in there. Those who signed out,
// or whose session someone ended, see the page to sign in.
func (s *Site) goesStraight(r *http.Request) bool {
	ended := s.cookie(r, sessionCookie) == "" && s.cookie(r, wayCookie) == string(lineshaft.SessionByOIDC)
	return ended && s.Identity != nil && r.Method == http.MethodGet
}

// forgetWay lets a browser see the page to sign in the next time.
func (s *Site) forgetWay(w http.ResponseWriter, r *http.Request) {
	if s.cookie(r, wayCookie) != "" {
		s.setCookie(w, r, wayCookie, "", -1)
	}
}

// maxNext bounds the way back that a cookie can hold.
const maxNext = 2000

// beginSignIn sends a browser to the identity provider. What it must bring back is in
// a cookie, so that an answer to another browser cannot sign anyone in.
func (s *Site) beginSignIn(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.URL.Query().Get("next"))
	if s.Identity == nil || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		http.Redirect(w, r, "/login", http.StatusSeeOther) // other sites do not begin it
		return
	}
	address, ticket, err := s.Identity.Begin(r.Context())
	if err != nil {
		s.refuseSignIn(w, r, next, err)
		return
	}
	if len(next) > maxNext {
		next = "/"
	}
	s.setCookie(w, r, ticketCookie, ticket+"|"+base64.RawURLEncoding.EncodeToString([]byte(next)), ticketLife)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// finishSignIn takes the answer that a browser brings back, once.
func (s *Site) finishSignIn(w http.ResponseWriter, r *http.Request) {
	ticket, way, _ := strings.Cut(s.cookie(r, ticketCookie), "|")
	asked, _ := base64.RawURLEncoding.DecodeString(way) // nothing leads to the overview
	next := localPath(string(asked))
	s.setCookie(w, r, ticketCookie, "", -1)
	if s.Identity == nil {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	who, err := s.Identity.Finish(r.Context(), ticket, r.URL.Query())
	if err != nil {
		s.refuseSignIn(w, r, next, err)
		return
	}
	token, err := s.Control.CreateIdentitySession(r.Context(), who, s.visitor(r))
	if err != nil {
		s.refuseSignIn(w, r, next, err)
		return
	}
	s.setCookie(w, r, sessionCookie, token, s.Control.IdentitySessionLife())
	s.setCookie(w, r, wayCookie, string(lineshaft.SessionByOIDC), wayLife)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// refuseSignIn shows the page to sign in again, with what to do. The reason
// goes to the log; tokens and codes are in neither.
func (s *Site) refuseSignIn(w http.ResponseWriter, r *http.Request, next string, err error) {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || told.Code == lineshaft.CodeInternal {
		s.fail(w, r, nil, err)
		return
	}
	s.Logger.WarnContext(r.Context(), "sign-in refused", "method", lineshaft.SessionByOIDC, "remote_addr", s.address(r), "code", told.Code, "cause", told.Cause)
	s.showLogin(w, r, problem.StatusOf(err), next, sentence(told.Message))
}

// sentence makes a message of a program one that people read.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
