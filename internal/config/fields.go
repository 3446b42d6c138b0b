package config

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Field is one setting. Flags, environment variables, file keys and the reference
// in the documentation all come from the list of Fields.
type Field struct {
	// Name is the flag without its dashes, such as "data-dir".
	Name string
	// Env is the environment variable, such as LINESHAFT_DATA_DIR.
	Env string
	// Key is the key in the file, such as data_dir.
	Key string
	// Help says in a line what the setting is for.
	Help string
	// Kind is text, switch, number, size, duration, list or command.
	Kind string
	// Words are the allowed values of a text; nil allows all.
	Words []string
	// Secret values are never shown.
	Secret bool
	// EnvOnly settings have neither flag nor key: command lines and files are seen by others.
	EnvOnly bool

	value func(*Config) value
}

// Get is the setting's value as text, in the form that Set takes.
func (f Field) Get(c *Config) string { return f.value(c).text() }

// Set gives the setting one or, for lists, several values.
func (f Field) Set(c *Config, values ...string) error { return f.value(c).set(values) }

// Default is the value that holds when nobody says otherwise.
func (f Field) Default() string {
	c := Default()
	return f.Get(&c)
}

const envPrefix = "LINESHAFT_"

// Fields lists all settings in the order of the documentation.
func Fields() []Field {
	fields := slices.Concat(serverFields(), tlsFields(), oidcFields(), workerFields())
	for i := range fields {
		key := strings.ReplaceAll(fields[i].Name, "-", "_")
		fields[i].Env = envPrefix + strings.ToUpper(key)
		if !fields[i].EnvOnly {
			fields[i].Key = key
		}
		fields[i].Kind = fields[i].value(new(Config)).kind()
	}
	return fields
}

// WorkerNames are the names of the settings that a self-hosted worker has: how it
// executes runs, and what it shares with any server. What the control plane decides,
// such as the lease, comes with each run.
func WorkerNames() []string {
	names := []string{"data-dir", "forge-url", "forge-credentials", "allow-local-git", "event-limit", "output-limit", "otlp-endpoint", "trace-sample", "log-format", "log-level", "shutdown-grace"}
	for _, f := range workerFields() {
		if f.Name != "no-worker" && f.Name != "lease" && f.Name != "permission-policy" {
			names = append(names, f.Name)
		}
	}
	return names
}

func serverFields() []Field {
	return []Field{
		text("listen", "host and port to listen on", func(c *Config) *string { return &c.Listen }),
		text("data-dir", "directory for the database, workspaces, the admin key and the master key", func(c *Config) *string { return &c.DataDir }),
		text("database", "SQLite file or postgres:// URL; empty is lineshaft.db in the data directory", func(c *Config) *string { return &c.Database }),
		text("blob-dir", "folder for attachments, artifacts and snapshots instead of the database; all nodes must share it", func(c *Config) *string { return &c.BlobDir }),
		text("blob-url", "bucket for the same, of any S3-compatible server, such as https://s3.example.com/bucket/prefix", func(c *Config) *string { return &c.BlobURL }),
		text("blob-region", "region of the bucket; empty is us-east-1", func(c *Config) *string { return &c.BlobRegion }),
		text("blob-key-id", "id of the key that opens the bucket", func(c *Config) *string { return &c.BlobKeyID }),
		{Name: "blob-secret", Help: "secret of the key that opens the bucket", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.BlobSecret) }},
		text("base-url", "what links to this server begin with, such as https://lineshaft.example.com", func(c *Config) *string { return &c.BaseURL }),
		text("webhook-base-url", "what webhook addresses begin with; empty is the base URL", func(c *Config) *string { return &c.WebhookBaseURL }),
		{Name: "trusted-proxy", Help: "address or network of a proxy whose X-Forwarded headers count; can be given several times", value: func(c *Config) value { return prefixes(&c.TrustedProxies) }},
		{Name: "cors-origin", Help: "origin whose pages may call the API with a key, such as https://app.example.com; can be given several times", value: func(c *Config) value { return origins(&c.CORSOrigins) }},
		{
			Name: "rate-limit", Help: "requests that one key, or one person signed in to the pages, may send in a minute; 0 means no limit",
			value: func(c *Config) value { return number(&c.RateLimit) },
		},
		{Name: "run-retention", Help: "how long ended runs are kept, such as 90d; 0 keeps them forever", value: func(c *Config) value { return duration(&c.RunRetention) }},
		{Name: "max-run-depth", Help: "how deep runs may be nested", value: func(c *Config) value { return number(&c.MaxRunDepth) }},
		{Name: "max-live-children", Help: "live runs that one run may have started", value: func(c *Config) value { return number(&c.MaxLiveChildren) }},
		{Name: "max-descendants", Help: "runs that may ever be started below one run", value: func(c *Config) value { return number(&c.MaxDescendants) }},
		{Name: "child-harnesses", Help: "harnesses that an agent may choose for runs that it starts, besides its own, such as shell,builtin", value: func(c *Config) value { return list(&c.ChildHarnesses) }},
		{Name: "child-models", Help: "models that an agent may choose for runs that it starts, besides its own, with commas between them", value: func(c *Config) value { return list(&c.ChildModels) }},
		{Name: "max-webhooks-per-factory", Help: "webhooks that a factory may have", value: func(c *Config) value { return number(&c.MaxWebhooks) }},
		{Name: "delivery-retention", Help: "how long the deliveries of webhooks are kept, 7d or more", value: func(c *Config) value { return duration(&c.DeliveryRetention) }},
		{Name: "delivery-keep", Help: "newest deliveries of each webhook that are kept whatever their age, 50 or more", value: func(c *Config) value { return number(&c.DeliveryKeep) }},
		text("forge-url", "address of a repository of which only owner and name are given: a URL with {owner} and {repo}, or a folder on this machine", func(c *Config) *string { return &c.ForgeURL }),
		{Name: "forge-credentials", Help: "what opens the forge, for reading definitions and skills: a token, user:token, or for ssh a private key in PEM", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.ForgeCredentials) }},
		{Name: "repository-poll", Help: "how often the repositories that factories follow are read", value: func(c *Config) value { return duration(&c.RepositoryPoll) }},
		{Name: "allow-local-git", Help: "let factories follow repositories on this machine and in private networks; the forge may be there without it", value: func(c *Config) value { return flip(&c.AllowLocalGit) }},
		{Name: "callback-allow-private", Help: "let callbacks go to private networks and this machine, and over plain http", value: func(c *Config) value { return flip(&c.CallbackAllowPrivate) }},
		{Name: "event-limit", Help: "events that are kept of one execution", value: func(c *Config) value { return number(&c.EventLimit) }},
		{Name: "output-limit", Help: "bytes of events that are kept of one execution, such as 100MB", value: func(c *Config) value { return size(&c.OutputLimit) }},
		{Name: "artifact-limit", Help: "bytes of artifacts that are kept of one run, such as 1GiB", value: func(c *Config) value { return size(&c.ArtifactLimit) }},
		{Name: "artifact-tree-limit", Help: "bytes of artifacts that are kept of a run with all the runs below it, such as 4GiB", value: func(c *Config) value { return size(&c.ArtifactTreeLimit) }},
		{Name: "postgres-max-conns", Help: "connections to PostgreSQL at most; 0 picks a number", value: func(c *Config) value { return number(&c.PostgresMaxConns) }},
		{Name: "metrics-key", Help: "key that /metrics asks for; empty lets everyone read it", Secret: true, value: func(c *Config) value { return secret(&c.MetricsKey) }},
		{Name: "admin-key", Help: "use this admin key instead of generating one; begins with ls_, 24 characters or more", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.AdminKey) }},
		text("master-key-file", "file with the key that secrets are sealed under, made at the first start; empty is master.key in the data directory", func(c *Config) *string { return &c.MasterKeyFile }),
		{Name: "master-key", Help: "the master key itself, instead of a file: 32 bytes as base64 or hexadecimal", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.MasterKey) }},
		// Its arguments may hold credentials.
		{Name: "master-key-command", Help: "program, with its arguments, that prints the master key", Secret: true, value: func(c *Config) value { return command{&c.MasterKeyCommand} }},
		{Name: "master-key-old", Help: "older master keys, with commas between them, that may still open secrets", Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(&c.MasterKeyOld) }},
		text("otlp-endpoint", "address of an OpenTelemetry collector (OTLP) that gets traces, such as http://127.0.0.1:4318; empty is none, unless OTEL_EXPORTER_OTLP_ENDPOINT names one", func(c *Config) *string { return &c.OTLPEndpoint }),
		{Name: "trace-sample", Help: "share of new traces that is kept, 0 to 1; 1 leaves it to OTEL_TRACES_SAMPLER", value: func(c *Config) value { return fraction(&c.TraceSample) }},
		words("log-format", "form of the log; auto is text on a terminal and json elsewhere", func(c *Config) *string { return &c.LogFormat }, "auto", "text", "json"),
		words("log-level", "least important messages to log", func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error"),
		{Name: "shutdown-grace", Help: "how long a stopping server waits for what it has begun", value: func(c *Config) value { return duration(&c.ShutdownGrace) }},
	}
}

func workerFields() []Field {
	return []Field{
		{Name: "no-worker", Help: "do not execute runs in this process", value: func(c *Config) value { return flip(&c.NoWorker) }},
		{Name: "max-concurrent-runs", Help: "runs that this process executes at once; 0 is two per core", value: func(c *Config) value { return number(&c.MaxConcurrentRuns) }},
		words("isolation", "how agents are kept apart from the machine; empty takes bubblewrap where it works", func(c *Config) *string { return &c.Isolation }, "", "bubblewrap", "container", "kubernetes", "none"),
		text("container-program", "docker or podman, for isolation container; empty takes podman or else docker", func(c *Config) *string { return &c.ContainerProgram }),
		text("container-image", "default image of agents; empty is debian:13", func(c *Config) *string { return &c.ContainerImage }),
		text("kubernetes-config", "kubeconfig file of isolation kubernetes; empty takes the service account of the pod", func(c *Config) *string { return &c.KubernetesConfig }),
		text("kubernetes-namespace", "namespace of the Jobs; empty takes that of the service account", func(c *Config) *string { return &c.KubernetesNamespace }),
		text("kubernetes-image", "image that has lineshaft, and that agents run in whose environment names none", func(c *Config) *string { return &c.KubernetesImage }),
		text("kubernetes-gateway-listen", "address and port on which pods find models, such as :8486; empty is none", func(c *Config) *string { return &c.KubernetesGatewayListen }),
		text("kubernetes-gateway-url", "address at which pods reach kubernetes-gateway-listen, such as http://lineshaft-launcher.agents.svc:8486", func(c *Config) *string { return &c.KubernetesGatewayURL }),
		{Name: "kubernetes-start-timeout", Help: "how long a pod may take to start", value: func(c *Config) value { return duration(&c.KubernetesStartTimeout) }},
		words("agent-seccomp", "filter of system calls for agents in bubblewrap; off lets them make namespaces of their own, which nested sandboxes need", func(c *Config) *string { return &c.AgentSeccomp }, "on", "off"),
		words("egress", "network access of agents; allow: only the egress hosts", func(c *Config) *string { return &c.Egress }, "full", "none", "allow"),
		{Name: "egress-hosts", Help: "hosts that agents reach with egress allow, such as example.com,*.example.org:8443; can be given several times", value: func(c *Config) value { return hosts(&c.EgressHosts) }},
		{Name: "allow-local-mcp", Help: "let runs name MCP servers on this machine and in private networks", value: func(c *Config) value { return flip(&c.AllowLocalMCP) }},
		{Name: "memory-limit", Help: "memory of one agent with its tools, such as 4GiB; 0 means no limit", value: func(c *Config) value { return size(&c.MemoryLimit) }},
		{Name: "process-limit", Help: "processes and threads of one agent; 0 means no limit", value: func(c *Config) value { return number(&c.ProcessLimit) }},
		{Name: "cpu-limit", Help: "cores of one agent, such as 1.5; 0 means no limit", value: func(c *Config) value { return fraction(&c.CPULimit) }},
		{Name: "disk-limit", Help: "disk space of one run's workspace, such as 20GiB; 0 means no limit", value: func(c *Config) value { return size(&c.DiskLimit) }},
		{
			Name: "environment-cache", Help: "disk space for mirrors of repositories and for prepared environments, such as 50GB; 0 keeps none",
			value: func(c *Config) value { return size(&c.EnvironmentCache) },
		},
		{
			Name:  "environment-cache-age",
			Help:  "how old a prepared environment gets before a run starts from nothing again, such as 7d; 0 is any age",
			value: func(c *Config) value { return duration(&c.EnvironmentCacheAge) },
		},
		words("default-harness", "what drives runs that do not choose; empty takes the best there is", func(c *Config) *string { return &c.DefaultHarness }, append([]string{""}, lineshaft.HarnessTypes()...)...),
		words("permission-policy", "who decides when an agent asks whether it may do something, for runs that do not say; with ask the run waits for a follow-up", func(c *Config) *string { return &c.PermissionPolicy }, lineshaft.Policies()...),
		{Name: "agent-command", Help: "program, with its arguments, of the command harness", value: func(c *Config) value { return command{&c.AgentCommand} }},
		{Name: "agent-path", Help: "folders that agents are installed in, outside of /usr and /opt: agents see them read-only and find programs there, in bin, .bin and node_modules/.bin; colons between them, or given several times", value: func(c *Config) value { return folders(&c.AgentPath) }},
		text("models-file", "file (YAML) with the model endpoints and their prices", func(c *Config) *string { return &c.ModelsFile }),
		text("model", "model of runs that do not choose; empty is the first of the endpoint", func(c *Config) *string { return &c.Model }),
		vendorKey("anthropic-api-key", "Anthropic's Messages API", func(c *Config) *Secret { return &c.AnthropicAPIKey }),
		vendorURL("anthropic-url", "Anthropic's Messages API, such as http://127.0.0.1:9000", func(c *Config) *string { return &c.AnthropicURL }),
		vendorKey("openai-api-key", "OpenAI's API", func(c *Config) *Secret { return &c.OpenAIAPIKey }),
		vendorURL("openai-url", "OpenAI's API, such as http://127.0.0.1:11434/v1", func(c *Config) *string { return &c.OpenAIURL }),
		vendorKey("gemini-api-key", "Google's Gemini API", func(c *Config) *Secret { return &c.GeminiAPIKey }),
		vendorURL("gemini-url", "Google's Gemini API, such as http://127.0.0.1:9000", func(c *Config) *string { return &c.GeminiURL }),
		{Name: "lease", Help: "how long a worker holds a run without a sign of life", value: func(c *Config) value { return duration(&c.Lease) }},
	}
}

func text(name, help string, at func(*Config) *string) Field {
	return Field{Name: name, Help: help, value: func(c *Config) value { return plain(at(c), nil) }}
}

// vendorKey and vendorURL set up an endpoint without a file.
func vendorKey(name, of string, at func(*Config) *Secret) Field {
	return Field{Name: name, Help: "key of " + of, Secret: true, EnvOnly: true, value: func(c *Config) value { return secret(at(c)) }}
}

func vendorURL(name, of string, at func(*Config) *string) Field {
	return Field{Name: name, Help: "address of what speaks " + of + "; empty is the vendor's own when there is a key", EnvOnly: true, value: func(c *Config) value { return plain(at(c), nil) }}
}

func words(name, help string, at func(*Config) *string, allowed ...string) Field {
	return Field{Name: name, Help: help, Words: allowed, value: func(c *Config) value { return plain(at(c), allowed) }}
}
