package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/store"
)

// doctorTimeout bounds each look at something outside this process.
const doctorTimeout = 10 * time.Second

// Doctor looks at this machine and these settings and says what works, what is
// missing and what to do about it. It changes nothing.
func Doctor(ctx context.Context, cfg config.Config, opts Options) []config.Check {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	isolated, _ := isolate(ctx, cfg, opts) // checkIsolation reports what is wrong with it
	checks := []config.Check{
		checkDataDir(cfg),
		checkDatabase(ctx, cfg),
		checkMasterKey(ctx, cfg),
		checkListen(ctx, cfg),
		checkIsolation(ctx, cfg, opts),
		checkLimits(ctx, cfg, opts),
		checkPrepared(ctx, cfg, isolated),
		checkModels(cfg),
		checkHarness(cfg, opts, isolated),
		checkOIDC(ctx, cfg),
	}
	if cfg.TLS() {
		checks = append(checks, checkCertificates(ctx, cfg, opts))
	}
	return checks
}

func good(name, format string, args ...any) config.Check {
	return config.Check{Name: name, State: config.CheckOK, Detail: fmt.Sprintf(format, args...)}
}

func bad(name string, state config.CheckState, detail, fix string) config.Check {
	return config.Check{Name: name, State: state, Detail: detail, Fix: fix}
}

func checkDataDir(cfg config.Config) config.Check {
	const name = "data directory"
	parent := cfg.DataDir
	for {
		info, err := os.Stat(parent)
		if err == nil && !info.IsDir() {
			return bad(name, config.CheckProblem, parent+" is not a directory", "choose another one with --data-dir")
		}
		if err == nil {
			break
		}
		if up := filepath.Dir(parent); up != parent {
			parent = up
			continue
		}
		return bad(name, config.CheckProblem, err.Error(), "choose another one with --data-dir")
	}
	probe, err := os.CreateTemp(parent, ".lineshaft-doctor-*")
	if err != nil {
		return bad(name, config.CheckProblem, "cannot write to "+parent, "give this user the right to write there, or choose another one with --data-dir")
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return bad(name, config.CheckWarning, err.Error(), "check the file system")
	}
	return good(name, "%s", cfg.DataDir)
}

func checkDatabase(ctx context.Context, cfg config.Config) config.Check {
	const name = "database"
	database := cfg.DatabaseOrDefault()
	if !store.IsPostgres(database) {
		if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
			return good(name, "SQLite at %s, made at the first start", database)
		}
	}
	s, err := store.Open(ctx, store.Options{Database: database})
	switch {
	case lineshaft.CodeOf(err) == lineshaft.CodeConflict && !store.IsPostgres(database):
		return good(name, "SQLite at %s, in use by a running server", database)
	case err != nil:
		return bad(name, config.CheckProblem, err.Error(), "check --database and that the server behind it runs")
	}
	defer func() { _ = s.Close() }() // it was only read
	// What waits is reported even if the database does not say for whom.
	if since, by, _ := s.HeldBack(ctx); !since.IsZero() && time.Since(since) > heldLong {
		return bad(name, config.CheckWarning, "callbacks and streams of state changes are held back since "+since.UTC().Format(time.RFC3339)+" by "+by, mendHeld)
	}
	return good(name, "%s answers, schema is current", s.Engine())
}

func checkListen(ctx context.Context, cfg config.Config) config.Check {
	const name = "address"
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return bad(name, config.CheckWarning, err.Error(), "if no lineshaft server is meant to run there, choose another address with --listen")
	}
	if err := l.Close(); err != nil {
		return bad(name, config.CheckWarning, err.Error(), "check the network settings")
	}
	if c := checkExposure(cfg); c.State != config.CheckOK {
		return c
	}
	return good(name, "%s is free", cfg.Listen)
}

func checkExposure(cfg config.Config) config.Check {
	const name = "address"
	if !loopback(cfg.Listen) && !cfg.TLS() && len(cfg.TrustedProxies) == 0 {
		return bad(name, config.CheckWarning, cfg.Listen+" is reachable from outside without HTTPS", "set --acme-domain, or --tls-cert and --tls-key, or put a proxy in front and name it with --trusted-proxy")
	}
	if len(cfg.TrustedProxies) > 0 && !cfg.TLS() && !strings.HasPrefix(cfg.BaseURL, "https://") {
		return bad(name, config.CheckWarning, "a proxy is trusted, and the server does not know that people use HTTPS",
			"set --base-url to the https address of the proxy, so links and cookies match it")
	}
	return good(name, "%s", cfg.Listen)
}

func checkIsolation(ctx context.Context, cfg config.Config, opts Options) config.Check {
	const name = "isolation"
	chosen, err := isolate(ctx, cfg, opts)
	switch {
	case err != nil:
		return bad(name, config.CheckProblem, err.Error(), mendIsolation(cfg))
	case chosen.warning != "":
		return bad(name, config.CheckWarning, chosen.warning, "apt-get install bubblewrap")
	}
	return good(name, "%s", chosen.name())
}

// mendIsolation says what to do when the isolation that was asked for does not work.
func mendIsolation(cfg config.Config) string {
	if cfg.Isolation == "kubernetes" {
		return "docs/kubernetes.md has the service account and the Role that a launcher needs"
	}
	if cfg.Isolation == "container" {
		return "do what the message says, or choose another isolation with --isolation"
	}
	return "install bubblewrap (apt-get install bubblewrap), or say --isolation none"
}

// mechanism is implemented by sandboxes that can say how they hold limits.
type mechanism interface {
	Mechanism(ctx context.Context) sandbox.Report
}

func checkLimits(ctx context.Context, cfg config.Config, opts Options) config.Check {
	const name = "limits"
	chosen, err := isolate(ctx, cfg, opts)
	if err != nil {
		return bad(name, config.CheckWarning, "no isolation, so nothing holds limits", "see isolation")
	}
	if chosen.cluster != nil {
		return good(name, "memory, CPU and disk: limits of the pod; processes: as the kubelet is set up (podPidsLimit)")
	}
	m, ok := chosen.sandbox.(mechanism)
	if !ok {
		return bad(name, config.CheckWarning, "unknown", "")
	}
	r := m.Mechanism(ctx)
	detail := fmt.Sprintf("memory: %s, processes: %s, CPU: %s, disk: %s, end of process trees: %s", r.Memory, r.Processes, r.CPU, r.Disk, r.Kill)
	if r.Calls != "" {
		detail += ", system calls: " + r.Calls
	}
	if r.Advice != "" {
		return bad(name, config.CheckWarning, detail, r.Advice)
	}
	return good(name, "%s", detail)
}

// checkModels looks at the settings alone: asking an endpoint may cost something.
func checkModels(cfg config.Config) config.Check {
	const name = "models"
	set, err := loadModels(cfg)
	switch {
	case err != nil:
		return bad(name, config.CheckProblem, err.Error(), "fix the file or the variable that is named; docs/models.md shows how they are written")
	case len(set.Endpoints) == 0 && cfg.Model != "":
		return bad(name, config.CheckWarning, idleModel(cfg.Model), fixIdleModel)
	case len(set.Endpoints) == 0:
		return good(name, "no endpoint: prompts with shell blocks work, agents need a model; set LINESHAFT_ANTHROPIC_API_KEY, LINESHAFT_OPENAI_API_KEY, LINESHAFT_GEMINI_API_KEY or --models-file")
	}
	var list, unpriced []string
	for _, e := range set.Endpoints {
		list = append(list, fmt.Sprintf("%s (%s, %s listed)", e.Name, e.Protocol, counted(len(e.Models), "model")))
		if len(e.Prices) < max(len(e.Models), 1) {
			unpriced = append(unpriced, e.Name)
		}
	}
	if len(unpriced) > 0 {
		return bad(name, config.CheckWarning, fmt.Sprintf("%s; models without a price at %s: their cost is unknown, and runs with a budget in dollars cannot use them", strings.Join(list, ", "), strings.Join(unpriced, ", ")),
			"write the prices of your contract into the file of --models-file")
	}
	return good(name, "%s", strings.Join(list, ", "))
}

// Migrate brings the database to the schema of this binary and says which one that is.
func Migrate(ctx context.Context, cfg config.Config) (version int, err error) {
	s, err := store.Open(ctx, store.Options{Database: cfg.DatabaseOrDefault()})
	if err != nil {
		return 0, fmt.Errorf("open database: %w", err)
	}
	version, err = store.SchemaVersion()
	return version, errors.Join(err, s.Close())
}
