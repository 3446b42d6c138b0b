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
)

// Service is the control plane.
type Service struct {
	*Health
	*Turns
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

	mu    sync.Mutex
	inbox inboxes              // directives, by worker process
	seen  map[string]time.Time // when a worker was last recorded
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
		inbox: inboxes{boxes: map[string]*inbox{}}, seen: map[string]time.Time{}, Health: NewHealth(s, cfg.Logger), Turns: NewTurns(),
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
