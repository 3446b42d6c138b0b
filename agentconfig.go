package lineshaft

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits and defaults of an agent configuration.
const (
	MaxNameRunes          = 200
	DefaultIdleMinutes    = 10
	DefaultTimeoutMinutes = 60
	DefaultStallMinutes   = 10
	DefaultQueueMinutes   = 1440
	MaxTimeoutMinutes     = 7 * 24 * 60
	MaxAttempts           = 20
	// MaxToolBytes bounds all tool servers together, and the command of a harness.
	MaxToolBytes = 256 << 10
)

// HostedWorker is the worker id of the server's own workers. On the wire
// "hosted", "warp" and an absent worker_host all mean it.
const HostedWorker = "hosted"

// AgentConfig shapes a run. Every field is optional; a nil pointer or an empty
// value means "not said here", so that a wider layer may say it (see Resolve).
type AgentConfig struct {
	Name                string               `json:"name,omitempty"`
	ModelID             string               `json:"model_id,omitempty"`
	BasePrompt          string               `json:"base_prompt,omitempty"`
	EnvironmentID       string               `json:"environment_id,omitempty"`
	WorkerHost          string               `json:"worker_host,omitempty"`
	Skills              []string             `json:"skills,omitempty"`
	MCPServers          map[string]MCPServer `json:"mcp_servers,omitzero"`
	Harness             *HarnessConfig       `json:"harness,omitempty"`
	IdleTimeoutMinutes  *int                 `json:"idle_timeout_minutes,omitempty"`
	RunnerID            string               `json:"runner_id,omitempty"`
	Secrets             []string             `json:"secrets,omitzero"`
	ComputerUseEnabled  *bool                `json:"computer_use_enabled,omitempty"`
	ComputerUseModelID  string               `json:"computer_use_model_id,omitempty"`
	TimeoutMinutes      *int                 `json:"timeout_minutes,omitempty"`
	StallMinutes        *int                 `json:"stall_minutes,omitempty"`
	QueueTimeoutMinutes *int                 `json:"queue_timeout_minutes,omitempty"`
	Budget              *Budget              `json:"budget,omitempty"`
	MaxAttempts         *int                 `json:"max_attempts,omitempty"`
	Concurrency         *Concurrency         `json:"concurrency,omitempty"`
}

// MCPServer is one tool server: exactly one of Command, URL and WarpID is set.
// Env and header values may hold {{SECRET_NAME}}.
type MCPServer struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	WarpID  string            `json:"warp_id,omitempty"`
}

// HarnessConfig picks the adapter that drives the agent.
type HarnessConfig struct {
	Type           string `json:"type,omitempty"`
	ModelID        string `json:"model_id,omitempty"`
	ReasoningLevel string `json:"reasoning_level,omitempty"`
	// Command is the program of the command harness, with its arguments.
	Command []string `json:"command,omitempty"`
	// Mode is how a known agent is talked to: ModeACP or ModeCommand. Empty takes
	// the protocol where its program is installed, else the command.
	Mode string `json:"mode,omitempty"`
	// Permissions says who decides when the agent asks whether it may do something; one
	// of Policies.
	Permissions string `json:"permissions,omitempty"`
	// Auth says whose key the model is called with; nil is the worker's.
	Auth *HarnessAuth `json:"auth,omitempty"`
}

// The ways to talk to the agents claude, codex, gemini and opencode.
const (
	// ModeACP is the Agent Client Protocol.
	ModeACP = "acp"
	// ModeCommand starts the agent's own command once for each turn.
	ModeCommand = "command"
)

// The permission policies.
const (
	// PermissionsAllow lets the agent do everything that its sandbox lets it; the default.
	PermissionsAllow = "allow"
	// PermissionsDeny refuses whatever the agent asks for.
	PermissionsDeny = "deny"
	// PermissionsAsk puts the question to people: the run is BLOCKED until a follow-up answers.
	PermissionsAsk = "ask"
)

// Policies lists the permission policies.
func Policies() []string { return []string{PermissionsAllow, PermissionsDeny, PermissionsAsk} }

// IsZero says that nothing is chosen.
func (h HarnessConfig) IsZero() bool {
	return h.Type == "" && h.ModelID == "" && h.ReasoningLevel == "" && len(h.Command) == 0 && h.Mode == "" && h.Permissions == "" && h.Auth == nil
}

// ConcurrencyPolicy says what happens to a run whose key is taken.
type ConcurrencyPolicy string

// The policies of X-10.
const (
	PolicyQueue          ConcurrencyPolicy = "queue"
	PolicySkip           ConcurrencyPolicy = "skip"
	PolicyCancelPrevious ConcurrencyPolicy = "cancel_previous"
	PolicyFollowup       ConcurrencyPolicy = "followup"
)

// Concurrency allows at most one live run per key.
type Concurrency struct {
	Key    string            `json:"key"`
	Policy ConcurrencyPolicy `json:"policy,omitempty"`
}

// Validate checks the shape of a configuration and names the bad field.
func (c AgentConfig) Validate() error {
	if utf8.RuneCountInString(c.Name) > MaxNameRunes {
		return Invalid("config.name", "longer than %d characters", MaxNameRunes)
	}
	if len(c.BasePrompt) > MaxPromptBytes {
		return Invalid("config.base_prompt", "at most %d bytes are allowed", MaxPromptBytes)
	}
	for _, f := range []struct {
		name, value string
	}{
		{"model_id", c.ModelID},
		{"environment_id", c.EnvironmentID},
		{"worker_host", c.WorkerHost},
		{"runner_id", c.RunnerID},
		{"computer_use_model_id", c.ComputerUseModelID},
	} {
		if len(f.value) > 256 {
			return Invalid("config."+f.name, "at most 256 bytes are allowed")
		}
		if err := checkText("config."+f.name, f.value); err != nil {
			return err
		}
	}
	if host := c.WorkerHost; host != "" && host != HostedWorker {
		if err := CheckWorkerID("config.worker_host", host); err != nil {
			return err
		}
	}
	checks := []func() error{
		c.validateTexts, c.validateSecrets, c.validateNumbers, c.validateMCP, c.validateHarness, c.validateConcurrency,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c AgentConfig) validateTexts() error {
	for _, err := range []error{
		checkText("config.name", c.Name), checkText("config.base_prompt", c.BasePrompt),
		checkText("config.skills", c.Skills...), validateSkills("config.skills", c.Skills),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c AgentConfig) validateSecrets() error {
	if len(c.Secrets) > MaxRunSecrets {
		return Invalid("config.secrets", "%d are too many; at most %d are allowed", len(c.Secrets), MaxRunSecrets)
	}
	for i, name := range c.Secrets {
		switch field := fieldAt("config.secrets", i) + ".name"; {
		case !ValidSecretName(name):
			return Invalid(field, "%q is not the name of a secret: a capital letter, then capital letters, digits and '_'", Clip(name, 40))
		case slices.Contains(c.Secrets[:i], name):
			return Invalid(field, "%s is named twice", name)
		}
	}
	return nil
}

func (c AgentConfig) validateNumbers() error {
	for _, f := range []struct {
		name     string
		value    *int
		min, max int
	}{
		{"idle_timeout_minutes", c.IdleTimeoutMinutes, 0, 60},
		{"timeout_minutes", c.TimeoutMinutes, 1, MaxTimeoutMinutes},
		{"stall_minutes", c.StallMinutes, 1, MaxTimeoutMinutes},
		{"queue_timeout_minutes", c.QueueTimeoutMinutes, 1, 30 * 24 * 60},
		{"retry.max_attempts", c.MaxAttempts, 1, MaxAttempts},
	} {
		if f.value != nil && (*f.value < f.min || *f.value > f.max) {
			return Invalid("config."+f.name, "%d is not between %d and %d", *f.value, f.min, f.max)
		}
	}
	if c.Budget != nil && (c.Budget.MaxTokens < 0 || c.Budget.MaxCostMicros < 0) {
		return Invalid("config.budget", "a budget cannot be negative")
	}
	return nil
}

func (c AgentConfig) validateMCP() error {
	size := 0
	for name, server := range c.MCPServers {
		size += len(name) + server.size()
	}
	if size > MaxToolBytes {
		return Invalid("config.mcp_servers", "%d bytes of tool servers are too many; at most %d are allowed", size, MaxToolBytes)
	}
	for name, server := range c.MCPServers {
		field := "config.mcp_servers." + Clip(name, 80)
		if name == "" || len(name) > 128 {
			return Invalid("config.mcp_servers", "a server name must have 1 to 128 bytes")
		}
		if err := server.validate(field); err != nil {
			return err
		}
	}
	return nil
}

func (s MCPServer) size() int {
	n := len(s.Command) + len(s.URL) + len(s.WarpID)
	for _, arg := range s.Args {
		n += len(arg)
	}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for key, value := range values {
			n += len(key) + len(value)
		}
	}
	return n
}

func (s MCPServer) validate(field string) error {
	set := 0
	for _, v := range []string{s.Command, s.URL, s.WarpID} {
		if v != "" {
			set++
		}
	}
	if set != 1 {
		return Invalid(field, "give exactly one of command, url and warp_id")
	}
	if s.Command == "" && (len(s.Args) > 0 || len(s.Env) > 0) {
		return Invalid(field, "args and env are only for command")
	}
	if s.URL == "" {
		if len(s.Headers) > 0 {
			return Invalid(field, "headers are only for url")
		}
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Invalid(field+".url", "must be an http or https URL")
	}
	return nil
}

// HarnessTypes lists the harness words that the published API and this server know.
func HarnessTypes() []string {
	return []string{"shell", "command", "builtin", "oz", "acp", "claude", "codex", "gemini", "opencode", "goose"}
}

func (c AgentConfig) validateHarness() error {
	if c.Harness == nil {
		return nil
	}
	if n := len(strings.Join(c.Harness.Command, " ")); n > MaxToolBytes {
		return Invalid("config.harness.command", "%d bytes are too many; at most %d are allowed", n, MaxToolBytes)
	}
	for name, text := range map[string]string{"model_id": c.Harness.ModelID, "reasoning_level": c.Harness.ReasoningLevel} {
		if len(text) > 256 {
			return Invalid("config.harness."+name, "at most 256 bytes are allowed")
		}
	}
	if c.Harness.Type != "" && !slices.Contains(HarnessTypes(), c.Harness.Type) {
		return Invalid("config.harness.type", "%q is not one of %s", Clip(c.Harness.Type, 40), strings.Join(HarnessTypes(), ", "))
	}
	if err := c.Harness.validateAuth("config.harness"); err != nil {
		return err
	}
	if p := c.Harness.Permissions; p != "" && !slices.Contains(Policies(), p) {
		return Invalid("config.harness.permissions", "%q is not one of %s", Clip(p, 40), strings.Join(Policies(), ", "))
	}
	switch h := c.Harness; {
	case h.Mode == "":
	case h.Mode != ModeACP && h.Mode != ModeCommand:
		return Invalid("config.harness.mode", "%q is neither %s nor %s", Clip(h.Mode, 40), ModeACP, ModeCommand)
	case !slices.Contains([]string{"claude", "codex", "gemini", "opencode"}, h.Type):
		return Invalid("config.harness.mode", "is only for harness.type claude, codex, gemini or opencode")
	}
	return nil
}

// CheckModel refuses two models in one place: the one of the built-in agent beside
// another agent, or beside the model of a harness.
func (c AgentConfig) CheckModel() error {
	h := c.Harness
	switch {
	case c.ModelID == "" || h == nil:
	case h.Type != "" && h.Type != "oz" && h.Type != "builtin":
		return Invalid("config.model_id", "is the model of the built-in agent, and the harness is %s; leave it empty, and give the harness its model", Clip(h.Type, 40))
	case h.ModelID != "":
		return Invalid("config.model_id", "the harness also has a model; keep one of the two")
	}
	return nil
}

func (c AgentConfig) validateConcurrency() error {
	if c.Concurrency == nil {
		return nil
	}
	if c.Concurrency.Key == "" || len(c.Concurrency.Key) > 256 {
		return Invalid("config.concurrency.key", "must have 1 to 256 bytes")
	}
	if err := checkText("config.concurrency.key", c.Concurrency.Key); err != nil {
		return err
	}
	switch c.Concurrency.Policy {
	case "", PolicyQueue, PolicySkip, PolicyCancelPrevious, PolicyFollowup:
		return nil
	}
	return Invalid("config.concurrency.policy", "%q is not one of queue, skip, cancel_previous, followup", Clip(string(c.Concurrency.Policy), 40))
}

// Model is the model that a run asks for: the harness's own choice goes first.
func (c AgentConfig) Model() string {
	if c.Harness != nil && c.Harness.ModelID != "" {
		return c.Harness.ModelID
	}
	return c.ModelID
}

// Layer is one place that may say something about a run's configuration.
type Layer struct {
	// Origin names the place: run, automation, agent, factory, environment, server.
	Origin string
	Config AgentConfig
	// Replaces is set for the places of a definition that inherit from each other, as an
	// automation does from its agent: the secrets and tool servers of the narrowest that
	// says something about them count, and its model is that of the built-in agent.
	Replaces bool
}

// Resolve merges layers, narrowest first: for each field the first layer that says
// something wins. The harness is merged part by part (see mergeHarness). Secrets and tool
// servers add up, except those of layers that replace each other; the first layer that
// names one wins. Origins shows for every set field which layer that was; for secrets and
// tool servers there is one entry for each, such as secrets.TOKEN.
func Resolve(layers ...Layer) (AgentConfig, map[string]string) {
	var out AgentConfig
	origins := map[string]string{}
	secrets, servers := false, false // said by a layer that replaces
	for _, layer := range layers {
		for _, f := range mergeFields(&out, &layer.Config) {
			if !f.set && f.take() {
				origins[f.name] = layer.Origin
			}
		}
		if layer.Replaces {
			if secrets {
				layer.Config.Secrets = nil
			}
			if servers {
				layer.Config.MCPServers = nil
			}
			secrets, servers = secrets || layer.Config.Secrets != nil, servers || layer.Config.MCPServers != nil
		}
		addUp(&out, layer, origins)
	}
	mergeHarness(&out, layers, origins)
	return out, origins
}

// addUp takes over the secrets and tool servers that no narrower layer names.
func addUp(out *AgentConfig, layer Layer, origins map[string]string) {
	for _, name := range layer.Config.Secrets {
		if key := SecretOrigin(name); origins[key] == "" {
			origins[key] = layer.Origin
		}
	}
	out.Secrets = union(out.Secrets, layer.Config.Secrets)
	for name := range layer.Config.MCPServers {
		if key := "mcp_servers." + name; origins[key] == "" {
			origins[key] = layer.Origin
		}
	}
	out.MCPServers = mergeServers(out.MCPServers, layer.Config.MCPServers)
}

// SecretOrigin is where the origins of a configuration say which layer named a secret.
func SecretOrigin(name string) string { return "secrets." + name }

// union appends missing items; it never changes its arguments.
func union(first, then []string) []string {
	out := slices.Clone(first)
	for _, s := range then {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func mergeServers(first, then map[string]MCPServer) map[string]MCPServer {
	if len(then) == 0 {
		return first
	}
	out := maps.Clone(then)
	maps.Copy(out, first)
	return out
}

type mergeField struct {
	name string
	set  bool
	take func() bool
}

func mergeFields(dst, src *AgentConfig) []mergeField {
	return []mergeField{
		value("name", &dst.Name, src.Name),
		value("base_prompt", &dst.BasePrompt, src.BasePrompt),
		value("environment_id", &dst.EnvironmentID, src.EnvironmentID),
		value("worker_host", &dst.WorkerHost, src.WorkerHost),
		value("runner_id", &dst.RunnerID, src.RunnerID),
		value("idle_timeout_minutes", &dst.IdleTimeoutMinutes, src.IdleTimeoutMinutes),
		value("computer_use_enabled", &dst.ComputerUseEnabled, src.ComputerUseEnabled),
		value("computer_use_model_id", &dst.ComputerUseModelID, src.ComputerUseModelID),
		value("timeout_minutes", &dst.TimeoutMinutes, src.TimeoutMinutes),
		value("stall_minutes", &dst.StallMinutes, src.StallMinutes),
		value("queue_timeout_minutes", &dst.QueueTimeoutMinutes, src.QueueTimeoutMinutes),
		value("budget", &dst.Budget, src.Budget),
		value("retry.max_attempts", &dst.MaxAttempts, src.MaxAttempts),
		value("concurrency", &dst.Concurrency, src.Concurrency),
		{"skills", len(dst.Skills) > 0, func() bool { dst.Skills = src.Skills; return len(src.Skills) > 0 }},
	}
}

func value[T comparable](name string, dst *T, src T) mergeField {
	var zero T
	return mergeField{name, *dst != zero, func() bool { *dst = src; return src != zero }}
}

// String names a policy for messages.
func (c Concurrency) String() string { return fmt.Sprintf("%s (%s)", c.Key, c.Policy) }
