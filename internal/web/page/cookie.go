package page

import (
	"net/http"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// The cookies of signing in: a session's token, the ticket of a begun sign-in at an identity
// provider, and the note that this browser signs in there.
const (
	sessionCookie = "lineshaft_session"
	ticketCookie  = "lineshaft_ticket"
	wayCookie     = "lineshaft_way"
)

// secure says that the browser is on HTTPS: by the server's address, or by what a
// trusted proxy says of this request.
func (s *Site) secure(r *http.Request) bool { return s.Secure || peer.HTTPS(r, s.TrustedProxies) }

// cookieName has, on HTTPS, a prefix that makes browsers refuse cookies which another
// host of the same domain or a plain connection tries to plant.
func (s *Site) cookieName(r *http.Request, name string) string {
	if s.secure(r) {
		return "__Host-" + name
	}
	return name
}

func (s *Site) cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(s.cookieName(r, name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie keeps a value in the browser, out of reach of scripts; a life below zero
// removes it.
func (s *Site) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	age := int(life.Seconds())
	if life < 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(r, name), Value: value, Path: "/", HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode, MaxAge: age,
	})
}

// themeCookie keeps a reader's choice; the server writes it into the page, so that
// no page flashes in the other theme first.
const themeCookie = "lineshaft_theme"

// themeOf is light, dark, or empty to follow the reader's system.
func themeOf(r *http.Request) string {
	cookie, err := r.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// densityCookie keeps how close the rows of lists stand.
const densityCookie = "lineshaft_density"

// densityOf is compact, or empty for rows with more room.
func densityOf(r *http.Request) string {
	if cookie, err := r.Cookie(densityCookie); err == nil && cookie.Value == "compact" {
		return cookie.Value
	}
	return ""
}

// zoneCookie keeps in which zone times are shown.
const zoneCookie = "lineshaft_zone"

// zoneOf is utc, or empty for the reader's own zone.
func zoneOf(r *http.Request) string {
	if cookie, err := r.Cookie(zoneCookie); err == nil && cookie.Value == "utc" {
		return cookie.Value
	}
	return ""
}

// chooseTheme keeps a theme, a density of lists, or a zone of times in the browser.
func (s *Site) chooseTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	cookie := &http.Cookie{Name: themeCookie, Path: "/", HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode, MaxAge: 365 * 24 * 3600}
	choice, known := r.PostFormValue("theme"), []string{"light", "dark"}
	switch {
	case r.PostForm.Has("density"):
		cookie.Name, choice, known = densityCookie, r.PostFormValue("density"), []string{"compact"}
	case r.PostForm.Has("zone"):
		cookie.Name, choice, known = zoneCookie, r.PostFormValue("zone"), []string{"utc"}
	}
	if slices.Contains(known, choice) {
		cookie.Value = choice
	} else {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, localPath(r.PostFormValue("next")), http.StatusSeeOther)
}
