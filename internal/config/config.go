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

// Config is everything that `lineshaft serve` can be told. What a setting means is its help in
// fields.go, which everybody reads; here is only what a program has to know beside it.
type Config struct {
	Listen  string
	DataDir string
	// Database is a file or a postgres:// URL; see DatabaseOrDefault.
	Database       string
	BlobDir        string
	BlobURL        string
	BlobRegion     string
	BlobKeyID      string
	BlobSecret     Secret
	BaseURL        string
	WebhookBaseURL string
	NoWorker       bool
	// MaxConcurrentRuns is how many runs the own worker takes; see Slots.
	MaxConcurrentRuns                            int
	MaxRunDepth, MaxLiveChildren, MaxDescendants int
	ChildHarnesses, ChildModels                  []string
	Isolation                                    string
	KubernetesConfig                             string
	KubernetesNamespace                          string
	KubernetesImage                              string
	KubernetesGatewayListen                      string
	KubernetesGatewayURL                         string
	KubernetesStartTimeout                       time.Duration
	ContainerProgram                             string
	ContainerImage                               string
	Egress                                       string
	EgressHosts                                  []string
	AgentPath                                    []string
	AgentSeccomp                                 string
	AllowLocalMCP                                bool
	ModelsFile                                   string
	Model                                        string
	AnthropicAPIKey                              Secret
	AnthropicURL                                 string
	OpenAIAPIKey                                 Secret
	OpenAIURL                                    string
	GeminiAPIKey                                 Secret
	GeminiURL                                    string
	MemoryLimit                                  int64
	ProcessLimit                                 int
	CPULimit                                     float64
	DiskLimit                                    int64
	EnvironmentCache                             int64
	EnvironmentCacheAge                          time.Duration
	RateLimit                                    int
	TrustedProxies                               []netip.Prefix
	CORSOrigins                                  []string
	TLSCert                                      string
	TLSKey                                       string
	ACMEDomains                                  []string
	ACMEDirectory                                string
	ACMEEmail                                    string
	ACMECARoot                                   string
	ACMEHTTPPort                                 int
	OIDCIssuer                                   string
	OIDCClientID                                 string
	OIDCClientSecret                             Secret
	OIDCName                                     string
	OIDCScopes                                   []string
	OIDCRoleClaim                                string
	OIDCRoles                                    []RoleMapping
	OIDCDefaultRole                              string
	OIDCSessionLife                              time.Duration
	OIDCAllowPrivate                             bool
	CallbackAllowPrivate                         bool
	MetricsKey                                   Secret
	OTLPEndpoint                                 string
	TraceSample                                  float64
	LogFormat                                    string
	LogLevel                                     string
	Lease                                        time.Duration
	RunRetention                                 time.Duration
	MaxWebhooks                                  int
	DeliveryRetention                            time.Duration
	DeliveryKeep                                 int
	ForgeURL                                     string
	ForgeCredentials                             Secret
	RepositoryPoll                               time.Duration
	AllowLocalGit                                bool
	EventLimit                                   int
	OutputLimit                                  int64
	ArtifactLimit, ArtifactTreeLimit             int64
	AgentCommand                                 []string
	DefaultHarness                               string
	PermissionPolicy                             string
	PostgresMaxConns                             int
	AdminKey                                     Secret
	// MasterKeyFile holds the key that secrets are sealed under; see MasterKeyFileOrDefault.
	MasterKeyFile    string
	MasterKey        Secret
	MasterKeyCommand []string
	MasterKeyOld     Secret
	ShutdownGrace    time.Duration

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
		EnvironmentCache:  10_000_000_000, EnvironmentCacheAge: 7 * 24 * time.Hour,
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

// String reports whether a value is set.
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

func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}
