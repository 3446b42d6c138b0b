package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// Prefix is the path below which the versioned API lives.
const Prefix = "/api/v1"

const (
	largeBody = 16 << 20
	smallBody = 1 << 20

	bodyTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	heartbeat    = 15 * time.Second
	downloadTTL  = 15 * time.Minute
)

// Deps is what the API needs from the rest of the server.
type Deps struct {
	Control *control.Service
	// Logger gets one line per request; nil is nobody.
	Logger *slog.Logger
	// BaseURL is the public address of the server, shown in links; a slash at its
	// end is dropped.
	BaseURL string
	// WebhookBaseURL is what addresses of webhooks begin with; empty is BaseURL.
	WebhookBaseURL string
	// TrustedProxies are the peers whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose pages may call, with a key and without cookies.
	CORSOrigins []string
	// Rate bounds the requests of each key in any minute; nil means no limit. Pages
	// also count against it.
	Rate *rate.Limiter
	// Metrics answers /metrics; nil leaves it out.
	Metrics http.Handler
	// MetricsKey, when set, must be presented to /metrics as a bearer token.
	MetricsKey string
	// Observe is called for every finished request; it may be nil.
	Observe func(Observation)
	// SendTest handles test events like deliveries from outside; nil turns them off.
	SendTest func(ctx context.Context, signed signature.Request, remoteAddr string) (status int, body []byte, err error)
	// MCP answers the MCP messages of a caller whose key was checked; nil leaves it out.
	MCP func(http.ResponseWriter, *http.Request, lineshaft.Caller)
	// Tracer makes a span of each request; nil is none.
	Tracer *tracing.Tracer
	// Models lists what this server can run; nil is an empty list.
	Models func(context.Context) ListModelsResponse
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Version is the version of the server, shown in the OpenAPI document.
	Version string
	// Stopping is closed when the server shuts down: streams then end, and their
	// readers reconnect elsewhere. Nil means never.
	Stopping <-chan struct{}
	// Streams counts those that go on after ServeHTTP has returned, for those who wait for
	// their ends; nil is nobody.
	Streams *sync.WaitGroup
}

// Observation is one finished request, with labels that are safe for metrics: the
// route is a pattern, never a path.
type Observation struct {
	Route  string
	Method string
	Status int
	Took   time.Duration
}

type server struct {
	Deps
	problems *problem.Writer
	// executors counts the calls of run tokens as workers, and atOnce those that are
	// being answered.
	executors *rate.Limiter
	atOnce    *atOnce
	// authenticate is Control.Authenticate; tests of this package replace it.
	authenticate func(ctx context.Context, key string) (lineshaft.Caller, error)
	mux          *http.ServeMux
	beside       *http.ServeMux // published paths that mux cannot hold next to ours
	api          huma.API
	rows         map[string]route
	docs         map[string]operationDoc
	bodies       map[string]reflect.Type
	// life ends when the server stops.
	life        context.Context
	heartbeat   time.Duration
	bodyTimeout time.Duration
	// validating has room for one folder that is checked for a stranger.
	validating chan struct{}

	// The pages are rendered when first asked for.
	openAPIFault error
	openAPIJSON  func() ([]byte, error)
	openAPIYAML  func() ([]byte, error)
	docsPage     func() ([]byte, error)
	errorPages   func() (*problem.Pages, error)
}

// New builds the handler for everything that Serves names.
func New(deps Deps) http.Handler { return build(deps) }

// Serves says whether a path belongs to this package. Ask it before any
// http.ServeMux sees the request: the mux would answer an unclean path such as
// /api/v1/agent/runs//cancel with a redirect to another operation.
func Serves(path string) bool {
	return slices.ContainsFunc([]string{"/api", "/healthz", "/readyz", "/metrics", "/docs/errors"}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

func build(deps Deps) *server {
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	deps.BaseURL = strings.TrimRight(deps.BaseURL, "/")
	if deps.WebhookBaseURL = strings.TrimRight(deps.WebhookBaseURL, "/"); deps.WebhookBaseURL == "" {
		deps.WebhookBaseURL = deps.BaseURL
	}
	s := &server{
		Deps:         deps,
		problems:     &problem.Writer{Base: deps.BaseURL, Logger: deps.Logger},
		executors:    rate.New(executorRate),
		atOnce:       &atOnce{calls: map[string]int{}},
		authenticate: deps.Control.Authenticate,
		mux:          http.NewServeMux(),
		beside:       http.NewServeMux(),
		rows:         map[string]route{},
		docs:         docs(),
		bodies:       map[string]reflect.Type{},
		heartbeat:    heartbeat,
		bodyTimeout:  bodyTimeout,
		validating:   make(chan struct{}, 1),
	}
	s.life = context.Background() //nolint:forbidigo // it is that of the server, not of a call
	if s.Stopping != nil {
		life, end := context.WithCancel(s.life)
		s.life = life
		go func() {
			<-s.Stopping
			end()
		}()
	}
	if s.Streams == nil {
		s.Streams = new(sync.WaitGroup)
	}
	s.register()
	s.openAPIJSON = sync.OnceValues(func() ([]byte, error) { return orFault(s.openAPIFault, s.api.OpenAPI().MarshalJSON) })
	s.openAPIYAML = sync.OnceValues(func() ([]byte, error) { return orFault(s.openAPIFault, s.api.OpenAPI().YAML) })
	s.docsPage = sync.OnceValues(s.renderDocs)
	s.errorPages = sync.OnceValues(problem.NewPages)
	return s
}
