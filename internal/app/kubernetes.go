package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/kubernetes"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/worker"
)

var (
	_ kubernetes.Control = (*control.Service)(nil)
	_ kubernetes.Control = (*remote.Client)(nil)
	_ executor           = (*kubernetes.Launcher)(nil)
)

// isolateInCluster finds the cluster, and refuses to start when it does not answer or
// does not let us do what we need.
func isolateInCluster(ctx context.Context, cfg config.Config) (isolation, error) {
	cluster, err := kubernetes.Connect(cfg.KubernetesConfig, cfg.KubernetesNamespace)
	if err == nil {
		err = cluster.Check(ctx)
	}
	if err != nil {
		return isolation{}, fmt.Errorf("isolation kubernetes was asked for: %w", err)
	}
	return isolation{cluster: cluster}, nil
}

// newLauncher makes what places runs in a cluster.
func newLauncher(cfg config.Config, opts Options, parts workerParts, plane worker.Control) (*kubernetes.Launcher, error) {
	whole, ok := plane.(kubernetes.Control)
	if !ok {
		return nil, errors.New("this control plane cannot give executions to pods")
	}
	limits := limitsOf(cfg)
	return kubernetes.New(kubernetes.Config{
		WorkerHost: parts.host, WorkerID: parts.id, Version: opts.Version, Slots: cfg.Slots(runtime.NumCPU()),
		StartTimeout: cfg.KubernetesStartTimeout, Ended: parts.ended, Logger: opts.Logger,
		Template: kubernetes.Template{
			Image: cfg.KubernetesImage, Server: parts.apiURL, MemoryBytes: limits.MemoryBytes, CPUs: limits.CPUs, DiskBytes: cfg.DiskLimit, Egress: cfg.Egress,
			Settings: kubernetes.Settings{
				DefaultHarness: cfg.DefaultHarness, AgentCommand: cfg.AgentCommand, ForgeURL: cfg.ForgeURL, AllowLocalGit: cfg.AllowLocalGit,
				EventLimit: cfg.EventLimit, OutputLimit: cfg.OutputLimit, PermissionPolicy: cfg.PermissionPolicy, AllowLocalMCP: cfg.AllowLocalMCP,
			},
		},
	}, whole, parts.isolated.cluster)
}
