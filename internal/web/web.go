package web

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/problem"
)

//go:embed templates static
var files embed.FS

// cookieName holds a browser's session token.
const cookieName = "lineshaft_session"

// policy allows only what these pages use: their own style, script and stream.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Deps is what the pages need.
type Deps struct {
	Control *control.Service
	Logger  *slog.Logger
	// Secure marks cookies for HTTPS only.
	Secure bool
	// Warning is shown on every page; empty when all is well.
	Warning string
	// Stopping is closed when the server shuts down: live pages then reconnect.
	Stopping <-chan struct{}
}

type server struct {
	Deps
	pages map[string]*template.Template
}

// New returns the handler of all pages, to be mounted at "/".
func New(deps Deps) (http.Handler, error) {
	s := &server{Deps: deps, pages: map[string]*template.Template{}}
	funcs := template.FuncMap{"clock": clock, "lower": func(state lineshaft.RunState) string { return strings.ToLower(string(state)) }}
	for _, name := range []string{"login", "runs", "session", "error"} {
		page, err := template.New("layout.html").Funcs(funcs).ParseFS(files, "templates/layout.html", "templates/event.html", "templates/"+name+".html")
		if err != nil {
			return nil, err
		}
		s.pages[name] = page
	}
	mux := http.NewServeMux()
	mux.Handle("GET /static/{file}", http.FileServerFS(files))
	mux.HandleFunc("GET /login", s.loginPage)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /{$}", s.signedIn(s.runsPage))
	mux.HandleFunc("GET /runs/{id}", s.signedIn(s.sessionPage))
	mux.HandleFunc("GET /runs/{id}/events", s.signedIn(s.sessionEvents))
	mux.HandleFunc("POST /runs/{id}/followups", s.signedIn(s.followup))
	mux.HandleFunc("POST /runs/{id}/cancel", s.signedIn(s.cancel))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, lineshaft.NotFound("page", r.URL.Path)) })
	return guard(mux), nil
}

// guard adds the headers of every page and refuses state changes from other origins.
func guard(next http.Handler) http.Handler {
	var origins http.CrossOriginProtection
	return origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		if !strings.HasPrefix(r.URL.Path, "/static/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	}))
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// page is what every template gets.
type page struct {
	Title   string
	Caller  *lineshaft.Caller
	Warning string
	Data    any
}

func (s *server) render(w http.ResponseWriter, r *http.Request, status int, name string, p page) {
	if p.Caller != nil { // strangers need not know
		p.Warning = s.Warning
	}
	var out bytes.Buffer
	if err := s.pages[name].Execute(&out, p); err != nil {
		s.Logger.ErrorContext(r.Context(), "render page", "page", name, "err", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // a reader that went away is nobody's error
}

// fail shows an error page. The cause of an internal error goes to the log only.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the reader has gone
	}
	status, message := problem.StatusOf(err), "Something went wrong here. The log has the details."
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok && pub.Code != lineshaft.CodeInternal {
		message = pub.Message
	} else {
		s.Logger.ErrorContext(r.Context(), "page failed", "route", r.Pattern, "err", err)
	}
	s.render(w, r, status, "error", page{Title: http.StatusText(status), Data: message})
}
