package web

import (
	"net/http"
	"slices"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// handler answers a request of somebody who has signed in. An error becomes an
// error page, or an error fragment for a part of a page.
type handler func(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error

// route is a page or an action of pages, with the permission that it needs. What
// depends on more than the role, control decides.
type route struct {
	pattern string
	needs   lineshaft.Permission
	handle  handler
}

// inTurn makes a page that may have much to read when its turn comes: a key has few of
// them at once, whatever way it reads (H-14).
func (s *server) inTurn(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
		release, err := s.Control.Turn(r.Context(), c, 3)
		if err != nil {
			return err
		}
		defer release()
		maker := &pageMaker{ResponseWriter: w, rest: sync.OnceFunc(s.Control.Work(r.Context()))}
		defer maker.rest()
		return next(maker, r, c)
	}
}

// pageMaker has the processor for a long answer until there is something to write: the
// reader may be slow, and others need not wait for it.
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

// openRoutes is every route for people who have not signed in.
func (s *server) openRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /login":               s.loginPage,
		"POST /login":              s.login,
		"GET /login/oidc":          s.beginSignIn,
		"GET /login/oidc/callback": s.finishSignIn,
		"POST /logout":             s.logout,
		"POST /theme":              s.chooseTheme,
	}
}

// routes is every route that needs a session; each noun lists its own.
func (s *server) routes() []route {
	return slices.Concat(
		s.overviewRoutes(),
		s.searchRoutes(),
		s.runListRoutes(),
		s.runRoutes(),
		s.factoryRoutes(),
		s.agentRoutes(),
		s.automationRoutes(),
		s.webhookRoutes(),
		s.deliveryRoutes(),
		s.notificationRoutes(),
		s.scheduleRoutes(),
		s.environmentRoutes(),
		s.secretRoutes(),
		s.workerRoutes(),
		s.apiKeyRoutes(),
		s.sessionRoutes(),
		s.auditRoutes(),
		s.settingRoutes(),
	)
}
