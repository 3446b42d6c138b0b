package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/pause"
	"github.com/lineshaft/lineshaft/internal/remote"
	"github.com/lineshaft/lineshaft/internal/telemetry"
	"github.com/lineshaft/lineshaft/internal/worker"
)

var _ worker.Control = (*remote.Client)(nil)

// RemoteWorker is what a self-hosted worker is given besides its settings.
type RemoteWorker struct {
	// ID is what runs are addressed to.
	ID string
	// Server is the address of the server, and Key opens it.
	Server string
	Key    string
	// Labels are what it says about its machine, each KEY=VALUE.
	Labels []string
}

// orphanTime is how long supervisors of a dead worker get to end their agents; they
// do so at once, by SIGKILL, when the worker's pipe closes.
const orphanTime = time.Second

// connectPause is the time between two attempts to reach the server at the start.
const connectPause = 2 * time.Second

// leaveTime bounds the good-bye to the server.
const leaveTime = 2 * time.Second

// RunWorker runs a self-hosted worker until ctx ends, then drains it: what runs may
// end, or is handed back, within the configured grace.
func RunWorker(ctx context.Context, cfg config.Config, opts Options, as RemoteWorker) error {
	if err := closeMemory(); err != nil {
		return err
	}
	if err := lineshaft.CheckWorkerID("id", as.ID); err != nil {
		return err
	}
	if err := lineshaft.CheckLabels("label", as.Labels); err != nil {
		return err
	}
	if err := notAServers(cfg); err != nil {
		return err
	}
	home, err := openWorkerHome(filepath.Join(cfg.DataDir, "workers", as.ID))
	if err != nil {
		return err
	}
	defer home.unlock()
	r := &remoteWorker{cfg: cfg, opts: opts, as: as, home: home}
	if r.isolated, err = isolate(ctx, cfg, opts); err != nil {
		return err
	}
	if r.isolated.cluster != nil {
		// What an earlier launcher placed keeps running, so none of it is given up: this is a
		// new process, which takes on those executions one by one.
		home.process, home.unclean = id.Alphanumeric(12), false
	}
	if r.isolated.warning != "" {
		opts.Logger.WarnContext(ctx, "agents are not isolated", "warning", r.isolated.warning)
	}
	r.client, err = remote.New(remote.Config{
		Server: as.Server, Key: as.Key, Host: as.ID, Process: as.ID + "/" + home.process, Version: opts.Version, Labels: as.Labels, Away: r.away(ctx),
	})
	if err != nil {
		return err
	}
	if r.traces, err = newTraces(ctx, cfg, opts, "lineshaft-worker"); err != nil {
		return err
	}
	defer func() { _ = r.traces.Stop(context.WithoutCancel(ctx)) }()
	return r.run(ctx)
}

// notAServers refuses a folder in which a server keeps its database and keys: agents
// of a worker would be near them.
func notAServers(cfg config.Config) error {
	for _, file := range []string{filepath.Join(cfg.DataDir, "lineshaft.db"), cfg.AdminKeyFile(), filepath.Join(cfg.DataDir, "master.key")} {
		_, err := os.Lstat(file)
		if err == nil {
			return fmt.Errorf("%s is the data directory of a server: it holds %s; give the worker its own with --data-dir or LINESHAFT_DATA_DIR", cfg.DataDir, filepath.Base(file))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at the data directory: %w", err)
		}
	}
	return nil
}

type remoteWorker struct {
	cfg      config.Config
	opts     Options
	as       RemoteWorker
	home     *workerHome
	isolated isolation
	client   *remote.Client
	traces   *telemetry.Traces
}

func (r *remoteWorker) run(ctx context.Context) error {
	git, err := openGit(r.cfg)
	if err != nil {
		return err
	}
	cfg := r.cfg
	cfg.DataDir = r.home.dir
	w, err := newWorker(cfg, r.opts, workerParts{
		host: r.as.ID, id: r.as.ID + "/" + r.home.process, apiURL: r.as.Server, git: git, isolated: r.isolated, tracer: r.traces.Tracer(),
	}, r.client)
	if err != nil {
		return err
	}
	if r.home.unclean && !pause.For(ctx, orphanTime) {
		return nil
	}
	welcome, err := r.connect(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	r.sayf("Worker %s is connected to %s (server %s): %s at once, isolation %s\n", r.as.ID, r.as.Server, welcome.Version, counted(w.Capacity(), "run"), r.isolated.name())
	r.opts.Logger.InfoContext(ctx, "connected", "worker", r.as.ID, "process", r.home.process, "url", r.as.Server, "server_version", welcome.Version, "given_up", welcome.Ended)
	if err := r.untilOver(ctx, w); err != nil {
		return errors.Join(err, r.stop(context.WithoutCancel(ctx), w))
	}
	if r.isolated.cluster == nil { // pods keep running
		r.sayf("Worker %s is draining: what runs has %s to end, then it is handed back\n", r.as.ID, r.cfg.ShutdownGrace/2)
	}
	return r.stop(context.WithoutCancel(ctx), w)
}

// untilOver waits for the end of ctx. A revoked key also ends it, once
// nothing runs any more, since everything that runs is lost with its lease.
func (r *remoteWorker) untilOver(ctx context.Context, w executor) error {
	told := false
	for pause.For(ctx, connectPause) {
		err := r.client.Denied()
		switch {
		case err == nil:
			told = false
		case !told:
			told = true
			r.sayf("The server no longer accepts the key of worker %s: %v; it takes no more runs and stops when its runs have ended\n", r.as.ID, err)
			r.opts.Logger.ErrorContext(ctx, "the server no longer accepts the key of this worker", "worker", r.as.ID, "err", err)
		case w.Running() == 0:
			return err
		}
	}
	return nil
}

// connect waits for a server that is unreachable. A refusal by the server is final.
func (r *remoteWorker) connect(ctx context.Context) (remote.Welcome, error) {
	for {
		welcome, err := r.client.Connect(ctx)
		if err == nil || remote.Refused(err) {
			return welcome, err
		}
		if !pause.For(ctx, connectPause) {
			return welcome, nil
		}
	}
}

func (r *remoteWorker) stop(ctx context.Context, w executor) error {
	grace, cancel := context.WithTimeout(ctx, r.cfg.ShutdownGrace)
	defer cancel()
	late := w.Stop(grace)
	if late != nil {
		r.opts.Logger.WarnContext(ctx, "what ran was ended at once: the grace is over", "grace", r.cfg.ShutdownGrace)
	}
	goodBye, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	if err := r.client.Leave(goodBye); err != nil {
		r.opts.Logger.WarnContext(ctx, "say good-bye", "err", err) // the server will notice
	}
	r.sayf("Worker %s has stopped\n", r.as.ID)
	if late != nil {
		return nil // the name stays: the next start says that what was held is over
	}
	return r.home.leave()
}

// away notifies people when the server stops answering and when it is back.
func (r *remoteWorker) away(ctx context.Context) func(error) {
	return func(reason error) {
		if reason != nil {
			if errors.Is(reason, http.ErrSchemeMismatch) {
				reason = fmt.Errorf("%w; %s does not speak HTTPS, so write http:// in --server, or have it speak HTTPS", reason, r.as.Server)
			}
			r.sayf("The server is unreachable: %v; trying again until it answers\n", reason)
			r.opts.Logger.WarnContext(ctx, "server is unreachable", "err", reason)
			return
		}
		r.sayf("The server is back\n")
		r.opts.Logger.InfoContext(ctx, "server is back")
	}
}

func (r *remoteWorker) sayf(format string, args ...any) {
	if r.opts.Out != nil {
		_, _ = fmt.Fprintf(r.opts.Out, format, args...) // a closed terminal does not stop the worker
	}
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// DeniedKey says that the server did not accept the worker's key, or not for its id.
func DeniedKey(err error) bool {
	public, ok := errors.AsType[*lineshaft.Error](err)
	return ok && (public.Code == lineshaft.CodeAuthenticationRequired || public.Code == lineshaft.CodeNotAuthorized)
}
