// Package gateway is the agents' way out: to the models of the operator's
// endpoints, to the API of the server, to the MCP servers of the run, and to the
// hosts of an allow-list.
//
// A worker has one Gateway and opens a Session for each execution. The agent gets
// the session's address and a key that dies with it; the real keys are added here
// and never pass to the agent. The session counts the tokens of every request,
// whatever drives the agent, and holds the run to its budget. It logs neither
// bodies nor keys.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// Config sets up a Gateway. Zero values take the defaults that are named.
type Config struct {
	// Models are the endpoints.
	Models model.Set
	// APIURL is the server that /api/v1/ leads to; empty leads nowhere.
	APIURL string
	// Hosts are what the proxy lets agents reach: a name, *.name or an address, each
	// with a port or, without one, for 443 and 80. Empty is none.
	Hosts []string
	// AllowLocal lets tool servers be in private networks and on this machine.
	AllowLocal bool
	// StreamWait is how long a streaming answer may take to begin, default 2 min;
	// AnswerWait is for answers that come whole, default 10 min.
	StreamWait, AnswerWait time.Duration
	// Resolve finds the addresses of a name; default the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Logger gets trouble with endpoints; default none.
	Logger *slog.Logger
	// Tracer makes a span of each request to a model; nil is none.
	Tracer *tracing.Tracer

	queueWait time.Duration // for a request to a model to have its turn
}

// Gateway is what the sessions of a worker share. All methods may be called at the
// same time.
type Gateway struct {
	config   Config
	hosts    []pattern
	upstream *http.Client
	guarded  *http.Transport // for addresses that someone else has named
	api      *http.Transport
	masks    map[string]*mask.Masker // by name of endpoint
}

// Reach is what the proxy lets agents reach, in order.
func (g *Gateway) Reach() []string { return slices.Sorted(slices.Values(g.config.Hosts)) }

// New makes a gateway.
func New(config Config) *Gateway {
	config.StreamWait = cmp.Or(config.StreamWait, 2*time.Minute)
	config.AnswerWait = cmp.Or(config.AnswerWait, 10*time.Minute)
	config.queueWait = cmp.Or(config.queueWait, 10*time.Minute)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	g := &Gateway{config: config, masks: keyMasks(config.Models)}
	for _, host := range config.Hosts {
		g.hosts = append(g.hosts, parsePattern(host))
	}
	g.upstream = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer().DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 32, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	g.guarded = &http.Transport{
		DialContext: g.guard(config.AllowLocal).DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 30 * time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: maxToolHeader,
	}
	g.api = &http.Transport{DialContext: dialer().DialContext, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 32, DisableCompression: true}
	return g
}

// keyMasks hide the key of each endpoint in what it says.
func keyMasks(models model.Set) map[string]*mask.Masker {
	masks := map[string]*mask.Masker{}
	for _, e := range models.Endpoints {
		if e.Key != "" {
			masks[e.Name] = mask.New(map[string]string{"MODEL_KEY": string(e.Key)})
		}
	}
	return masks
}

func dialer() *net.Dialer { return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second} }

// Models are the endpoints.
func (g *Gateway) Models() model.Set { return g.config.Models }

// Close lets go of idle connections; each session is closed separately.
func (g *Gateway) Close() {
	g.upstream.CloseIdleConnections()
	g.guarded.CloseIdleConnections()
	g.api.CloseIdleConnections()
}
