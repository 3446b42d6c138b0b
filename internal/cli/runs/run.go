package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// runFlags are what a run can be given on the command line.
type runFlags struct {
	Attend
	name, model, host, title, environment, skill string
	harness, mode, permissions                   string
	agent, factory, conversation                 string
	metadata, files, mcp, secrets                []string
}

func (sh Commands) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Start an agent run",
		Args:  promptArgs(&f),
		RunE:  func(cmd *cobra.Command, args []string) error { return sh.run(cmd.Context(), args, f) },
	}
	f.Attend.Flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`LABEL` to group and find runs by")
	flags.StringVar(&f.title, "title", "", "`TITLE` (default: made from the prompt)")
	flags.StringVar(&f.model, "model", "", "`ID` of the language model")
	flags.StringVar(&f.harness, "harness", "", "what drives the agent: a `TYPE` of "+strings.Join(lineshaft.HarnessTypes(), ", ")+" (default: what the worker has)")
	flags.StringVar(&f.mode, "mode", "", "`MODE` to drive claude, codex, gemini or opencode in: acp or command (default: acp where it is installed)")
	flags.StringVar(&f.permissions, "permissions", "", "`ANSWER` when the agent asks for permission: allow, deny or ask, which waits for `lineshaft runs followup`")
	flags.StringVar(&f.host, "host", "", "`ID` of the worker to run on (default: the server's own)")
	flags.StringVar(&f.environment, "environment", "", "`NAME` or uid of the environment to work in")
	flags.StringVar(&f.skill, "skill", "", "`SKILL` to use, such as owner/repo:name")
	flags.StringVar(&f.agent, "agent", "", "`AGENT` to give it to, by name or uid; the run takes its configuration and factory")
	flags.StringVar(&f.factory, "factory", "", "the `FACTORY` of the agent, if several have one of that name")
	flags.StringVar(&f.conversation, "conversation", "", "`ID` of the conversation to continue, in its workspace; `lineshaft runs get RUN` shows it")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "`KEY=VALUE` to store with the run; repeatable")
	flags.StringArrayVar(&f.files, "file", nil, "`FILE` to put into the workspace; repeatable, at most 5 files and 10 MB")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "tool `SERVER`: NAME=URL, NAME='COMMAND ARGS' or a JSON object; repeatable")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that the run gets as a variable; repeatable")
	shell.CompleteWords(cmd, "harness", lineshaft.HarnessTypes()...)
	shell.CompleteWords(cmd, "mode", lineshaft.ModeACP, lineshaft.ModeCommand)
	shell.CompleteWords(cmd, "permissions", lineshaft.Policies()...)
	return cmd
}

func promptArgs(f *runFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		const write = `Run: lineshaft run "what the agent should do"`
		switch {
		case cmd.Flags().Changed("conversation") && f.conversation == "":
			return shell.Usage("--conversation is empty",
				"Give the ID that `lineshaft runs get RUN` shows, or leave the flag out to start a new conversation.")
		case len(args) == 0 && f.skill == "":
			return shell.Usage("a run needs a prompt", write+", or `-` to read it from standard input.")
		case meansRuns(cmd, args):
			return shell.Usage(fmt.Sprintf("%q is a command of lineshaft runs", args[0]),
				fmt.Sprintf("Did you mean: lineshaft runs %s? To use it as a prompt: echo %s | lineshaft run -", strings.Join(args, " "), args[0]))
		case len(args) > 1:
			return shell.Usage("the prompt is more than one argument", write+" with quotes around the whole prompt.")
		case len(args) == 1 && strings.TrimSpace(args[0]) == "":
			return shell.Usage("the prompt is empty", write)
		}
		return nil
	}
}

// meansRuns says whether the prompt is a command of `lineshaft runs`, alone or with the id of a run.
func meansRuns(cmd *cobra.Command, args []string) bool {
	if len(args) != 1 && (len(args) != 2 || !shell.LooksLikeUID(args[1])) {
		return false
	}
	found, rest, err := cmd.Root().Find([]string{"runs", args[0]})
	return err == nil && len(rest) == 0 && found.HasParent() && found.Parent().Name() == "runs"
}

func (sh Commands) run(ctx context.Context, args []string, f runFlags) error {
	c, started, err := sh.start(ctx, args, f)
	if err != nil {
		return err
	}
	return sh.Started(ctx, c, started, f.Attend)
}

// start starts the run that the flags describe.
func (sh Commands) start(ctx context.Context, args []string, f runFlags) (*client.Client, *client.RunStarted, error) {
	if f.factory != "" && f.agent == "" {
		return nil, nil, shell.Usage("--factory says which agent is meant, but there is no --agent",
			"Add --agent NAME, or give the work to its foreman: lineshaft factory run FACTORY PROMPT")
	}
	if err := f.checkWords(); err != nil {
		return nil, nil, err
	}
	req, err := f.request()
	if err != nil {
		return nil, nil, err
	}
	if len(args) == 1 {
		if req.Prompt, err = sh.TextOrStdin(args[0]); err != nil {
			return nil, nil, err
		}
	}
	c, err := sh.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if f.agent != "" {
		if req.AgentIdentityUID, err = sh.AgentUID(ctx, c, f.factory, f.agent); err != nil {
			return nil, nil, err
		}
	}
	if f.environment != "" {
		if req.Config.EnvironmentID, err = sh.EnvironmentUID(ctx, c, f.environment); err != nil {
			return nil, nil, err
		}
	}
	started, err := c.Runs.Create(ctx, req)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, nil, shell.Failure(err, "interrupted before the server answered",
				"The run may have been started: check with `lineshaft runs list`.")
		}
		return nil, nil, err
	}
	return c, started, nil
}

// Started shows a new run and stays with it if that was asked for.
func (sh Commands) Started(ctx context.Context, c *client.Client, run *client.RunStarted, a Attend) error {
	staying := a.Wait || a.Follow
	switch {
	case a.Follow && sh.OnTerminal(): // what follows begins with it
	case staying && sh.ForPeople():
		fmt.Fprintf(sh.Err, "-- run %s\n", shell.Clean(run.RunID))
	case sh.ForPeople():
		fmt.Fprintln(sh.Out, shell.OneLine(run.RunID))
	case !staying:
		if err := sh.Document(run); err != nil {
			return err
		}
	}
	if run.AtCapacity && !(staying && sh.OnTerminal()) {
		sh.tellBusy(ctx, c, run.RunID, staying)
	}
	if staying {
		return sh.Stay(ctx, c, run.RunID, 0, a)
	}
	if sh.ForPeople() && sh.ErrWidth > 0 {
		fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, shell.StyleDim, "-- watch it: lineshaft runs logs -f "+shell.OneLine(run.RunID)))
	}
	return nil
}

// tellBusy says why a new run does not begin. Stay itself reports an absent worker.
func (sh Commands) tellBusy(ctx context.Context, c *client.Client, runID string, staying bool) {
	if !staying {
		if seen, err := c.Runs.Get(ctx, runID); err == nil && sh.tellAbsent(ctx, c, seen) {
			return
		}
	}
	if sh.ErrWidth > 0 {
		fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, shell.StyleDim, "-- all workers are busy; the run waits for a free one"))
	}
}

// checkWords finds words that no server knows before anything is sent.
func (f runFlags) checkWords() error {
	return cmp.Or(
		shell.OneOf("harness", f.harness, lineshaft.HarnessTypes()),
		shell.OneOf("mode", f.mode, []string{lineshaft.ModeACP, lineshaft.ModeCommand}),
		shell.OneOf("permissions", f.permissions, lineshaft.Policies()),
	)
}

// request makes the body of the call from the flags.
func (f runFlags) request() (client.RunRequest, error) {
	cfg := client.AgentConfig{Name: f.name, ModelID: f.model, WorkerHost: f.host, EnvironmentID: f.environment}
	if f.harness+f.mode+f.permissions != "" {
		cfg.Harness = &client.Harness{Type: f.harness, Mode: f.mode, Permissions: f.permissions}
	}
	for _, name := range f.secrets {
		cfg.Secrets = append(cfg.Secrets, client.SecretRef{Name: name})
	}
	req := client.RunRequest{Title: f.title, Skill: f.skill, ConversationID: f.conversation}
	var err error
	if cfg.MCPServers, err = shell.ParseMCP(f.mcp); err != nil {
		return req, err
	}
	if req.Metadata, err = shell.ParsePairs("metadata", f.metadata); err != nil {
		return req, err
	}
	if req.Attachments, err = shell.ReadAttachments(f.files); err != nil {
		return req, err
	}
	if f.name+f.model+f.host+f.environment != "" || cfg.Harness != nil || len(cfg.MCPServers) > 0 || len(cfg.Secrets) > 0 {
		req.Config = &cfg
	}
	return req, nil
}
