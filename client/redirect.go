package client

import (
	"errors"
	"fmt"
	"net/http"
)

// guardRedirects keeps net/http from turning a redirected POST into a GET, whose
// answer would look like a success of something else.
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
		if req.Method != via[0].Method {
			return &redirectError{method: via[0].Method, to: req.URL.Scheme + "://" + req.URL.Host}
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &guarded
}

// redirectError is final: the same address redirects again.
type redirectError struct{ method, to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("the server redirects %s to %s: use that as the server address", e.method, e.to)
}
