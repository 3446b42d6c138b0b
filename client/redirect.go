package client

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// guardRedirects follows a GET alone: a POST would go where nobody meant it to, or become
// a GET, whose answer would look like a success of something else. The key goes to the
// scheme, host and port of the server and to no other.
func guardRedirects(given *http.Client) *http.Client {
	if given == nil {
		given = &http.Client{}
		if shared, ok := http.DefaultTransport.(*http.Transport); ok {
			given.Transport = shared.Clone()
		}
	}
	if given.CheckRedirect != nil {
		return given
	}
	guarded := *given
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if via[0].Method != http.MethodGet {
			return refused(req, via[0])
		}
		if len(via) >= 10 {
			return &redirectError{text: "stopped after 10 redirects"}
		}
		// net/http looks at the name alone: another port is another server, too.
		if origin(req.URL) != origin(via[0].URL) {
			req.Header.Del("Authorization")
		}
		return nil
	}
	return &guarded
}

// origin tells scheme, host and port, also a port that goes without saying.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

func refused(to, from *http.Request) error {
	return &redirectError{text: fmt.Sprintf("the server redirects %s to %s://%s: use that as the server address", from.Method, to.URL.Scheme, to.URL.Host)}
}

// redirectError is final: the same address redirects again.
type redirectError struct{ text string }

func (e *redirectError) Error() string { return e.text }
