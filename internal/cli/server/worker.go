package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// workerDataDir is not that of a server: the two may be started in the same folder.
const workerDataDir = "./lineshaft-worker"

const workerHelp = "Start a self-hosted worker: it takes runs for its id from a server and executes\n" +
	"them on this machine. It connects to the server; the server never connects to it.\n\n" +
	"LINESHAFT_API_KEY holds its key: one with the role worker for this id, which an admin creates with\n" +
	"`lineshaft apikey create NAME --role worker --worker ID`, or an admin's own. If\n" +
	"LINESHAFT_URL is set, the key is sent only to that server. Send runs to the worker with\n" +
	"`lineshaft run --host ID`.\n" +
	"Several workers may have the same id; each needs its own data directory, not shared with a server.\n\n" +
	"SIGTERM and Ctrl-C drain it: it takes no more runs, and its runs have half of\n" +
	"--shutdown-grace to end before it hands them back. A second signal ends it at once."

func (sh Commands) workerCommand() *cobra.Command {
	settings := &settings{sh: sh.Shell, command: "worker", dataDir: workerDataDir, help: map[string]string{
		"data-dir":       "directory for workspaces and caches, which no server and no other worker uses",
		"shutdown-grace": "how long a stopping worker may take; its runs have half of that to end on their own",
	}}
	var id, server string
	var labels []string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Start a self-hosted worker, or list those that are connected",
		Long:  workerHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.UnknownCommand(cmd, args[0])
			}
			if server != "" {
				sh.URL = server
			}
			return sh.runWorker(cmd, settings, app.RemoteWorker{ID: id, Labels: labels})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "`NAME` that runs ask for")
	cmd.Flags().StringVar(&server, "server", "", "`ADDRESS` of the server (default $LINESHAFT_URL, else "+shell.DefaultURL+")")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "`KEY=VALUE` about this machine, which `lineshaft worker list` shows; repeatable")
	settings.bind(cmd.Flags(), config.WorkerNames())
	cmd.AddCommand(sh.workerListCommand())
	return cmd
}

func (sh Commands) runWorker(cmd *cobra.Command, settings *settings, as app.RemoteWorker) error {
	if sh.Work == nil {
		return notBuilt("worker")
	}
	if as.ID == "" {
		return shell.Usage("a worker needs the id that runs ask for", "Run: lineshaft worker --id NAME --server ADDRESS")
	}
	if err := lineshaft.CheckWorkerID("", as.ID); err != nil {
		public, _ := errors.AsType[*lineshaft.Error](err)
		return shell.Usage("--id: "+public.Message, "For example: --id mac-mini")
	}
	if err := lineshaft.CheckLabels("", as.Labels); err != nil {
		public, _ := errors.AsType[*lineshaft.Error](err)
		return shell.Usage("--label: "+public.Message, "For example: --label os=macos")
	}
	var err error
	if as.Server, as.Key, err = sh.workerServer(as.ID); err != nil {
		return err
	}
	cfg, err := settings.load()
	if err != nil {
		return err
	}
	logger := sh.logger(cfg)
	for _, warning := range config.MisspeltEnv(sh.Deps.Environ) {
		logger.WarnContext(cmd.Context(), "check the settings", "warning", warning)
	}
	return sh.explainWorker(sh.Work(cmd.Context(), cfg, as, sh.Out, logger), as.ID)
}

// workerServer is the server and the key for it. The admin key of a server's data
// directory is not used: a worker needs far less.
func (sh Commands) workerServer(id string) (server, key string, err error) {
	if sh.ContextName != "" {
		return "", "", shell.Usage("--context is for people; a worker has its own key",
			"Name its server with --server, and set LINESHAFT_API_KEY to its key.")
	}
	server = strings.TrimRight(sh.Address(), "/")
	// Clients of the API are given the address with its path.
	server = strings.TrimRight(strings.TrimSuffix(server, "/api/v1"), "/")
	if err := shell.CheckAddressOf(server, "--server or LINESHAFT_URL"); err != nil {
		return "", "", err
	}
	if sh.Withheld() != "" {
		return "", "", shell.Denied(nil, "no API key for "+server+": LINESHAFT_API_KEY is for the server of LINESHAFT_URL",
			"Also set LINESHAFT_URL to the worker's server, or unset it, and LINESHAFT_API_KEY to a key for that server.")
	}
	if key = sh.VariableKey(); key == "" {
		return "", "", shell.Denied(nil, "a worker needs an API key: LINESHAFT_API_KEY is not set", workerKeyHint(id))
	}
	return server, key, nil
}

func workerKeyHint(id string) string {
	return fmt.Sprintf("Set LINESHAFT_API_KEY to the worker's key; an admin can create one with `lineshaft apikey create NAME --role worker --worker %s`.", id)
}

// explainWorker says what to do about a server that does not take the worker.
func (sh Commands) explainWorker(err error, id string) error {
	public, ok := errors.AsType[*lineshaft.Error](err)
	switch {
	case !ok:
		return err
	case app.DeniedKey(err) && public.Code == lineshaft.CodeAuthenticationRequired:
		return shell.Denied(err, "the server does not accept this API key", workerKeyHint(id))
	case app.DeniedKey(err):
		out := &shell.HintError{Code: shell.ExitDenied, Cause: err, Message: public.Message}
		if !strings.Contains(out.Message, "--role worker") { // else it says so itself
			out.Hint = workerKeyHint(id)
		}
		return out
	}
	return shell.Failure(err, public.Message, "")
}

func (sh Commands) workerListCommand() *cobra.Command {
	return shell.Listing[client.Worker]{
		Key: "workers", None: "no workers are connected; start one: lineshaft worker --id NAME --server ADDRESS",
		Head: []string{"WORKER", "CONNECTIONS", "RUNNING", "SINCE", "LAST SEEN", "LABELS"},
		Row: func(w *client.Worker) []shell.Cell {
			running, labels := fmt.Sprintf("%d of %d", w.Load, w.Capacity), strings.Join(w.Labels, " ")
			return shell.Cells(w.WorkerHost, w.ConnectionCount, running, sh.When(w.ConnectedAt), sh.When(w.LastSeenAt), labels)
		},
	}.Command(sh.Shell, "List the workers that are connected",
		func(ctx context.Context, c *client.Client) ([]client.Worker, error) { return c.Workers(ctx) },
		"lineshaft worker list", "who takes runs now")
}
