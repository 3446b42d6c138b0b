package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/manual"
	"github.com/lineshaft/lineshaft/internal/mcpserver"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/web"
)

// listen takes the port early: a taken one should be known before anything starts.
func (a *App) listen(ctx context.Context) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; stop the other server or choose another port with --listen", a.cfg.Listen, err)
	}
	a.listener = l
	a.onStop(closing(l))
	if !a.cfg.TLS() || a.cfg.NoWorker {
		return nil
	}
	if a.inner, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for agents: %w", err)
	}
	a.onStop(closing(a.inner))
	return nil
}

func closing(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func (a *App) serve(ctx context.Context) error {
	base, requests := a.URL(), rate.New(a.cfg.RateLimit)
	tools := mcpserver.New(mcpserver.Deps{Control: a.control, Logger: a.log, BaseURL: base, CORSOrigins: a.cfg.CORSOrigins, Version: a.opts.Version, Stopping: a.stopping})
	hooks := ingress.New(ingress.Deps{
		Control: a.control, Logger: a.log, BaseURL: a.webhookURL(), ErrorBase: base, TrustedProxies: a.cfg.TrustedProxies,
		Observe: a.metrics.ObserveDelivery, Tracer: a.traces.Tracer(), Now: a.opts.Now,
	})
	programs := api.New(api.Deps{
		Control: a.control, Logger: a.log, BaseURL: base, WebhookBaseURL: a.webhookURL(), TrustedProxies: a.cfg.TrustedProxies, CORSOrigins: a.cfg.CORSOrigins, Rate: requests,
		Metrics: a.metrics.Handler(), MetricsKey: a.cfg.MetricsKey.Reveal(), Models: a.models, MCP: tools.Serve, Version: a.opts.Version, Stopping: a.stopping, Tracer: a.traces.Tracer(),
		SendTest: hooks.SendTest, Streams: &a.streams, Now: a.opts.Now,
		Observe: func(o api.Observation) { a.metrics.ObserveRequest(o.Route, o.Method, o.Status, o.Took) },
	})
	pages, err := web.New(web.Deps{
		Control: a.control, Logger: a.log, BaseURL: base, WebhookBaseURL: a.webhookURL(), Secure: strings.HasPrefix(base, "https://"),
		Warning: cmp.Or(a.opts.Notice, a.isolated.warning), Version: a.opts.Version, Stopping: a.stopping, TrustedProxies: a.cfg.TrustedProxies,
		Identity: a.identity(), Settings: pageSettings(a.cfg), Examine: a.examine, Absent: a.absentAgents, Tracer: a.traces.Tracer(),
		Standard: sync.OnceValue(a.standard), Certificates: a.pageCertificates, Rate: requests, SendTest: hooks.SendTest, Now: a.opts.Now,
	})
	if err != nil {
		return fmt.Errorf("build pages: %w", err)
	}
	handbook := manual.NewSite()
	a.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if delivered(r) {
				hooks.ServeHTTP(w, r)
				return
			}
			if api.Serves(r.URL.Path) || strings.HasPrefix(r.URL.Path, "//") {
				programs.ServeHTTP(w, r)
				return
			}
			if manual.Serves(r.URL.Path) {
				handbook.ServeHTTP(w, r)
				return
			}
			pages.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		// A body must arrive within this time, wanted or not; streams lift the limit.
		ReadTimeout:    time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	if a.certificates != nil {
		a.server.TLSConfig = a.certificates.TLS()
	}
	for _, accept := range []func() error{a.accept, a.acceptInner} {
		go func() {
			if err := accept(); err != nil && !errors.Is(err, http.ErrServerClosed) {
				a.done <- fmt.Errorf("serve: %w", err)
			}
		}()
	}
	a.onStop(a.shutdown)
	if a.certificates != nil { // now that challenges are answered
		a.background(ctx, a.certificates.Run)
	}
	return nil
}

// delivered says whether a request is for the ingress: anything sent below its prefix,
// and anything sent elsewhere below /webhooks/, where a sender may have a wrong address.
// Pages there are only read.
func delivered(r *http.Request) bool {
	path := r.URL.Path
	if strings.HasPrefix(path, ingress.Prefix) || path+"/" == ingress.Prefix {
		return true
	}
	return strings.HasPrefix(path, "/webhooks/") && r.Method != http.MethodGet && r.Method != http.MethodHead
}

func (a *App) webhookURL() string {
	if a.cfg.WebhookBaseURL != "" {
		return a.cfg.WebhookBaseURL
	}
	return a.URL()
}

func (a *App) accept() error {
	if a.certificates != nil {
		return a.server.ServeTLS(a.listener, "", "")
	}
	return a.server.Serve(a.listener)
}

func (a *App) acceptInner() error {
	if a.inner == nil {
		return nil
	}
	return a.server.Serve(a.inner)
}

// shutdown ends streams at once, gives requests a moment, then cuts what is left.
func (a *App) shutdown(ctx context.Context) error {
	close(a.stopping)
	ctx, cancel := context.WithTimeout(ctx, drainWait)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		return a.server.Close()
	}
	over := make(chan struct{})
	go func() {
		a.streams.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done(): // their readers take nothing any more
	}
	return nil
}

const (
	// heldLong is how long changes may wait for a transaction before doctor says so.
	heldLong = time.Minute
	mendHeld = "end that transaction: pg_terminate_backend(PROCESS), or ROLLBACK PREPARED for a prepared one; it may be in any database of the PostgreSQL server"
)

// gaugeCallbacks adds what this node last saw of callbacks to the metrics: reading those
// needs no database query.
func (a *App) gaugeCallbacks() {
	gauge := func(name, help string, of func(notify.CallbackBacklog) float64) {
		a.metrics.Gauge(name, help, func() float64 { return of(a.control.CallbackBacklog()) })
	}
	gauge("lineshaft_callback_lag_seconds", "Age of the oldest state change that no callbacks were made of yet.", func(b notify.CallbackBacklog) float64 { return b.Lag.Seconds() })
	gauge("lineshaft_callbacks_pending", "Callbacks that wait for an attempt, of all nodes and of disabled notifications too; 100000 is that or more.", func(b notify.CallbackBacklog) float64 { return float64(b.Pending) })
	gauge("lineshaft_callback_overdue_seconds", "How long the callback is due that waits longest for its attempt.", func(b notify.CallbackBacklog) float64 { return b.Overdue.Seconds() })
}

// checkCallbacks says whether callbacks of a running server are late.
func checkCallbacks(b notify.CallbackBacklog) config.Check {
	const name = "callbacks"
	lag := b.Lag.Round(time.Second)
	switch {
	case b.Late() && b.HeldBy != "":
		return bad(name, config.CheckWarning, fmt.Sprintf("held back for %s by a transaction that has not ended: %s", lag, b.HeldBy), mendHeld)
	case b.Late():
		return bad(name, config.CheckWarning, fmt.Sprintf("late by %s", lag), "look in this server's log for: make callbacks of state changes")
	}
	return good(name, "not late, %d waiting", b.Pending)
}
