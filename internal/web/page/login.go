package page

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// signedIn asks for a session with a permission, and sends browsers without a
// session to sign in first.
func (s *Site) signedIn(needs lineshaft.Permission, next Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := s.cookie(r, sessionCookie)
		if token == "" {
			s.toLogin(w, r)
			return
		}
		c, err := s.Control.SessionCaller(r.Context(), token)
		if lineshaft.CodeOf(err) == lineshaft.CodeAuthenticationRequired {
			s.toLogin(w, r)
			return
		}
		if err != nil {
			s.fail(w, r, nil, err)
			return
		}
		c.RemoteAddr, c.RequestID = s.address(r), requestID(r)
		if err := s.checkRate(r, c); err != nil {
			s.fail(w, r, &c, err)
			return
		}
		if !c.Role.May(needs) {
			s.fail(w, r, &c, lineshaft.Denied("your role, %s, may not do that; it takes the role %s. Ask an admin for a key that may", c.Role, roleFor(needs)))
			return
		}
		if err := readForm(w, r); err != nil {
			s.fail(w, r, &c, err)
			return
		}
		end := s.trace(w, r)
		err = next(&Request{Request: r, W: w, Caller: c, site: s})
		if err != nil {
			s.fail(w, r, &c, err)
		}
		end(err)
	}
}

// roleFor is the least role that has a permission.
func roleFor(needs lineshaft.Permission) lineshaft.Role {
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager} {
		if role.May(needs) {
			return role
		}
	}
	return lineshaft.RoleAdmin
}

// toLogin sends a browser to sign in and back again. A part of a page makes the
// whole page go there.
func (s *Site) toLogin(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Hx-Request") == "true" {
		w.Header().Set("Hx-Redirect", "/login")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	target := "/login"
	if s.goesStraight(r) {
		target = "/login/oidc"
	}
	if s.cookie(r, sessionCookie) != "" { // someone ended it
		s.forgetWay(w, r)
	}
	if r.Method == http.MethodGet && r.URL.Path != "/" && !strings.HasSuffix(r.URL.Path, "/events") {
		target += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

type loginData struct {
	Next  string
	Error string
	// Provider is the name of the identity provider, if there is one.
	Provider string
}

func (s *Site) loginPage(w http.ResponseWriter, r *http.Request) {
	s.showLogin(w, r, http.StatusOK, localPath(r.URL.Query().Get("next")), "")
}

// showLogin shows the page to sign in, with what was wrong the last time.
func (s *Site) showLogin(w http.ResponseWriter, r *http.Request, status int, next, wrong string) {
	data := loginData{Next: next, Error: wrong}
	if s.Identity != nil {
		data.Provider = s.Identity.Name()
	}
	if err := s.write(w, r, status, "login", Page{Title: "Sign in", Data: data}); err != nil {
		s.fail(w, r, nil, err)
	}
}

// maxForm bounds what a form may send; a follow-up is the largest.
const maxForm = 2 << 20

// readForm reads the form of a request: one that cannot be read must not count as empty.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.Method != http.MethodPost {
		return nil
	}
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: "what was sent is larger than 2 MiB; go back and send less"}
	}
	if err != nil {
		return lineshaft.Invalid("", "this form cannot be read; go back and try again")
	}
	return nil
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	if err := readForm(w, r); err != nil {
		s.fail(w, r, nil, err)
		return
	}
	next := localPath(r.PostFormValue("next"))
	who := s.address(r)
	if wait := s.wrongKeys.enter(who, time.Now()); wait > 0 {
		seconds := int(wait/time.Second) + 1
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		s.showLogin(w, r, http.StatusTooManyRequests, next, "Too many wrong keys came from your address. Wait "+Plural(seconds, "second", "seconds")+", then try again.")
		return
	}
	token, err := s.Control.CreateSession(r.Context(), strings.TrimSpace(r.PostFormValue("key")), s.visitor(r))
	switch lineshaft.CodeOf(err) {
	case lineshaft.CodeAuthenticationRequired:
		s.showLogin(w, r, http.StatusUnauthorized, next, "Invalid API key. The admin key is in the file admin.key of the server's data directory.")
		return
	case lineshaft.CodeNotAuthorized:
		s.showLogin(w, r, http.StatusForbidden, next, "This key belongs to a worker or a run. Sign in with the key of a person; an admin can create one with: lineshaft apikey create me --role member")
		return
	default:
	}
	s.wrongKeys.leave(who)
	if err != nil {
		s.fail(w, r, nil, err)
		return
	}
	s.setCookie(w, r, sessionCookie, token, access.SessionLife)
	s.forgetWay(w, r)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logout signs a browser out here and, if the identity provider signed it in, there.
func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	elsewhere := ""
	if token := s.cookie(r, sessionCookie); token != "" {
		elsewhere = s.signOutAddress(r, token)
		if err := s.Control.EndSession(r.Context(), token); err != nil {
			s.fail(w, r, nil, err)
			return
		}
	}
	s.setCookie(w, r, sessionCookie, "", -1)
	s.forgetWay(w, r)
	if elsewhere == "" {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	// Browsers follow no redirect from a form to another origin (form-action).
	w.Header().Set("Refresh", "0; url="+elsewhere)
	data := signedOutData{Provider: s.Identity.Name(), Address: elsewhere}
	if err := s.write(w, r, http.StatusOK, "signedout", Page{Title: "Signed out", Data: data}); err != nil {
		s.fail(w, r, nil, err)
	}
}

type signedOutData struct{ Provider, Address string }

// signOutAddress is where the owner of a session signs out of the identity provider; empty
// for sessions of a key and for providers without such an address.
func (s *Site) signOutAddress(r *http.Request, token string) string {
	if s.Identity == nil {
		return ""
	}
	c, err := s.Control.SessionCaller(r.Context(), token)
	if err != nil || c.KeyID != "" {
		return ""
	}
	return s.Identity.SignOut(r.Context(), strings.TrimSuffix(s.BaseURL, "/")+"/login")
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

// trace begins the span of a request that changes something, Named by its pattern.
// Pages that are only read make none: they poll for themselves.
func (s *Site) trace(w http.ResponseWriter, r *http.Request) (end func(error)) {
	if !s.Tracer.On() || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return func(error) {}
	}
	ctx, span := s.Tracer.Start(r.Context(), r.Pattern, tracing.Options{Kind: tracing.Server})
	span.String("http.request.method", r.Method)
	span.String("http.route", r.Pattern)
	w.Header().Set(tracing.Header, span.Parent())
	*r = *r.WithContext(ctx)
	return span.End
}
