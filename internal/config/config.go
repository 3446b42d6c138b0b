// Package config is the configuration of `lineshaft serve`: one struct, its
// defaults, the table that gives every setting its names and its help, and the
// checks. Settings come from defaults, then a file, then the environment, then
// flags; the later wins.
//
// It does no I/O: the cli package hands in the text of the file, the environment
// and the flags, and app hands the few values that each part needs down to it. No
// other package reads configuration.
package config

import (
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Config is everything that `lineshaft serve` can be told.
type Config struct {
	// Listen is the host and port of the server.
	Listen string
	// DataDir holds the database (unless Database says otherwise), workspaces, the admin key and
	// the master key (unless that comes from elsewhere).
	DataDir string
	// Database is a file or a postgres:// URL; see DatabaseOrDefault.
	Database string
	// BlobDir, or BlobURL with the three below it, keeps files outside of the database.
	BlobDir string
	// BlobURL is a bucket of an S3-compatible server.
	BlobURL    string
	BlobRegion string
	BlobKeyID  string
	BlobSecret Secret
	// BaseURL is what links begin with; empty means the address that is listened on.
	BaseURL string
	// WebhookBaseURL is what webhook addresses begin with; empty means BaseURL.
	WebhookBaseURL string
	// NoWorker leaves out the worker in the server process.
	NoWorker bool
	// MaxConcurrentRuns is how many runs the own worker takes; see Slots.
	MaxConcurrentRuns int
	// MaxRunDepth, MaxLiveChildren and MaxDescendants bound what is below one run.
	MaxRunDepth, MaxLiveChildren, MaxDescendants int
	// ChildHarnesses and ChildModels are what agents may choose for runs that they start,
	// besides what they have themselves.
	ChildHarnesses, ChildModels []string
	// Isolation is bubblewrap, container, kubernetes or none; empty takes bubblewrap
	// where it works.
	Isolation string
	// KubernetesConfig is a kubeconfig file; empty takes the service account of the pod.
	KubernetesConfig string
	// KubernetesNamespace is where Jobs are made; empty takes that of the account or file.
	KubernetesNamespace string
	// KubernetesImage has this program.
	KubernetesImage string
	// KubernetesGatewayListen is where the launcher offers its models to pods, and
	// KubernetesGatewayURL the address at which pods find that; empty offers none.
	KubernetesGatewayListen string
	KubernetesGatewayURL    string
	// KubernetesStartTimeout is how long a pod may take to start.
	KubernetesStartTimeout time.Duration
	// ContainerProgram is docker, podman or a program like these; empty takes the
	// first of podman and docker that is there.
	ContainerProgram string
	// ContainerImage is for runs whose environment and runner name none.
	ContainerImage string
	// Egress is what agents reach of the network: full, none, or allow for EgressHosts alone.
	Egress string
	// EgressHosts are what agents reach with Egress allow, such as example.com or *.example.com:8443.
	EgressHosts []string
	// AgentPath are folders with agents that isolated agents see and find programs in.
	AgentPath []string
	// AgentSeccomp is on or off: the filter of system calls for agents in bubblewrap.
	AgentSeccomp string
	// AllowLocalMCP lets runs name MCP servers in private networks and on this machine.
	AllowLocalMCP bool
	// ModelsFile describes the model endpoints and their prices.
	ModelsFile string
	// Model is that of runs that do not choose; empty leaves it to the endpoint.
	Model string
	// The keys and addresses of single endpoints, beside those of ModelsFile.
	AnthropicAPIKey Secret
	AnthropicURL    string
	OpenAIAPIKey    Secret
	OpenAIURL       string
	GeminiAPIKey    Secret
	GeminiURL       string
	// MemoryLimit is for all processes of an agent, in bytes; 0 means none.
	MemoryLimit int64
	// ProcessLimit is how many processes and threads an agent may have; 0 means no limit.
	ProcessLimit int
	// CPULimit is in cores, such as 1.5; 0 means no limit.
	CPULimit float64
	// DiskLimit is for the workspace of a run, in bytes; 0 means none.
	DiskLimit int64
	// RateLimit is how many requests a key may send in a minute; 0 means no limit.
	RateLimit int
	// TrustedProxies are those whose X-Forwarded headers count.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose pages may call the API.
	CORSOrigins []string
	// TLSCert and TLSKey are PEM files; with both, the server speaks HTTPS.
	TLSCert string
	TLSKey  string
	// ACMEDomains are the host names that the server gets certificates for by itself.
	ACMEDomains []string
	// ACMEDirectory is the directory URL of the CA that is asked.
	ACMEDirectory string
	// ACMEEmail is where the CA may write to; empty gives it no address.
	ACMEEmail string
	// ACMECARoot is a PEM file with the root that the CA's own address is trusted by;
	// empty trusts what the machine trusts.
	ACMECARoot string
	// ACMEHTTPPort is where the HTTP challenge is answered; 0 means nowhere.
	ACMEHTTPPort int
	// OIDCIssuer is the identity provider that people sign in with; empty means keys only.
	OIDCIssuer       string
	OIDCClientID     string
	OIDCClientSecret Secret
	// OIDCName is what the button on the sign-in page calls the provider.
	OIDCName string
	// OIDCScopes are asked for beside openid.
	OIDCScopes []string
	// OIDCRoleClaim has the values that OIDCRoles gives roles to.
	OIDCRoleClaim string
	OIDCRoles     []RoleMapping
	// OIDCDefaultRole is for people whom OIDCRoles gives none; empty refuses them.
	OIDCDefaultRole string
	// OIDCSessionLife is how long a browser stays signed in by the provider.
	OIDCSessionLife time.Duration
	// OIDCAllowPrivate lets the provider be in a private network or on this machine.
	OIDCAllowPrivate bool
	// CallbackAllowPrivate lets endpoints of callbacks be in private networks and on this
	// machine, and without https.
	CallbackAllowPrivate bool
	// MetricsKey, if set, is asked for at /metrics.
	MetricsKey Secret
	// OTLPEndpoint is where spans go; empty leaves it to the OTEL_ variables.
	OTLPEndpoint string
	// TraceSample is the share of new traces that are kept.
	TraceSample float64
	// LogFormat is auto, text or json.
	LogFormat string
	// LogLevel is debug, info, warn or error.
	LogLevel string
	// Lease is how long a worker holds a run without a sign of life.
	Lease time.Duration
	// RunRetention is how long ended runs are kept; 0 means for ever.
	RunRetention time.Duration
	// MaxWebhooks is how many webhooks a factory may have.
	MaxWebhooks int
	// DeliveryRetention is how long the log of webhooks is kept.
	DeliveryRetention time.Duration
	// DeliveryKeep is how many of a webhook's newest deliveries are kept whatever their age.
	DeliveryKeep int
	// ForgeURL is where repositories are that are named by owner and name: a URL with
	// {owner} and {repo}, or a folder.
	ForgeURL string
	// ForgeCredentials open the forge: a token, user:token, or a private key.
	ForgeCredentials Secret
	// RepositoryPoll is how often repositories that factories follow are looked at.
	RepositoryPoll time.Duration
	// AllowLocalGit lets repositories be local paths and hosts of private networks.
	AllowLocalGit bool
	// EventLimit is how many events of one execution are kept.
	EventLimit int
	// OutputLimit is how many bytes of events of one execution are kept.
	OutputLimit int64
	// ArtifactLimit is how many bytes of artifacts are kept of one run, and
	// ArtifactTreeLimit of a run with all runs below it.
	ArtifactLimit, ArtifactTreeLimit int64
	// AgentCommand is the program, with its arguments, of the command harness.
	AgentCommand []string
	// DefaultHarness drives runs that do not choose one; empty takes the best there is.
	DefaultHarness string
	// PermissionPolicy is allow, deny or ask, for runs that do not choose one.
	PermissionPolicy string
	// PostgresMaxConns bounds the connections to PostgreSQL; 0 takes the store's default.
	PostgresMaxConns int
	// AdminKey replaces the admin key that the first start would make up.
	AdminKey Secret
	// MasterKeyFile holds the key that secrets are sealed under; see MasterKeyFileOrDefault.
	MasterKeyFile string
	// MasterKey is the key itself, instead of a file.
	MasterKey Secret
	// MasterKeyCommand is a program, with its arguments, that prints the key.
	MasterKeyCommand []string
	// MasterKeyOld are older keys, with commas between them, that may still open secrets.
	MasterKeyOld Secret
	// ShutdownGrace is how long a stopping server waits for what it has begun.
	ShutdownGrace time.Duration

	// origins tells by name where settings come from that are not the default.
	origins map[string]string
	// file is where settings were read from; see FileName.
	file string
}

// FileName is the file that settings were read from; empty if there was none.
func (c Config) FileName() string { return c.file }

// Default is what holds when nobody says otherwise.
func Default() Config {
	return Config{
		Listen:            "127.0.0.1:8484",
		DataDir:           "./lineshaft-data",
		ACMEDirectory:     letsEncrypt,
		ACMEHTTPPort:      80,
		Egress:            "full",
		AgentSeccomp:      "on",
		PermissionPolicy:  lineshaft.PermissionsAllow,
		LogFormat:         "auto",
		LogLevel:          "info",
		TraceSample:       1,
		Lease:             30 * time.Second,
		MaxRunDepth:       lineshaft.MaxRunDepth,
		MaxLiveChildren:   lineshaft.MaxLiveChildren,
		MaxDescendants:    lineshaft.MaxDescendants,
		MaxWebhooks:       lineshaft.DefaultMaxWebhooks,
		DeliveryRetention: lineshaft.MinDeliveryRetention,
		DeliveryKeep:      lineshaft.MinDeliveryKeep,
		ForgeURL:          "https://github.com/{owner}/{repo}.git",
		RepositoryPoll:    time.Minute,
		OIDCName:          "single sign-on",
		OIDCScopes:        []string{"profile", "email"},
		OIDCRoleClaim:     "groups",
		OIDCSessionLife:   12 * time.Hour,
		EventLimit:        100_000,
		OutputLimit:       100_000_000,
		ArtifactLimit:     lineshaft.MaxRunArtifactBytes,
		ArtifactTreeLimit: lineshaft.MaxTreeArtifactBytes,
		ShutdownGrace:     10 * time.Second,

		KubernetesStartTimeout: 15 * time.Minute,
	}
}

// DatabaseOrDefault is the database to open: the one that was named, or the file
// lineshaft.db in the data directory.
func (c Config) DatabaseOrDefault() string {
	if c.Database == "" {
		return filepath.Join(c.DataDir, "lineshaft.db")
	}
	return c.Database
}

// AdminKeyFile is where the admin key of the local CLI is stored.
func (c Config) AdminKeyFile() string { return filepath.Join(c.DataDir, "admin.key") }

// MasterKeyFileOrDefault is the file of the master key, made at the first start:
// the one that was named, or master.key in the data directory. It is empty when the
// key comes from elsewhere.
func (c Config) MasterKeyFileOrDefault() string {
	if c.MasterKeyFile == "" && c.MasterKey == "" && len(c.MasterKeyCommand) == 0 {
		return filepath.Join(c.DataDir, "master.key")
	}
	return c.MasterKeyFile
}

// Slots is how many runs the own worker takes at once on a machine with that many cores.
func (c Config) Slots(cores int) int {
	if c.MaxConcurrentRuns == 0 {
		return 2 * max(cores, 1)
	}
	return c.MaxConcurrentRuns
}

// Secret is a value that must not reach a log. Printing one in any way tells only
// whether it is set.
type Secret string

// Reveal returns the value. Its callers are the places to look at in a review.
func (s Secret) Reveal() string { return string(s) }

// String tells whether a value is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[set]"
}

// GoString keeps the value out of %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps the value out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// isPostgres says whether a database is a PostgreSQL URL.
func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}
