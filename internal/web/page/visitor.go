package page

import (
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/peer"
)

// address is that of the browser, also behind trusted proxies.
func (s *Site) address(r *http.Request) string {
	if addr := peer.Addr(r, s.TrustedProxies); addr.IsValid() {
		return addr.String()
	}
	return ""
}

func (s *Site) visitor(r *http.Request) access.Visitor {
	return access.Visitor{RemoteAddr: s.address(r), UserAgent: r.UserAgent(), Token: s.cookie(r, sessionCookie), RequestID: requestID(r)}
}

// BrowserName says in words what a browser calls itself, as far as that is known.
func BrowserName(agent string) string {
	program := firstOf(agent, [][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chromium/", "Chromium"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
		{"Go-http-client/", "Go program"},
		{"python", "Python program"},
	})
	system := firstOf(agent, [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
	})
	switch {
	case program == "" && system == "":
		return "Unknown browser"
	case program == "":
		return "Browser on " + system
	case system == "":
		return program
	}
	return program + " on " + system
}

func firstOf(text string, known [][2]string) string {
	for _, k := range known {
		if strings.Contains(text, k[0]) {
			return k[1]
		}
	}
	return ""
}
