package page

import (
	"net/http"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// Request is a request of a person who has signed in, with the writer of its answer.
type Request struct {
	*http.Request
	W      http.ResponseWriter
	Caller lineshaft.Caller

	site *Site
}

// Asked says that a part of a page is asked for, by a page that is open.
func (r *Request) Asked() bool { return r.Header.Get("Hx-Request") == "true" }

// Handler answers a request of a person who has signed in. An error becomes an
// error page, or an error fragment for a part of a page.
type Handler func(r *Request) error

// Route is a page or an action of pages, with the permission that it needs. control
// decides what depends on more than the role.
type Route struct {
	Pattern string
	Needs   lineshaft.Permission
	handle  Handler
}

// Get is the route of a page.
func Get(path string, needs lineshaft.Permission, handle Handler) Route {
	return Route{"GET " + path, needs, handle}
}

// Post is the route of an action.
func Post(path string, needs lineshaft.Permission, handle Handler) Route {
	return Route{"POST " + path, needs, handle}
}

// With reads what an address names before a handler continues with it.
func With[T any](find func(*Request) (T, error), next func(*Request, T) error) Handler {
	return func(r *Request) error {
		found, err := find(r)
		if err != nil {
			return err
		}
		return next(r, found)
	}
}

// Show renders the page that a function makes.
func Show(name string, build func(*Request) (Page, error)) Handler {
	return With(build, func(r *Request, p Page) error { return r.Render(name, p) })
}

// ShowOf renders the page that a function makes of what an address names.
func ShowOf[T any](name string, find func(*Request) (T, error), build func(T) Page) Handler {
	return With(find, func(r *Request, found T) error { return r.Render(name, build(found)) })
}

// ShowWith renders the page that a function makes of a request and what its address names.
func ShowWith[T any](name string, find func(*Request) (T, error), build func(*Request, T) (Page, error)) Handler {
	return With(find, func(r *Request, found T) error {
		p, err := build(r, found)
		if err != nil {
			return err
		}
		return r.Render(name, p)
	})
}

// InTurn makes a page that may have much to read wait its turn: a key has few of
// them at once, by whatever way it reads (H-14).
func InTurn(next Handler) Handler {
	return func(r *Request) error {
		release, err := r.site.Control.Turn(r.Context(), r.Caller, 3)
		if err != nil {
			return err
		}
		defer release()
		maker := &pageMaker{ResponseWriter: r.W, rest: sync.OnceFunc(r.site.Control.Work(r.Context()))}
		defer maker.rest()
		r.W = maker
		return next(r)
	}
}

// pageMaker holds the processor for a long answer until there is something to write: the
// reader may be slow, and others must not wait for it.
type pageMaker struct {
	http.ResponseWriter
	rest func()
}

// Write implements http.ResponseWriter.
func (w *pageMaker) Write(p []byte) (int, error) {
	w.rest()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *pageMaker) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// OpenRoutes is every route for people who have not signed in.
func (s *Site) OpenRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /login":               s.loginPage,
		"POST /login":              s.login,
		"GET /login/oidc":          s.beginSignIn,
		"GET /login/oidc/callback": s.finishSignIn,
		"POST /logout":             s.logout,
		"POST /theme":              s.chooseTheme,
	}
}
