package config

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

type validateCase struct {
	name string
	set  func(*Config)
	want string // empty: valid
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tryValidate(t, []validateCase{
		{"all interfaces", func(c *Config) { c.Listen = ":8484" }, ""},
		{"any port", func(c *Config) { c.Listen = "127.0.0.1:0" }, ""},
		{"IPv6", func(c *Config) { c.Listen = "[::1]:8484" }, ""},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" }, "is not a host and a port"},
		{"named port", func(c *Config) { c.Listen = "127.0.0.1:http" }, "is not a host and a port"},
		{"port too large", func(c *Config) { c.Listen = "127.0.0.1:70000" }, "is not a host and a port"},
		{"URL to listen on", func(c *Config) { c.Listen = "http://x:1" }, "is not a host and a port"},
		{"no data directory", func(c *Config) { c.DataDir = "" }, "data-dir: name a directory"},
		{"postgres", func(c *Config) { c.Database = "postgres://u:p@h:5432/x?sslmode=require" }, ""},
		{"postgresql", func(c *Config) { c.Database = "postgresql:///x?host=/run" }, ""},
		{"sqlite URL", func(c *Config) { c.Database = "sqlite://x" }, "sqlite:// is not known; write a file path"},
		{"postgres with bad escape", func(c *Config) { c.Database = "postgres://u:p%zz@h/x" }, "as %XX"},
		{"base URL without scheme", func(c *Config) { c.BaseURL = "a.example" }, "base-url: write a whole URL"},
		{"base URL with query", func(c *Config) { c.BaseURL = "https://a.example?x=1" }, "base-url: leave out"},
		{"two places for blobs", func(c *Config) {
			c.BlobDir, c.BlobURL, c.BlobKeyID, c.BlobSecret = "d", "https://s3.example/b", "k", "s"
		}, "blob-dir and blob-url"},
		{"webhook base URL", func(c *Config) { c.WebhookBaseURL = "ftp://x" }, "webhook-base-url: write a whole URL"},
		{"negative slots", func(c *Config) { c.MaxConcurrentRuns = -1 }, "max-concurrent-runs: -1 is not between 0 and 10000"},
		{"unknown harness of children", func(c *Config) { c.ChildHarnesses = []string{"shell", "bash"} }, `child-harnesses: "bash" is not one of shell`},
		{"no descendants", func(c *Config) { c.MaxDescendants = 0 }, "max-descendants: 0 is not between 1"},
		{"negative memory", func(c *Config) { c.MemoryLimit = -1 }, "memory-limit"},
		{"negative cache", func(c *Config) { c.EnvironmentCache = -1 }, "environment-cache"},
		{"negative age of cache", func(c *Config) { c.EnvironmentCacheAge = -1 }, "environment-cache-age"},
		{"negative disk", func(c *Config) { c.DiskLimit = -1 }, "disk-limit"},
		{"negative processes", func(c *Config) { c.ProcessLimit = -1 }, "process-limit"},
		{"collector without scheme", func(c *Config) { c.OTLPEndpoint = "collector:4318" }, "otlp-endpoint: write a whole URL"},
		{"collector with a password", func(c *Config) { c.OTLPEndpoint = "http://u:p@c:4318" }, "OTEL_EXPORTER_OTLP_HEADERS"},
		{"sample beyond one", func(c *Config) { c.TraceSample = 1.5 }, "trace-sample"},
		{"negative sample", func(c *Config) { c.TraceSample = -0.1 }, "trace-sample"},
		{"negative cores", func(c *Config) { c.CPULimit = -0.5 }, "cpu-limit"},
		{"negative rate", func(c *Config) { c.RateLimit = -1 }, "rate-limit"},
		{"restless", func(c *Config) { c.RepositoryPoll = 500 * time.Millisecond }, "repository-poll: 500ms is not between 1s"},
		{"no webhooks", func(c *Config) { c.MaxWebhooks = 0 }, "max-webhooks-per-factory: 0 is not between 1"},
		{"W-11 short log", func(c *Config) { c.DeliveryRetention = 7*24*time.Hour - time.Second }, "delivery-retention: 167h59m59s is not between 7d and 36500d"},
		{"W-11 shortest log", func(c *Config) { c.DeliveryRetention = 7 * 24 * time.Hour }, ""},
		{"W-11 longer log", func(c *Config) { c.DeliveryRetention = 90 * 24 * time.Hour }, ""},
		{"W-11 few deliveries", func(c *Config) { c.DeliveryKeep = 49 }, "delivery-keep: 49 is not between 50 and 1000000"},
		{"W-11 more deliveries", func(c *Config) { c.DeliveryKeep = 51 }, ""},
		{"no events", func(c *Config) { c.EventLimit = 0 }, "event-limit: 0 is not between 1"},
		{"no output", func(c *Config) { c.OutputLimit = 0 }, "output-limit"},
		{"negative connections", func(c *Config) { c.PostgresMaxConns = -1 }, "postgres-max-conns"},
		{"short lease", func(c *Config) { c.Lease = time.Millisecond }, "lease: 1ms is not between 1s and 1h"},
		{"negative retention", func(c *Config) { c.RunRetention = -1 }, "run-retention"},
		{"long grace", func(c *Config) { c.ShutdownGrace = 2 * time.Hour }, "shutdown-grace"},
		{"certificate alone", func(c *Config) { c.TLSCert = "c" }, "tls-key: the certificate needs its private key"},
		{"key alone", func(c *Config) { c.TLSKey = "k" }, "tls-cert: the private key needs its certificate"},
		{"both", func(c *Config) { c.TLSCert, c.TLSKey = "c", "k" }, ""},
		{"log format", func(c *Config) { c.LogFormat = "xml" }, "log-format"},
		{"log level", func(c *Config) { c.LogLevel = "" }, "log-level"},
		{"harness", func(c *Config) { c.DefaultHarness = "claud" }, "did you mean claude?"},
		{"command harness without command", func(c *Config) { c.DefaultHarness = "command" }, "set agent-command"},
		{"command harness", func(c *Config) { c.DefaultHarness, c.AgentCommand = "command", []string{"a"} }, ""},
		{"empty command", func(c *Config) { c.AgentCommand = []string{""} }, "name is empty"},
		{"admin key", func(c *Config) { c.AdminKey = "ls_012345678901234567890" }, ""},
		{"S-6 admin key too short", func(c *Config) { c.AdminKey = "ls_01234567890123456789" }, "24 characters or more"},
		{"S-6 admin key without prefix", func(c *Config) { c.AdminKey = "xx_012345678901234567890123" }, "must begin with ls_"},
		{"admin key with space", func(c *Config) { c.AdminKey = "ls_01234567890 1234567890123" }, "holds a space"},
		{"metrics key with newline", func(c *Config) { c.MetricsKey = "a\n" }, "metrics-key: holds a space"},
	})
}

func TestX5ValidateIsolation(t *testing.T) {
	t.Parallel()
	tryValidate(t, []validateCase{
		{"isolation", func(c *Config) { c.Isolation = "docker" }, `isolation: "docker" is not one of bubblewrap, container, `},
		{"egress", func(c *Config) { c.Egress = "" }, "egress"},
		{"no isolation, no network", func(c *Config) { c.Isolation, c.Egress = "none", "none" }, "egress: without isolation"},
		{"isolation, no network", func(c *Config) { c.Isolation, c.Egress = "bubblewrap", "none" }, ""},
	})
}

func tryValidate(t *testing.T, cases []validateCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := Default()
			tc.set(&c)
			err := c.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Validate = %v, want %q", err, tc.want)
			}
			if err != nil && (strings.Contains(err.Error(), "0123456789") || strings.Contains(err.Error(), "p%zz")) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestH12Warnings(t *testing.T) {
	t.Parallel()
	open := "listening on 0.0.0.0:1 without HTTPS"
	for _, tc := range []struct {
		name string
		set  func(*Config)
		want []string
	}{
		{"loopback", func(c *Config) { c.Listen = "127.0.0.1:1" }, nil},
		{"loopback v6", func(c *Config) { c.Listen = "[::1]:1" }, nil},
		{"localhost", func(c *Config) { c.Listen = "localhost:1" }, nil},
		{"loopback without isolation", func(c *Config) { c.Listen, c.Isolation = "127.0.0.1:1", "none" }, nil},
		{"open", func(*Config) {}, []string{open}},
		{"all interfaces", func(c *Config) { c.Listen = ":1" }, []string{"listening on :1 without HTTPS"}},
		{"TLS", func(c *Config) { c.TLSCert, c.TLSKey = "c", "k" }, nil},
		{"proxy", func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, nil},
		{"open without isolation", func(c *Config) { c.Isolation = "none" }, []string{open, "with isolation none"}},
		{"no worker", func(c *Config) { c.Isolation, c.NoWorker = "none", true }, []string{open}},
		{"malformed", func(c *Config) { c.Listen = "x" }, []string{"without HTTPS"}},
	} {
		c := Default()
		c.Listen = "0.0.0.0:1"
		tc.set(&c)
		got := c.Warnings()
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q", tc.name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tc.want[i]) {
				t.Errorf("%s: %q, want %q", tc.name, got[i], tc.want[i])
			}
		}
	}
}

func TestS1MasterKeyComesFromOnePlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, key string
		command   []string
		want      string
	}{
		{"", "", nil, ""},
		{"/k", "", nil, ""},
		{"", "hidden", nil, ""},
		{"", "", []string{"get-key"}, ""},
		{"/k", "hidden", nil, "master-key-file, LINESHAFT_MASTER_KEY: "},
		{"/k", "hidden", []string{"get-key"}, "master-key-file, LINESHAFT_MASTER_KEY, master-key-command: "},
		{"", "", []string{"", "x"}, "master-key-command: "},
	} {
		c := Default()
		c.MasterKeyFile, c.MasterKey, c.MasterKeyCommand = tc.file, Secret(tc.key), tc.command
		err := c.Validate()
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%+v: %v", tc, err)
		}
		inData := tc.file == "" && tc.key == "" && tc.command == nil
		if got := c.MasterKeyFileOrDefault(); inData && got != "lineshaft-data/master.key" || !inData && got != tc.file {
			t.Errorf("%+v: file %q", tc, got)
		}
	}
}

// TestX5ValidateKubernetes: what a cluster needs, and cannot do.
func TestX5ValidateKubernetes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"cluster without image", func(c *Config) { c.Isolation = "kubernetes" }, "kubernetes-image: isolation kubernetes needs"},
		{"half a gateway", func(c *Config) { c.KubernetesGatewayListen = ":8486" }, "set both or none"},
		{"no address", func(c *Config) { c.KubernetesGatewayListen, c.KubernetesGatewayURL = ":8486", "launcher:8486" }, "kubernetes-gateway-url: write an address"},
		{"cluster", func(c *Config) { c.Isolation, c.KubernetesImage, c.Egress = "kubernetes", "x", "none" }, ""},
		{"container with agents of the machine", func(c *Config) { c.Isolation, c.AgentPath = "container", []string{"/srv/agents"} }, "put the agents into the image"},
		{"cluster with hosts", func(c *Config) {
			c.Isolation, c.KubernetesImage, c.Egress, c.EgressHosts = "kubernetes", "x", "allow", []string{"example.com"}
		}, "policies know no host names"},
		{"hurried cluster", func(c *Config) { c.KubernetesStartTimeout = 0 }, "kubernetes-start-timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := Default()
			test.change(&c)
			err := c.Validate()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
