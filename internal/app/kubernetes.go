package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/gateway"
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

// podGateway is the pods' way to models, whose keys stay with the launcher; nil when no
// address for it is set.
func podGateway(cfg config.Config, opts Options, parts workerParts) (*gateway.Gateway, error) {
	models, err := loadModels(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.KubernetesGatewayURL == "" {
		if len(models.Endpoints) > 0 && opts.Logger != nil {
			opts.Logger.Warn("pods do not reach the models of this launcher", "fix", "set --kubernetes-gateway-listen and --kubernetes-gateway-url")
		}
		return nil, nil //nolint:nilnil // a cluster can do without models
	}
	return gateway.New(gateway.Config{Models: models, Logger: opts.Logger, Tracer: parts.tracer}), nil
}

// newLauncher makes what places runs in a cluster.
func newLauncher(cfg config.Config, opts Options, parts workerParts, plane worker.Control) (*kubernetes.Launcher, error) {
	whole, ok := plane.(kubernetes.Control)
	if !ok {
		return nil, errors.New("this control plane cannot give executions to pods")
	}
	limits := limitsOf(cfg)
	if limits.Processes > 0 && opts.Logger != nil {
		opts.Logger.Info("process limit of pods", "limit", limits.Processes, "held_by", "the executor in each pod, which counts where it has no control group",
			"advice", "between two counts there can be more: set podPidsLimit of the kubelets, which the kernel holds")
	}
	gate, err := podGateway(cfg, opts, parts)
	if err != nil {
		return nil, err
	}
	return kubernetes.New(kubernetes.Config{
		WorkerHost: parts.host, WorkerID: parts.id, Version: opts.Version, Slots: cfg.Slots(runtime.NumCPU()),
		StartTimeout: cfg.KubernetesStartTimeout, Ended: parts.ended, Logger: opts.Logger,
		Gateway: gate, GatewayListen: cfg.KubernetesGatewayListen, GatewayURL: cfg.KubernetesGatewayURL, Getenv: os.Getenv,
		Template: kubernetes.Template{
			Image: cfg.KubernetesImage, Server: parts.apiURL, MemoryBytes: limits.MemoryBytes, CPUs: limits.CPUs, DiskBytes: cfg.DiskLimit, Egress: cfg.Egress,
			Settings: kubernetes.Settings{
				DefaultHarness: cfg.DefaultHarness, AgentCommand: cfg.AgentCommand, ForgeURL: cfg.ForgeURL, AllowLocalGit: cfg.AllowLocalGit,
				EventLimit: cfg.EventLimit, OutputLimit: cfg.OutputLimit, PermissionPolicy: cfg.PermissionPolicy, AllowLocalMCP: cfg.AllowLocalMCP,
				ProcessLimit: cfg.ProcessLimit,
			},
		},
	}, whole, parts.isolated.cluster)
}
