package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft"
)

type handler func(w http.ResponseWriter, r *http.Request, c lineshaft.Caller)

// signedIn asks for a session and sends browsers without one to sign in first.
func (s *server) signedIn(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie(cookieName)
		if err != nil {
			s.toLogin(w, r)
			return
		}
		c, err := s.Control.SessionCaller(r.Context(), cookie.Value)
		if lineshaft.CodeOf(err) == lineshaft.CodeAuthenticationRequired {
			s.toLogin(w, r)
			return
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		c.RemoteAddr = r.RemoteAddr
		next(w, r, c)
	}
}

func (s *server) toLogin(w http.ResponseWriter, r *http.Request) {
	target := "/login"
	if r.Method == http.MethodGet && r.URL.Path != "/" && !strings.HasSuffix(r.URL.Path, "/events") {
		target += "?next=" + r.URL.EscapedPath()
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

type loginData struct {
	Next  string
	Error string
}

func (s *server) loginPage(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "login", page{Title: "Sign in", Data: loginData{Next: localPath(r.URL.Query().Get("next"))}})
}

// maxForm bounds what a form may send; a follow-up is the largest.
const maxForm = 2 << 20

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	next := localPath(r.PostFormValue("next"))
	token, err := s.Control.CreateSession(r.Context(), strings.TrimSpace(r.PostFormValue("key")))
	switch lineshaft.CodeOf(err) {
	case lineshaft.CodeAuthenticationRequired, lineshaft.CodeNotAuthorized:
		s.render(w, r, http.StatusUnauthorized, "login", page{Title: "Sign in", Data: loginData{
			Next: next, Error: "That key opens nothing here. The admin key is in the file admin.key of the server's data directory.",
		}})
		return
	default:
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode, MaxAge: 14 * 24 * 3600})
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if err := s.Control.EndSession(r.Context(), cookie.Value); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode, MaxAge: -1})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// localPath keeps a redirect on this server.
func localPath(path string) string {
	odd := func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, odd) {
		return "/"
	}
	return path
}
