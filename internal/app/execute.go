package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/kubernetes"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// podGrace is how long the executor may take to end; its pod gets a little more.
const podGrace = 8 * time.Second

// Install is the first step of a pod: it puts this program and the job where the
// container of the agent finds them.
func Install(program, root string) error {
	return kubernetes.Install(program, filepath.Join(root, "secret"), filepath.Join(root, "tools"), filepath.Join(root, "job"))
}

// Execute is the ordinary worker for one execution, in a pod. It takes the execution
// over from the launcher and returns when it is over, or handed back because the pod
// must end.
func Execute(ctx context.Context, root string, opts Options) error {
	if err := closeMemory(); err != nil {
		return err
	}
	parcel, err := kubernetes.OpenParcel(filepath.Join(root, "job"))
	if err != nil {
		return err
	}
	job := parcel.Job.Job()
	process := fmt.Sprintf("%s/%s.%s", parcel.WorkerHost, job.ExecutionID, id.Alphanumeric(8))
	client, err := remote.New(remote.Config{
		Server: parcel.Server, Key: job.RunToken, Host: parcel.WorkerHost, Process: process, Version: opts.Version,
		Away: func(reason error) {
			opts.Logger.WarnContext(ctx, "the server stopped answering, or is back", "err", reason)
		},
	})
	if err != nil {
		return err
	}
	if job.LastEvent, err = takeOver(ctx, client, job); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			opts.Logger.InfoContext(ctx, "the execution is over or another's", "execution_id", job.ExecutionID)
			return nil
		}
		return fmt.Errorf("take execution over from the launcher: %w", err)
	}
	job.Granted = time.Now().Add(-job.Lease/3 - time.Millisecond) // a heartbeat comes first
	return work(ctx, root, opts, parcel, process, &oneJob{Client: client, job: job})
}

// takeOver asks for the execution for as long as its lease may hold.
func takeOver(ctx context.Context, client *remote.Client, job lineshaft.Job) (last int64, err error) {
	deadline := time.Now().Add(job.Lease)
	for {
		last, err = client.TakeOver(ctx, job.ExecutionRef, "", false)
		if err == nil || remote.Refused(err) || time.Now().After(deadline) || !pause.For(ctx, connectPause/2) {
			return last, err
		}
	}
}

// work runs a worker until its one job is over.
func work(ctx context.Context, root string, opts Options, parcel kubernetes.Parcel, process string, control *oneJob) error {
	cfg := config.Default()
	cfg.DataDir, cfg.MaxConcurrentRuns, cfg.Isolation = filepath.Join(root, "data"), 1, "none"
	s := parcel.Settings
	cfg.DefaultHarness, cfg.AgentCommand, cfg.ForgeURL, cfg.AllowLocalGit = s.DefaultHarness, s.AgentCommand, s.ForgeURL, s.AllowLocalGit
	cfg.EventLimit, cfg.OutputLimit, cfg.PermissionPolicy, cfg.AllowLocalMCP = s.EventLimit, s.OutputLimit, s.PermissionPolicy, s.AllowLocalMCP
	cfg.ProcessLimit = s.ProcessLimit
	cfg.EnvironmentCache = 0 // nothing outlives the pod
	pod := &podParts{}
	if parcel.Models != nil {
		pod.models = parcel.Models.Set()
	}
	cfg.ShutdownGrace = podGrace / 2         // half of it is for the agent
	isolated, err := isolate(ctx, cfg, opts) // the pod is the sandbox
	if err != nil {
		return err
	}
	git, err := openGit(cfg)
	if err != nil {
		return err
	}
	traces, err := newTraces(ctx, cfg, opts, "lineshaft-worker")
	if err != nil {
		return err
	}
	defer func() { _ = traces.Stop(context.WithoutCancel(ctx)) }()
	over := make(chan struct{}, 1)
	w, err := newLocalWorker(cfg, opts, workerParts{
		host: parcel.WorkerHost, id: process, apiURL: parcel.Server, git: git, isolated: isolated, tracer: traces.Tracer(),
		ended: func(lineshaft.RunState) { over <- struct{}{} }, pod: pod,
	}, control)
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), podGrace)
	defer cancel()
	err = w.Stop(ctx)
	if err := control.Leave(ctx); err != nil {
		opts.Logger.WarnContext(ctx, "say good-bye", "err", err) // the launcher looks after it
	}
	return err
}

// oneJob is a control plane that has one job to give.
type oneJob struct {
	*remote.Client
	job  lineshaft.Job
	once sync.Once
}

var _ worker.Control = (*oneJob)(nil)

// Claim implements worker.Control.
func (o *oneJob) Claim(ctx context.Context, _ lineshaft.ClaimRequest) (jobs []lineshaft.Job, err error) {
	o.once.Do(func() { jobs = []lineshaft.Job{o.job} })
	if len(jobs) > 0 {
		return jobs, nil
	}
	<-ctx.Done()
	return nil, errors.Join(context.Cause(ctx), ctx.Err())
}

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
		return nil, nil // a cluster can do without models
	}
	return gateway.New(gateway.Config{Models: models, Logger: opts.Logger, Tracer: parts.tracer}), nil
}

// newLauncher makes the launcher that places runs in a cluster.
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
