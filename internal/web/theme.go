package web

import "net/http"

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

func (s *server) chooseTheme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	cookie := &http.Cookie{Name: themeCookie, Path: "/", HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode, MaxAge: 365 * 24 * 3600}
	switch choice := r.PostFormValue("theme"); choice {
	case "light", "dark":
		cookie.Value = choice
	default:
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, localPath(r.PostFormValue("next")), http.StatusSeeOther)
}
