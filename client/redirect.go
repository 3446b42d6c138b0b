package client

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
)

// guardRedirects follows a GET alone: a POST would go where nobody meant it to, or become
// a GET, whose answer would look like a success of something else. The key and the caller's
// own headers, which may be as secret, go only to the scheme, host and port of the
// server.
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
		if elsewhere(req, via) {
			maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return !harmlessHeader(name) })
		}
		return nil
	}
	return &guarded
}

// elsewhere says that a chain of redirects has left the server; what sends it back is not
// the server. net/http compares the name alone, but another port is also another server.
func elsewhere(req *http.Request, via []*http.Request) bool {
	home := origin(via[0].URL)
	return slices.ContainsFunc(append(via[1:len(via):len(via)], req), func(r *http.Request) bool { return origin(r.URL) != home })
}

// harmlessHeader says that any server may see a header: it is about the answer.
func harmlessHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Cache-Control", "Last-Event-Id", "Range", "User-Agent":
		return true
	}
	return false
}

// origin is the scheme, host and port, also where the port is the default.
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
