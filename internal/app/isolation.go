package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/harness/command"
	"github.com/lineshaft/lineshaft/internal/harness/oneshot"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/kubernetes"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/store"
)

// isolation is the sandbox that agents run in, and what people should know of it.
type isolation struct {
	sandbox sandbox.Sandbox
	// cluster is set instead when agents run in the pods of one.
	cluster *kubernetes.Client
	// warning is set when agents are not isolated although nobody asked for that.
	warning string
}

func (i isolation) name() string {
	if i.cluster != nil {
		return "kubernetes"
	}
	return i.sandbox.Name()
}

// chooseIsolation takes the sandbox that was asked for, or refuses to start. When
// nothing was asked for it takes bubblewrap, or none with a loud warning.
func (a *App) chooseIsolation(ctx context.Context) error {
	if a.cfg.NoWorker {
		return nil
	}
	chosen, err := isolate(ctx, a.cfg, a.opts)
	if err != nil {
		return err
	}
	a.isolated = chosen
	if chosen.warning != "" {
		a.log.WarnContext(ctx, "agents are not isolated", "warning", chosen.warning)
		if !loopback(a.listener.Addr().String()) {
			a.control.RefuseWebhookRuns("agents are not isolated and the server is reachable from outside; the operator must choose with --isolation")
		}
	}
	return nil
}

func isolate(ctx context.Context, cfg config.Config, opts Options) (isolation, error) {
	if cfg.Isolation == "kubernetes" {
		return isolateInCluster(ctx, cfg)
	}
	dataDir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return isolation{}, fmt.Errorf("find data directory: %w", err)
	}
	seen, _, err := agentPath(cfg)
	if err != nil {
		return isolation{}, err
	}
	options := sandbox.Options{
		ReadOnly: seen, Supervisor: opts.Supervisor, Program: opts.Program, Links: filepath.Join(dataDir, "bin"), Hide: append(serverFiles(cfg), dataDir), Logger: opts.Logger,
		Container: cfg.ContainerProgram, Image: cfg.ContainerImage, State: filepath.Join(dataDir, "containers"), Owner: owner(dataDir),
		Unfiltered: cfg.AgentSeccomp == "off",
	}
	wrapped := sandbox.NewBubblewrap(options)
	switch cfg.Isolation {
	case "none":
		return isolation{sandbox: sandbox.NewNone(options)}, nil
	case "bubblewrap":
		return asked(ctx, wrapped)
	case "container":
		return asked(ctx, sandbox.NewContainer(options))
	}
	err = wrapped.Check(ctx)
	if err == nil {
		return isolation{sandbox: wrapped}, nil
	}
	return isolation{
		sandbox: sandbox.NewNone(options),
		warning: "AGENTS ARE NOT ISOLATED: they can read and change what this server can. Install bubblewrap and restart, " +
			"or say --isolation none if you accept it (" + err.Error() + ")",
	}, nil
}

// asked is an isolation that was asked for: no other one replaces it.
func asked(ctx context.Context, s sandbox.Sandbox) (isolation, error) {
	if err := s.Check(ctx); err != nil {
		return isolation{}, fmt.Errorf("isolation %s was asked for: %w", s.Name(), err)
	}
	return isolation{sandbox: s}, nil
}

// owner marks the containers of the worker that uses a data directory.
func owner(dataDir string) string {
	sum := sha256.Sum256([]byte(dataDir))
	return hex.EncodeToString(sum[:8])
}

// serverFiles are files of the server that may lie outside its data directory, with
// the settings themselves: they may hold a password of the database.
func serverFiles(cfg config.Config) []string {
	files := []string{cfg.FileName(), cfg.TLSCert, cfg.TLSKey, cfg.ACMECARoot, cfg.MasterKeyFileOrDefault(), cfg.BlobDir, cfg.KubernetesConfig}
	files = append(files, modelFiles(cfg)...)
	files = append(files, argumentFiles(cfg.MasterKeyCommand)...)
	if filepath.IsAbs(cfg.ForgeURL) {
		files = append(files, cfg.ForgeURL)
	}
	if database := cfg.DatabaseOrDefault(); !store.IsPostgres(database) {
		for _, part := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
			files = append(files, database+part)
		}
	}
	var absolute []string
	for _, file := range files {
		if path, err := filepath.Abs(file); err == nil && file != "" {
			absolute = append(absolute, path)
		}
	}
	return absolute
}

// argumentFiles are the files that a command is given, such as the key that it
// prints. The program itself may be one that agents need.
func argumentFiles(command []string) []string {
	var files []string
	for _, arg := range command[min(1, len(command)):] {
		if _, value, ok := strings.Cut(arg, "="); ok {
			arg = value
		}
		if filepath.IsAbs(arg) {
			files = append(files, arg)
		}
	}
	return files
}

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func limitsOf(cfg config.Config) sandbox.Limits {
	return sandbox.Limits{MemoryBytes: cfg.MemoryLimit, Processes: cfg.ProcessLimit, CPUs: cfg.CPULimit, DiskBytes: cfg.DiskLimit}
}

// defaultHarness drives runs that do not choose: the operator's program if there is
// one, else the built-in agent if it can work, else the blocks of the prompt.
func defaultHarness(cfg config.Config, models model.Set, harnesses []harness.Harness) string {
	switch {
	case cfg.DefaultHarness != "":
		return cfg.DefaultHarness
	case len(cfg.AgentCommand) > 0:
		return "command"
	case models.DefaultFor(builtinProtocols()...) != "" && slices.ContainsFunc(harnesses, func(h harness.Harness) bool { return h.Name() == "builtin" }):
		return "builtin"
	}
	return ""
}

// harnesses are those that were given, or all that this program has.
func (o Options) harnesses(cfg config.Config) []harness.Harness {
	if o.Harnesses != nil {
		return o.Harnesses
	}
	return []harness.Harness{
		shell.Shell{},
		command.New(cfg.AgentCommand),
		acp.New(acp.Options{Policy: cfg.PermissionPolicy}), oneshot.New(oneshot.Options{Policy: cfg.PermissionPolicy}),
		builtin.New(builtin.Options{Policy: func(job lineshaft.Job) builtin.Policy {
			return builtin.Policy(harness.Policy(job, cfg.PermissionPolicy))
		}}),
	}
}

// runDefaults are what the settings say about runs that say nothing themselves.
func runDefaults(cfg config.Config) lineshaft.AgentConfig {
	if cfg.PermissionPolicy == "" || cfg.PermissionPolicy == lineshaft.PermissionsAllow {
		return lineshaft.AgentConfig{} // what holds anyway
	}
	return lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Permissions: cfg.PermissionPolicy}}
}
