package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// openGate opens the placement's session with the gateway. The pod of an earlier
// launcher keeps its key.
func (p *placement) openGate() error {
	gate := p.l.config.Gateway
	own, err := worker.TakeKey(&p.job, gate, p.l.config.WorkerID, p.l.config.Getenv)
	if err != nil || gate == nil {
		return err
	}
	offered := gate.Models()
	if own != nil {
		offered = *own
	}
	if len(offered.Endpoints) == 0 || p.adopted && p.models == nil { // its pod does not know of any
		return nil
	}
	if p.models == nil {
		base := strings.TrimRight(p.l.config.GatewayURL, "/") + "/" + url.PathEscape(p.job.ExecutionID)
		p.models = podModels(offered, base, "lsx-"+rand.Text())
	}
	session, err := gate.Open(p.l.life, gateway.SessionConfig{
		Key: p.models.Key, Models: own, Model: p.job.Config.Model(), Confined: p.l.config.Template.Egress == "none",
		Budget: p.job.Config.Budget, Used: p.job.Used,
	})
	if err != nil {
		return fmt.Errorf("open gateway: %w", err)
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.l.sessions[p.job.ExecutionID] = session
	return nil
}

// closeGate voids the key of an execution.
func (l *Launcher) closeGate(executionID string) {
	l.mu.Lock()
	session := l.sessions[executionID]
	delete(l.sessions, executionID)
	l.mu.Unlock()
	if session != nil {
		session.Close()
	}
}

// ServeHTTP leads a pod to the models of its execution, /EXECUTION/PROTOCOL/…, and
// nowhere else. The session checks the key.
func (l *Launcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	executionID, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	protocol, _, _ := strings.Cut(rest, "/")
	l.mu.Lock()
	session := l.sessions[executionID]
	l.mu.Unlock()
	if session == nil || !slices.Contains(model.Protocols(), model.Protocol(protocol)) {
		http.NotFound(w, r)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: "http", Host: "gateway", Path: "/" + rest, RawQuery: r.URL.RawQuery}
		},
		Transport: session.Transport(), FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), // it would quote what agents send
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the execution is over", http.StatusServiceUnavailable)
		},
	}
	proxy.ServeHTTP(w, r)
}

// listen opens the port for pods; nil without a gateway.
func (l *Launcher) listen(ctx context.Context) (net.Listener, error) {
	if l.config.Gateway == nil || l.config.GatewayListen == "" {
		return nil, nil // a cluster can do without models
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", l.config.GatewayListen)
	if err != nil {
		return nil, fmt.Errorf("listen for the models of pods: %w; choose another --kubernetes-gateway-listen", err)
	}
	return listener, nil
}

func (l *Launcher) serve(listener net.Listener) {
	server := &http.Server{Handler: l, ReadHeaderTimeout: 15 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 256 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	stop := context.AfterFunc(l.life, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		l.logger.ErrorContext(l.life, "the gateway for pods ended", "err", err)
	}
}

// PodModels are the models that a pod reaches through the launcher's gateway. The key
// opens only this execution's session and ends with it.
type PodModels struct {
	Key       string        `json:"key"`
	Default   string        `json:"default,omitempty"`
	Endpoints []PodEndpoint `json:"endpoints,omitempty"`
}

// PodEndpoint is all that the launcher offers of one protocol.
type PodEndpoint struct {
	Protocol model.Protocol         `json:"protocol"`
	URL      string                 `json:"url"`
	Models   []string               `json:"models,omitempty"`
	Prices   map[string]model.Price `json:"prices,omitempty"`
}

// Set is what the pod's own gateway calls.
func (m *PodModels) Set() model.Set {
	set := model.Set{Default: m.Default}
	for _, e := range m.Endpoints {
		set.Endpoints = append(set.Endpoints, model.Endpoint{
			Name: string(e.Protocol), Protocol: e.Protocol, URL: e.URL, Key: lineshaft.SecretText(m.Key), Models: e.Models, Prices: e.Prices,
		})
	}
	return set
}

// podModels describes a set of endpoints to a pod: where it finds them here, without
// their own addresses and keys.
func podModels(set model.Set, base, key string) *PodModels {
	m := &PodModels{Key: key, Default: set.Default}
	for _, e := range set.Endpoints {
		at := slices.IndexFunc(m.Endpoints, func(p PodEndpoint) bool { return p.Protocol == e.Protocol })
		if at < 0 {
			address := base + "/" + string(e.Protocol)
			if e.Protocol == model.OpenAI {
				address += "/v1"
			}
			m.Endpoints = append(m.Endpoints, PodEndpoint{Protocol: e.Protocol, URL: address, Models: e.Models, Prices: map[string]model.Price{}})
			at = len(m.Endpoints) - 1
		} else if p := &m.Endpoints[at]; len(p.Models) == 0 || len(e.Models) == 0 {
			p.Models = nil // one of them lets every name through
		} else {
			p.Models = append(slices.Clone(p.Models), e.Models...)
		}
		for id, price := range e.Prices {
			if _, there := m.Endpoints[at].Prices[id]; !there {
				m.Endpoints[at].Prices[id] = price
			}
		}
	}
	return m
}
