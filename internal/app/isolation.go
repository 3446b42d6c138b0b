package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/command"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/store"
)

// isolation is the sandbox that agents run in, and what people should know of it.
type isolation struct {
	sandbox sandbox.Sandbox
	// warning is set when agents are not isolated although nobody asked for that.
	warning string
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
	dataDir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return isolation{}, fmt.Errorf("find data directory: %w", err)
	}
	options := sandbox.Options{Supervisor: opts.Supervisor, Hide: append(serverFiles(cfg), dataDir), Logger: opts.Logger}
	wrapped := sandbox.NewBubblewrap(options)
	switch cfg.Isolation {
	case "none":
		return isolation{sandbox: sandbox.NewNone(options)}, nil
	case "bubblewrap":
		if err := wrapped.Check(ctx); err != nil {
			return isolation{}, fmt.Errorf("isolation bubblewrap was asked for: %w", err)
		}
		return isolation{sandbox: wrapped}, nil
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

// serverFiles are files of the server that may lie outside its data directory.
func serverFiles(cfg config.Config) []string {
	files := []string{cfg.TLSCert, cfg.TLSKey, cfg.MasterKeyFileOrDefault()}
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

// loopback says whether only this machine reaches an address.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func limitsOf(cfg config.Config) sandbox.Limits {
	return sandbox.Limits{MemoryBytes: cfg.MemoryLimit, Processes: cfg.ProcessLimit, CPUs: cfg.CPULimit}
}

func networkOf(cfg config.Config) sandbox.Network { return sandbox.Network(cfg.Egress) }

// defaultHarness drives runs that do not choose: the operator's program if there is
// one, else the blocks of the prompt.
func defaultHarness(cfg config.Config) string {
	if cfg.DefaultHarness == "" && len(cfg.AgentCommand) > 0 {
		return "command"
	}
	return cfg.DefaultHarness
}

func builtinHarnesses(cfg config.Config) []harness.Harness {
	return []harness.Harness{shell.Shell{}, command.New(cfg.AgentCommand)}
}
