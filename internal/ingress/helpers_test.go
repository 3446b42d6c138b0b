package ingress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/ingress"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// gate is an ingress on a fresh control plane, reached over HTTP.
type gate struct {
	*testing.T
	url     string
	client  *http.Client
	store   *store.Store
	control *control.Service
	admin   lineshaft.Caller
	factory string
	log     *safeBuffer
	offset  atomic.Int64 // of the clock that signatures are measured by
	// outcomes counts what was observed.
	mu       sync.Mutex
	outcomes map[string]int
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// each runs a test on both engines.
func each(t *testing.T, fn func(g *gate)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		t.Helper()
		fn(newGate(t, database))
	})
}

func newGate(t *testing.T, database string, change ...func(*ingress.Deps)) *gate {
	t.Helper()
	plane := controltest.Open(t, database, controltest.Options{})
	g := &gate{T: t, store: plane.Store, control: plane.Service, admin: plane.Admin, log: &safeBuffer{}, outcomes: map[string]int{}}
	f, err := g.control.CreateFactory(t.Context(), g.admin, factories.NewFactory{Name: "works"})
	if err != nil {
		t.Fatal(err)
	}
	g.factory = f.UID
	deps := ingress.Deps{
		Control: g.control, Logger: slog.New(slog.NewJSONHandler(g.log, nil)), BaseURL: "https://hooks.example", ErrorBase: "https://lineshaft.example",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Now:            func() time.Time { return time.Now().Add(time.Duration(g.offset.Load())) },
		Observe: func(outcome string, _ int, _ time.Duration) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.outcomes[outcome]++
		},
	}
	for _, fn := range change {
		fn(&deps)
	}
	server := httptest.NewServer(ingress.New(deps))
	t.Cleanup(server.Close)
	g.url, g.client = server.URL, server.Client()
	return g
}

// hook makes a webhook and an automation that takes everything.
func (g *gate) hook(n factories.NewWebhook) factories.IssuedWebhook {
	g.Helper()
	if n.Name == "" {
		n.Name = "hook"
	}
	w, err := g.control.CreateWebhook(g.Context(), g.admin, g.factory, n)
	if err != nil {
		g.Fatal(err)
	}
	g.automation("all of "+n.Name, w.UID, "")
	g.refresh()
	return w
}

func (g *gate) automation(name, webhookUID, payload string) string {
	g.Helper()
	a, err := g.control.CreateAutomation(g.Context(), g.admin, g.factory, lineshaft.Automation{
		Name: name, Prompt: "```sh\ntrue\n```", Enabled: true,
		Triggers: []lineshaft.Trigger{{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{
			WebhookIDs: []string{webhookUID}, Payload: json.RawMessage(payload),
		}}},
	})
	if err != nil {
		g.Fatal(err)
	}
	g.refresh()
	return a.UID
}

// started are all runs, as they are stored.
func (g *gate) started() (runs []*lineshaft.Run) {
	g.Helper()
	page, err := g.control.ListRuns(g.Context(), g.admin, lineshaft.RunQuery{Limit: 100})
	if err != nil {
		g.Fatal(err)
	}
	for _, run := range page.Runs {
		whole, err := g.store.GetRun(g.Context(), run.ID)
		if err != nil {
			g.Fatal(err)
		}
		runs = append(runs, whole)
	}
	return runs
}

// refresh does what the server does when it is notified of a change.
func (g *gate) refresh() {
	g.Helper()
	if err := g.control.RefreshHooks(g.Context()); err != nil {
		g.Fatal(err)
	}
}

// sending is one request to a webhook.
type sending struct {
	method, path, token, body string
	header                    http.Header
	from                      string // the address that a trusted proxy names
	raw                       io.Reader
}

// answered is what came back.
type answered struct {
	status int
	body   string
	header http.Header
}

func (g *gate) send(s sending) answered {
	g.Helper()
	a, err := g.try(g.Context(), s)
	if err != nil {
		g.Fatal(err)
	}
	return a
}

func (g *gate) try(ctx context.Context, s sending) (answered, error) {
	if s.method == "" {
		s.method = http.MethodPost
	}
	var body io.Reader = strings.NewReader(s.body)
	if s.raw != nil {
		body = s.raw
	}
	r, err := http.NewRequestWithContext(ctx, s.method, g.url+s.path, body)
	if err != nil {
		return answered{}, err
	}
	for name, values := range s.header {
		r.Header[name] = values
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.from != "" {
		r.Header.Set("X-Forwarded-For", s.from)
	}
	resp, err := g.client.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answered{resp.StatusCode, string(text), resp.Header}, err
}

// wants checks the status of an answer.
func (g *gate) wants(what string, a answered, status int) {
	g.Helper()
	if a.status != status {
		g.Fatalf("%s: %d %s, want %d", what, a.status, a.body, status)
	}
	if a.header.Get("X-Request-ID") == "" {
		g.Errorf("%s: no request id", what)
	}
}

// deliveryID takes the id out of a 202.
func (g *gate) deliveryID(a answered) string {
	g.Helper()
	var got struct {
		DeliveryID string `json:"delivery_id"`
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.DeliveryID == "" || a.status != http.StatusAccepted {
		g.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return got.DeliveryID
}

// rows reads a webhook's log, newest first.
func (g *gate) rows(uid string) []lineshaft.Delivery {
	g.Helper()
	list, _, err := g.store.ListDeliveries(g.Context(), uid, "", "", 1000)
	if err != nil {
		g.Fatal(err)
	}
	return list
}

// newest is the last row of a webhook's log.
func (g *gate) newest(uid string) lineshaft.Delivery {
	g.Helper()
	list := g.rows(uid)
	if len(list) == 0 {
		g.Fatal("the log is empty")
	}
	return list[0]
}

// signed signs a body as a sender of a scheme would.
func (g *gate) signed(w factories.IssuedWebhook, secret, body, id string, at time.Time) http.Header {
	g.Helper()
	r := signature.Request{
		Method: http.MethodPost, URL: "https://hooks.example" + ingress.Prefix + w.UID, Header: http.Header{}, Body: []byte(body), Now: at,
	}
	if err := signature.Sign(w.SignatureScheme, signature.HMAC(w.HMAC), secret, &r, id); err != nil {
		g.Fatal(err)
	}
	return r.Header
}

func path(uid string) string { return ingress.Prefix + uid }

func number(n int) *int { return &n }
