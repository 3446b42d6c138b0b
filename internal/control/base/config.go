package base

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/lineshaft/lineshaft"
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
	// RunURL is the page of a run, which callbacks name.
	RunURL func(runID string) string
	// ObserveCallback, if there is one, counts attempts of callbacks.
	ObserveCallback func(outcome string, took time.Duration)
	// Git reads the repositories of definitions and skills; nil when there is none.
	Git Git
	// RepositoryPoll is how often to check a repository that a factory follows; one
	// minute by default.
	RepositoryPoll time.Duration
	// Vault seals secrets. Nil makes one whose key is lost with the service, for tests.
	Vault  *vault.Vault
	Logger *slog.Logger
	// Tracer makes spans; nil is none.
	Tracer *tracing.Tracer
}

// TreeLimits bound what is below one run; zero values are the defaults.
type TreeLimits struct {
	// Depth is how deep runs may be nested.
	Depth int
	// LiveChildren is how many live children a run may have at once.
	LiveChildren int
	// Descendants is how many runs may ever be started below a root.
	Descendants int
}

// CallbackSender makes the requests to endpoints. Its methods may be called at the
// same time.
type CallbackSender interface {
	// Check says whether an address may be sent to, as far as that can be known
	// without asking a name server.
	Check(url string) error
	// Send makes one request and returns when it was answered, failed or took too long.
	// The result contains any error.
	Send(ctx context.Context, c lineshaft.Callback) lineshaft.CallbackResult
}

// OIDCSessionLife is how long a browser stays signed in by an identity provider, whose word
// on the role is only read at sign-in, unless a setting says otherwise.
const OIDCSessionLife = 12 * time.Hour

// WithDefaults fills in what is not set.
func (cfg Config) WithDefaults() Config {
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.SnapshotKeep = cmp.Or(cfg.SnapshotKeep, 7*24*time.Hour)
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
	cfg.DeliveryRetention = max(cfg.DeliveryRetention, lineshaft.MinDeliveryRetention)
	cfg.DeliveryKeep = max(cfg.DeliveryKeep, lineshaft.MinDeliveryKeep)
	cfg.MaxWebhooks = cmp.Or(cfg.MaxWebhooks, lineshaft.DefaultMaxWebhooks)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return cfg
}
