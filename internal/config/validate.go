package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

const minAdminKey = 24

// Validate reports everything that is wrong, each problem with what to do.
func (c Config) Validate() error {
	var errs []error
	for _, check := range []func() []error{
		c.checkAddresses, c.checkNumbers, c.checkTimes, c.checkTLS, c.checkAgents, c.checkKeys, c.checkMasterKey, c.checkBlobs, c.checkOIDC, c.checkTracing, c.checkChildren,
	} {
		errs = append(errs, check()...)
	}
	return errors.Join(errs...)
}

func (c Config) checkBlobs() []error {
	if c.BlobDir != "" && c.BlobURL != "" {
		return []error{errors.New("blob-dir and blob-url: files are kept in one place; give one of the two")}
	}
	return nil
}

// checkTracing never quotes the address: it may hold a password.
func (c Config) checkTracing() []error {
	var errs []error
	if u, err := url.Parse(c.OTLPEndpoint); c.OTLPEndpoint != "" {
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			errs = append(errs, errors.New("otlp-endpoint: write a whole URL, such as http://127.0.0.1:4318"))
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			errs = append(errs, errors.New("otlp-endpoint: leave out user, ? and #; credentials for the collector go into OTEL_EXPORTER_OTLP_HEADERS"))
		}
	}
	if c.TraceSample < 0 || c.TraceSample > 1 {
		errs = append(errs, errors.New("trace-sample: write a share from 0 to 1, such as 0.1 for a tenth"))
	}
	return errs
}

func (c Config) checkAddresses() []error {
	var errs []error
	host, port, err := net.SplitHostPort(c.Listen)
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 || strings.ContainsAny(host, " /") {
		errs = append(errs, fmt.Errorf("listen: %q is not a host and a port, such as 127.0.0.1:8484 or :8484", c.Listen))
	}
	if c.DataDir == "" {
		errs = append(errs, errors.New("data-dir: name a directory, such as ./lineshaft-data"))
	}
	if err := checkDatabase(c.Database); err != nil {
		errs = append(errs, err)
	}
	for _, link := range []struct{ name, text string }{{"base-url", c.BaseURL}, {"webhook-base-url", c.WebhookBaseURL}} {
		u, err := url.Parse(link.text)
		if link.text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			errs = append(errs, fmt.Errorf("%s: write a whole URL, such as https://lineshaft.example.com", link.name))
		} else if link.text != "" && (u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			errs = append(errs, fmt.Errorf("%s: leave out user, ? and #: links are made by adding a path", link.name))
		}
	}
	return errs
}

// checkDatabase never quotes the text: it may hold a password.
func checkDatabase(database string) error {
	scheme, _, isURL := strings.Cut(database, "://")
	switch {
	case !isURL:
		return nil
	case !isPostgres(database):
		return fmt.Errorf("database: %s:// is not known; write a file path for SQLite or a postgres:// URL", scheme)
	}
	if _, err := url.Parse(database); err != nil {
		return errors.New("database: the postgres:// URL is not well formed; write special characters of the password as %XX")
	}
	return nil
}

func (c Config) checkChildren() []error {
	var errs []error
	for _, name := range c.ChildHarnesses {
		if !slices.Contains(lineshaft.HarnessTypes(), name) {
			errs = append(errs, fmt.Errorf("child-harnesses: %q is not one of %s", name, strings.Join(lineshaft.HarnessTypes(), ", ")))
		}
	}
	return errs
}

func (c Config) checkNumbers() []error {
	var errs []error
	for _, n := range []struct {
		name           string
		value          int64
		least, largest int64
	}{
		{"max-concurrent-runs", int64(c.MaxConcurrentRuns), 0, 10_000},
		{"memory-limit", c.MemoryLimit, 0, 1 << 50},
		{"disk-limit", c.DiskLimit, 0, 1 << 60},
		{"environment-cache", c.EnvironmentCache, 0, 1 << 60},
		{"process-limit", int64(c.ProcessLimit), 0, 4_000_000},
		{"rate-limit", int64(c.RateLimit), 0, 10_000_000},
		{"max-run-depth", int64(c.MaxRunDepth), 1, 100},
		{"max-live-children", int64(c.MaxLiveChildren), 1, 10_000},
		{"max-descendants", int64(c.MaxDescendants), 1, 1_000_000},
		{"max-webhooks-per-factory", int64(c.MaxWebhooks), 1, 10_000},
		{"delivery-keep", int64(c.DeliveryKeep), lineshaft.MinDeliveryKeep, 1_000_000},
		{"event-limit", int64(c.EventLimit), 1, 100_000_000},
		{"output-limit", c.OutputLimit, 1, 1 << 50},
		{"artifact-limit", c.ArtifactLimit, 1, 1 << 50},
		{"artifact-tree-limit", c.ArtifactTreeLimit, 1, 1 << 50},
		{"postgres-max-conns", int64(c.PostgresMaxConns), 0, 10_000},
	} {
		if n.value < n.least || n.value > n.largest {
			errs = append(errs, fmt.Errorf("%s: %d is not between %d and %d", n.name, n.value, n.least, n.largest))
		}
	}
	if c.CPULimit < 0 || c.CPULimit > 10_000 {
		errs = append(errs, fmt.Errorf("cpu-limit: %v is not between 0 and 10000 cores", c.CPULimit))
	}
	return errs
}

func (c Config) checkTimes() []error {
	var errs []error
	for _, d := range []struct {
		name           string
		value          time.Duration
		least, largest time.Duration
	}{
		{"lease", c.Lease, time.Second, time.Hour},
		{"environment-cache-age", c.EnvironmentCacheAge, 0, 10 * 365 * 24 * time.Hour},
		{"run-retention", c.RunRetention, 0, 100 * 365 * 24 * time.Hour},
		{"delivery-retention", c.DeliveryRetention, lineshaft.MinDeliveryRetention, 100 * 365 * 24 * time.Hour},
		{"repository-poll", c.RepositoryPoll, time.Second, 24 * time.Hour},
		{"shutdown-grace", c.ShutdownGrace, 0, time.Hour},
		{"oidc-session-life", c.OIDCSessionLife, time.Minute, 90 * 24 * time.Hour},
		{"kubernetes-start-timeout", c.KubernetesStartTimeout, time.Second, 24 * time.Hour},
	} {
		if d.value < d.least || d.value > d.largest {
			errs = append(errs, fmt.Errorf("%s: %s is not between %s and %s", d.name, writeDuration(d.value), writeDuration(d.least), writeDuration(d.largest)))
		}
	}
	return errs
}

func (c Config) checkAgents() []error {
	var errs []error
	for _, f := range Fields() {
		if f.Words == nil {
			continue
		}
		if err := f.Set(&c, f.Get(&c)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
		}
	}
	if c.Isolation == "kubernetes" && c.KubernetesImage == "" && !c.NoWorker {
		errs = append(errs, errors.New("kubernetes-image: isolation kubernetes needs an image that has lineshaft"))
	}
	if (c.KubernetesGatewayListen == "") != (c.KubernetesGatewayURL == "") {
		errs = append(errs, errors.New("kubernetes-gateway-listen and kubernetes-gateway-url: pods need both to reach models; set both or none"))
	}
	if u, err := url.Parse(c.KubernetesGatewayURL); c.KubernetesGatewayURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, errors.New("kubernetes-gateway-url: write an address such as http://lineshaft-launcher.agents.svc:8486"))
	}
	if c.Isolation == "kubernetes" && c.Egress == "allow" {
		errs = append(errs, errors.New("egress: a cluster's policies know no host names; set egress to none or full, and write a NetworkPolicy"))
	}
	if c.Isolation == "none" && c.Egress != "full" {
		errs = append(errs, errors.New("egress: without isolation agents cannot be kept from the network; set isolation to bubblewrap, or egress to full"))
	}
	if c.Egress == "allow" && len(c.EgressHosts) == 0 {
		errs = append(errs, errors.New("egress-hosts: egress is allow, but no host is named; set egress-hosts, or egress to none"))
	}
	if c.Egress != "allow" && len(c.EgressHosts) > 0 {
		errs = append(errs, fmt.Errorf("egress-hosts: hosts are named, but egress is %s; set egress to allow", c.Egress))
	}
	if (c.Isolation == "container" || c.Isolation == "kubernetes") && len(c.AgentPath) > 0 {
		errs = append(errs, fmt.Errorf("agent-path: with isolation %s agents are what their image has; put the agents into the image", c.Isolation))
	}
	errs = append(errs, c.checkModels()...)
	if c.DefaultHarness == "command" && len(c.AgentCommand) == 0 {
		errs = append(errs, errors.New("agent-command: the default harness is command, but no program is named; set agent-command"))
	}
	if len(c.AgentCommand) > 0 && c.AgentCommand[0] == "" {
		errs = append(errs, errors.New("agent-command: the program's name is empty"))
	}
	return errs
}

func (c Config) checkKeys() []error {
	var errs []error
	admin := c.AdminKey.Reveal()
	if admin != "" && (!strings.HasPrefix(admin, "ls_") || len(admin) < minAdminKey) {
		errs = append(errs, fmt.Errorf("LINESHAFT_ADMIN_KEY: must begin with ls_ and have %d characters or more; make one with: echo ls_$(openssl rand -hex 20)", minAdminKey))
	}
	for _, key := range []struct{ name, value string }{{"LINESHAFT_ADMIN_KEY", admin}, {"metrics-key", c.MetricsKey.Reveal()}} {
		if strings.ContainsFunc(key.value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			errs = append(errs, fmt.Errorf("%s: holds a space or another character that cannot be sent; use letters, digits and _", key.name))
		}
	}
	return errs
}

func (c Config) checkMasterKey() []error {
	var named []string
	for _, source := range []struct {
		name string
		set  bool
	}{
		{"master-key-file", c.MasterKeyFile != ""}, {"LINESHAFT_MASTER_KEY", c.MasterKey != ""}, {"master-key-command", len(c.MasterKeyCommand) > 0},
	} {
		if source.set {
			named = append(named, source.name)
		}
	}
	var errs []error
	if len(named) > 1 {
		errs = append(errs, fmt.Errorf("%s: the master key can come from one place only; keep one of them", strings.Join(named, ", ")))
	}
	if len(c.MasterKeyCommand) > 0 && c.MasterKeyCommand[0] == "" {
		errs = append(errs, errors.New("master-key-command: the program's name is empty"))
	}
	return errs
}

// Warnings says what works but is probably not wanted.
func (c Config) Warnings() []string {
	if c.loopback() {
		return nil
	}
	var warnings []string
	if !c.TLS() && len(c.TrustedProxies) == 0 {
		warnings = append(warnings, fmt.Sprintf("listening on %s without HTTPS: keys travel in the clear; "+
			"set acme-domain, or tls-cert and tls-key, or trusted-proxy when a proxy in front speaks HTTPS", c.Listen))
	}
	if c.Isolation == "none" && !c.NoWorker {
		warnings = append(warnings, fmt.Sprintf("listening on %s with isolation none: "+
			"agents can reach everything this user can; set isolation to bubblewrap", c.Listen))
	}
	return warnings
}

func (c Config) loopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Vendor is a model endpoint that was set up without a file.
type Vendor struct {
	// Name is anthropic, openai or gemini.
	Name string
	// URL is empty for the vendor's own address.
	URL string
	Key Secret
}

// Vendors lists those that a key or an address was given for.
func (c Config) Vendors() []Vendor {
	var list []Vendor
	for _, v := range []Vendor{
		{"anthropic", c.AnthropicURL, c.AnthropicAPIKey}, {"openai", c.OpenAIURL, c.OpenAIAPIKey}, {"gemini", c.GeminiURL, c.GeminiAPIKey},
	} {
		if v.URL != "" || v.Key != "" {
			list = append(list, v)
		}
	}
	return list
}

func (c Config) checkModels() []error {
	var errs []error
	for _, v := range c.Vendors() {
		name := envPrefix + strings.ToUpper(v.Name)
		u, err := url.Parse(v.URL)
		if v.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
			errs = append(errs, fmt.Errorf("%s_URL: write a whole URL without user, ? and #, such as https://models.example.com", name))
		}
		if strings.ContainsFunc(v.Key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			errs = append(errs, fmt.Errorf("%s_API_KEY: holds a space or another character that cannot be sent; check how it was copied", name))
		}
	}
	return errs
}
