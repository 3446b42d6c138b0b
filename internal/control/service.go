package control

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/vault"
)

// Config has the settings that use cases need.
type Config struct {
	// Lease is how long a claim holds without a heartbeat; 30 s by default.
	Lease time.Duration
	// Defaults is the widest layer of every run's configuration.
	Defaults lineshaft.AgentConfig
	// DefaultHarness drives runs on the server's own workers that do not choose one, and
	// DefaultModels has the model of those that name none, by harness. Empty leaves it to
	// the worker.
	DefaultHarness string
	DefaultModels  map[string]string
	// Children is what the operator lets agents give to the runs that they start, and
	// Trees bounds these.
	Children lineshaft.ChildAllowance
	Trees    TreeLimits
	// SnapshotKeep is how long a workspace snapshot is kept; 7 days by default.
	SnapshotKeep time.Duration
	// OutputBytes and OutputEvents bound what the agent of one execution may report
	// through the API, as they bound its output; default 100 MB and 100,000 events.
	OutputBytes, OutputEvents int64
	// ArtifactBytes and ArtifactTreeBytes bound the artifacts of a run, and of a root
	// run with all runs below it; default 1 GiB and 4 GiB.
	ArtifactBytes, ArtifactTreeBytes int64
	// RunRetention removes ended runs after this time; 0 keeps them.
	RunRetention time.Duration
	// OIDCSessionLife is how long a browser stays signed in by an identity provider; 12
	// hours by default.
	OIDCSessionLife time.Duration
	// MaxWebhooks is how many webhooks a factory may have; 20 by default.
	MaxWebhooks int
	// DeliveryRetention is how long the log of webhooks is kept; 7 days by default and
	// at least.
	DeliveryRetention time.Duration
	// DeliveryKeep is how many of a webhook's newest deliveries are kept whatever their
	// age; 50 by default and at least.
	DeliveryKeep int
	// Clock is what schedules and callbacks are measured by; nil is the database's clock, which is the
	// same for all nodes.
	Clock func() time.Time
	// Callbacks makes the requests to endpoints; nil sends nothing.
	Callbacks CallbackSender
	// RunURL is the page of a run, which callbacks tell.
	RunURL func(runID string) string
	// ObserveCallback, if there is one, counts attempts of callbacks.
	ObserveCallback func(outcome string, took time.Duration)
	// Git reads the repositories of definitions and skills; nil when there is none.
	Git Git
	// RepositoryPoll is how often a repository that a factory follows is looked at; one
	// minute by default.
	RepositoryPoll time.Duration
	// Vault seals secrets. Nil makes one whose key is lost with the service, for tests.
	Vault  *vault.Vault
	Logger *slog.Logger
	// Tracer makes spans; nil is none.
	Tracer *tracing.Tracer
}

// Service is the control plane.
type Service struct {
	cfg     Config
	store   *store.Store
	hub     *stream.Hub
	streams *stream.Streams
	log     *slog.Logger
	keys    *keyCache
	signKey []byte
	hooks   hooks
	accepts gathering[*acceptance]
	ends    gathering[*turnEnd]
	blocked blocklist
	skills  skillReader
	chains  chains
	lines   claimLines
	fanout  fanout
	backlog backlog
	// callbacks are the requests to endpoints that are being made.
	callbacks callbacks
	// noWebhookRuns, when set, is why deliveries start no runs.
	noWebhookRuns string

	mu sync.Mutex
	// turns bounds the long answers that are made at once.
	turns *turns
	inbox inboxes                  // directives, by worker process
	seen  map[string]time.Time     // when a worker was last recorded
	parts map[string]func() string // background parts for Ready
	minor map[string]func() string // those that the server serves without
	loops loops
}

// New returns the service on an open store. streams must read the same store.
func New(ctx context.Context, s *store.Store, hub *stream.Hub, streams *stream.Streams, cfg Config) (*Service, error) {
	if cfg.Lease == 0 {
		cfg.Lease = 30 * time.Second
	}
	if cfg.SnapshotKeep == 0 {
		cfg.SnapshotKeep = 7 * 24 * time.Hour
	}
	cfg.Trees = TreeLimits{
		Depth: cmp.Or(cfg.Trees.Depth, lineshaft.MaxRunDepth), LiveChildren: cmp.Or(cfg.Trees.LiveChildren, lineshaft.MaxLiveChildren),
		Descendants: cmp.Or(cfg.Trees.Descendants, lineshaft.MaxDescendants),
	}
	cfg.OIDCSessionLife = cmp.Or(cfg.OIDCSessionLife, OIDCSessionLife)
	if cfg.RepositoryPoll <= 0 {
		cfg.RepositoryPoll = time.Minute
	}
	cfg.ArtifactBytes = cmp.Or(cfg.ArtifactBytes, lineshaft.MaxRunArtifactBytes)
	cfg.ArtifactTreeBytes = cmp.Or(cfg.ArtifactTreeBytes, lineshaft.MaxTreeArtifactBytes)
	cfg.OutputBytes, cfg.OutputEvents = cmp.Or(cfg.OutputBytes, 100_000_000), cmp.Or(cfg.OutputEvents, 100_000)
	cfg.deliveryDefaults()
	if cfg.MaxWebhooks == 0 {
		cfg.MaxWebhooks = lineshaft.DefaultMaxWebhooks
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	shared := cfg.Vault != nil
	if !shared {
		var err error
		if cfg.Vault, err = temporaryVault(); err != nil {
			return nil, err
		}
	}
	service := &Service{
		cfg: cfg, store: s, hub: hub, streams: streams, log: cfg.Logger, keys: newKeyCache(hub),
		inbox: inboxes{boxes: map[string]*inbox{}}, turns: newTurns(), seen: map[string]time.Time{}, parts: map[string]func() string{}, minor: map[string]func() string{},
	}
	service.chains.setting, service.fanout.setting = chainSetting, notificationSetting
	service.callbacks.busy, service.callbacks.freed = map[string]int{}, make(chan struct{}, 1)
	service.hooks.revisions, service.hooks.parts = map[string]int64{}, map[string]*factoryCopy{}
	service.accepts = gathering[*acceptance]{most: maxAcceptBatch, atOnce: batchesAtOnce(s.Engine()), weigh: (*acceptance).weight}
	service.ends = gathering[*turnEnd]{most: maxEndBatch, atOnce: batchesAtOnce(s.Engine())}
	if shared {
		if err := service.checkVault(ctx); err != nil {
			return nil, err
		}
	}
	return service, service.loadSignKey(ctx)
}

// RefuseWebhookRuns makes deliveries start nothing, for the given reason: agents are
// not isolated although strangers reach the server. Call it before serving.
func (s *Service) RefuseWebhookRuns(reason string) { s.noWebhookRuns = reason }

// audit records what caller did, in the transaction of the change.
func (s *Service) audit(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) error {
	return tx.Audit(ctx, auditEntry(c, action, targetType, targetID, detail))
}

func auditEntry(c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) lineshaft.AuditEntry {
	return lineshaft.AuditEntry{
		Actor: c.Principal, KeyID: c.KeyID, Action: action, TargetType: targetType, TargetID: targetID,
		RemoteAddr: c.RemoteAddr, RequestID: c.RequestID, Detail: detail,
	}
}

// AddPart names a background part that Ready asks: health returns "" or a short
// public word on what is wrong.
func (s *Service) AddPart(name string, health func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[name] = health
}

// AddMinorPart names a part whose problems Ready shows, but that the server serves
// without: taking it out of service would make nothing better.
func (s *Service) AddMinorPart(name string, health func() string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minor[name] = health
}

// Ready tells how each part of the server stands.
func (s *Service) Ready(ctx context.Context) []Part {
	parts := []Part{{Name: "store"}, {Name: "schema"}}
	if err := s.store.Ping(ctx); err != nil {
		parts[0].Problem = "not reachable"
	}
	if err := s.store.CheckSchema(ctx); err != nil {
		parts[1].Problem = "not current"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, health := range s.parts {
		parts = append(parts, Part{Name: name, Problem: health()})
	}
	for name, health := range s.minor {
		parts = append(parts, Part{Name: name, Problem: health(), Serves: true})
	}
	return append(parts, s.loops.parts()...)
}
