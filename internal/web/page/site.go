package page

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/yuin/goldmark"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// policy allows only what these pages use: their own style, type face, script and stream.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Deps is what the pages need.
type Deps struct {
	Control *control.Service
	Logger  *slog.Logger
	// BaseURL is the address that people and programs use, for lines to copy.
	BaseURL string
	// WebhookBaseURL is the address that outside systems send deliveries to.
	WebhookBaseURL string
	// Secure marks cookies for HTTPS only.
	Secure bool
	// Warning is shown on every page; empty when all is well.
	Warning string
	// Version is this server's.
	Version string
	// Tracer makes a span of each request that changes something; nil is none.
	Tracer *tracing.Tracer
	// Stopping is closed when the server shuts down: live pages then reconnect.
	Stopping <-chan struct{}
	// TrustedProxies are those whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// Identity is where people sign in without a key; nil when there is no such place.
	Identity IdentityProvider
	// Settings are what this server was started with, without secrets.
	Settings []Setting
	// Examine looks at this machine and these settings as `lineshaft doctor` does; nil
	// when nobody can.
	Examine func(ctx context.Context) []Check
	// Certificates are those that this server serves with; nil when it speaks plain HTTP.
	Certificates func() []Certificate
	// Rate bounds the requests of each key and of each person in any minute; nil means no limit.
	Rate *rate.Limiter
	// Now is the clock; nil is the machine's.
	Now func() time.Time
	// SendTest takes test events the way of deliveries from outside; nil when nobody does.
	SendTest func(ctx context.Context, signed signature.Request, remoteAddr string) (status int, body []byte, err error)
	// Absent names the harnesses that cannot run on this server; nil when nobody knows.
	Absent func() []string
	// Standard says what runs here get that choose no agent and no model; nil when nobody knows.
	Standard func() Standard
}

// Standard is what runs that choose nothing get.
type Standard struct {
	Harness, Model string
	// Models can be chosen instead.
	Models []string
}

// IdentityProvider signs people in elsewhere.
type IdentityProvider interface {
	// Name is what people call it.
	Name() string
	// Begin is the address to send a browser to, and the ticket that it must bring back.
	Begin(ctx context.Context) (address, ticket string, err error)
	// Finish says who came back with a ticket and an answer.
	Finish(ctx context.Context, ticket string, answer url.Values) (lineshaft.Identity, error)
	// SignOut is the address at which a browser signs out there and returns to another address;
	// empty when there is none.
	SignOut(ctx context.Context, back string) string
}

// Setting is one setting of the server. Secret values are not in it.
type Setting struct {
	Name, Env, Value, Help string
	// Origin is default, file, environment or flag.
	Origin string
	Secret bool
}

// Check is what an examination found out about one thing.
type Check struct {
	Name string
	// State is ok, warning or problem.
	State string
	// Detail is what was found; Fix says what to do, if anything.
	Detail, Fix string
}

// Certificate is one of the server's own.
type Certificate struct {
	Name string
	// Until is when it ends; zero while there is none.
	Until time.Time
	// Problem is empty when all is well.
	Problem string
}

// Site is the dashboard as one server shows it. Its rooms embed it.
type Site struct {
	Deps

	*Look

	md goldmark.Markdown
	// wrongKeys slows down those who try keys.
	wrongKeys attempts
	// news counts what open pages ask by themselves.
	news *rate.Limiter
}

// Room is the pages of some nouns.
type Room struct {
	// Templates has one file for each page, in the folder templates.
	Templates fs.FS
	// Funcs are what all templates may call besides what is here.
	Funcs template.FuncMap
	// Routes lists where the pages are.
	Routes func(*Site) []Route
}

// NewSite makes the pages of a server.
func NewSite(deps Deps, look *Look) *Site {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Site{Deps: deps, Look: look, md: newMarkdown()}
	if limit := deps.Rate.Limit(); limit > 0 {
		s.news = rate.New(max(limit, liveRate))
	}
	return s
}

// Handler answers requests for all pages, to be mounted at "/".
func (s *Site) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /static/{file}", s.assets)
	for pattern, handle := range s.OpenRoutes() {
		mux.HandleFunc(pattern, handle)
	}
	for _, r := range routes {
		mux.HandleFunc(r.Pattern, s.signedIn(r.Needs, r.handle))
	}
	mux.HandleFunc("/", s.noPage)
	return guard(mux)
}

// noPage is for addresses that lead nowhere. Those who are signed in keep the menu.
func (s *Site) noPage(w http.ResponseWriter, r *http.Request) {
	var reader *lineshaft.Caller
	var err error = lineshaft.NotFound("page", r.URL.Path)
	if token := s.cookie(r, sessionCookie); token != "" {
		if c, unknown := s.Control.SessionCaller(r.Context(), token); unknown == nil {
			reader = &c
			if limited := s.checkRate(r, c); limited != nil {
				err = limited
			}
		}
	}
	s.fail(w, r, reader, err)
}

// Look is what all servers share: it comes from files in the program alone.
type Look struct {
	assets assets
	pages  map[string]*template.Template
}

// NewLook reads those files: one template for each page, from the layout, the parts, and
// its own file. Do it once in a process: packing and parsing take longer than everything else
// at the start of a server.
func NewLook(rooms ...Room) (*Look, error) {
	list, err := loadAssets()
	if err != nil {
		return nil, err
	}
	shared := funcs(list)
	for _, room := range rooms {
		maps.Copy(shared, room.Funcs)
	}
	base, err := template.New("layout.html").Funcs(shared).ParseFS(files, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse layout: %w", err)
	}
	look := &Look{list, map[string]*template.Template{}}
	for _, room := range append(rooms, Room{Templates: files}) {
		if err := look.parse(base, room.Templates); err != nil {
			return nil, err
		}
	}
	return look, nil
}

func (l *Look) parse(base *template.Template, from fs.FS) error {
	found, err := fs.Glob(from, "templates/*.html")
	if err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	for _, file := range found {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		own, err := base.Clone()
		if err != nil {
			return fmt.Errorf("copy layout: %w", err)
		}
		if l.pages[name], err = own.ParseFS(from, file); err != nil {
			return fmt.Errorf("parse page: %w", err)
		}
	}
	return nil
}

// Execute writes a named template of a page.
func (l *Look) Execute(out io.Writer, name, part string, data any) error {
	return l.pages[name].ExecuteTemplate(out, part, data)
}

type requestKey struct{}

// requestID is the name that a request goes by in the audit log, the log and its answer.
func requestID(r *http.Request) string {
	name, _ := r.Context().Value(requestKey{}).(string)
	return name
}

// guard adds the headers of every page and refuses state changes from other origins.
func guard(next http.Handler) http.Handler {
	var origins http.CrossOriginProtection
	return origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		name := peer.RequestID(r)
		h.Set("X-Request-ID", name)
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, name))
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		if !strings.HasPrefix(r.URL.Path, "/static/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	}))
}
