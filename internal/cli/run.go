package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
)

// runFlags are what a run can be given on the command line.
type runFlags struct {
	attend
	name, model, host, title, environment, skill string
	harness, mode, permissions                   string
	agent, factory, conversation                 string
	metadata, files, mcp, secrets                []string
}

func (sh *shell) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Start an agent run",
		Long: "Start an agent run from a prompt; `-` reads the prompt from standard input.\n\n" +
			"Without --wait or --follow the run's id alone goes to standard output, as soon as the server has\n" +
			"stored the run; with them it goes to standard error. A server without a model or an agent program\n" +
			"runs the fenced sh and bash blocks of the prompt, and nothing else.",
		Example: example(
			`lineshaft run "Fix the failing test" --follow`, "watch it work",
			"lineshaft run - < task.md", "the prompt is in a file",
			`lineshaft run "Summarise report.pdf" --file report.pdf --wait`, "with an attachment; exit 1 if it fails",
			`lineshaft run "Fix the build" --harness claude --permissions ask -f`, "it asks before it acts",
			`lineshaft run "Look at change 7" --agent reviewer --factory shop`, "give it to an agent",
			`id=$(lineshaft run "Nightly audit" --name audit)`, "keep the id in a script",
		),
		Args: promptArgs(&f),
		RunE: func(cmd *cobra.Command, args []string) error { return sh.run(cmd.Context(), args, f) },
	}
	f.attend.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`LABEL` to group and find runs by")
	flags.StringVar(&f.title, "title", "", "`TITLE` (default: made from the prompt)")
	flags.StringVar(&f.model, "model", "", "`ID` of the language model")
	flags.StringVar(&f.harness, "harness", "", "what drives the agent: a `TYPE` of "+strings.Join(lineshaft.HarnessTypes(), ", ")+" (default: what the worker has)")
	flags.StringVar(&f.mode, "mode", "", "`WAY` to talk to claude, codex, gemini or opencode: acp or command (default: acp where it is installed)")
	flags.StringVar(&f.permissions, "permissions", "", "`WHO` decides when the agent asks whether it may do something: allow, deny or ask, which waits for `lineshaft runs followup`")
	flags.StringVar(&f.host, "host", "", "`ID` of the worker to run on (default: the server's own)")
	flags.StringVar(&f.environment, "environment", "", "`NAME` or uid of the environment to work in")
	flags.StringVar(&f.skill, "skill", "", "`SKILL` to use, such as owner/repo:name")
	flags.StringVar(&f.agent, "agent", "", "`AGENT` to give it to, by name or uid; the run takes its configuration and factory")
	flags.StringVar(&f.factory, "factory", "", "the `FACTORY` of the agent, where several have that name")
	flags.StringVar(&f.conversation, "conversation", "", "`ID` of the conversation to continue, in its workspace; `lineshaft runs get RUN` shows it")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "`KEY=VALUE` to store with the run; repeatable")
	flags.StringArrayVar(&f.files, "file", nil, "`FILE` to put into the workspace; repeatable, at most 5 and 10 MB")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "tool `SERVER`: NAME=URL, NAME='COMMAND ARGS' or a JSON object; repeatable")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that the run gets as a variable; repeatable")
	completeWords(cmd, "harness", lineshaft.HarnessTypes()...)
	completeWords(cmd, "mode", lineshaft.ModeACP, lineshaft.ModeCommand)
	completeWords(cmd, "permissions", lineshaft.Policies()...)
	return cmd
}

func promptArgs(f *runFlags) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		const write = `Write: lineshaft run "what the agent should do"`
		switch {
		case len(args) == 0 && f.skill == "":
			return usage("a run needs a prompt", write+", or `-` to read it from standard input.")
		case len(args) > 1:
			return usage("the prompt is more than one argument", write+" with quotes around the whole prompt.")
		case len(args) == 1 && strings.TrimSpace(args[0]) == "":
			return usage("the prompt is empty", write)
		}
		return nil
	}
}

func (sh *shell) run(ctx context.Context, args []string, f runFlags) error {
	if f.factory != "" && f.agent == "" {
		return usage("--factory says whose agent is meant, but there is no --agent", "Add --agent NAME, or give the work to its foreman: lineshaft factory run FACTORY PROMPT")
	}
	if err := f.checkWords(); err != nil {
		return err
	}
	req, err := f.request()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if req.Prompt, err = sh.textOrStdin(args[0]); err != nil {
			return err
		}
	}
	c, err := sh.connect(ctx)
	if err != nil {
		return err
	}
	if f.agent != "" {
		if req.AgentIdentityUID, err = sh.agentUID(ctx, c, f.factory, f.agent); err != nil {
			return err
		}
	}
	if f.environment != "" {
		if req.Config.EnvironmentID, err = sh.environmentUID(ctx, c, f.environment); err != nil {
			return err
		}
	}
	started, err := c.Runs.Create(ctx, req)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return failure(err, "interrupted before the server answered", "The run may have been started: `lineshaft runs list` tells.")
		}
		return err
	}
	return sh.started(ctx, c, started, f.attend)
}

// started tells about a new run and stays with it if that was asked for.
func (sh *shell) started(ctx context.Context, c *client.Client, run *client.RunStarted, a attend) error {
	staying := a.wait || a.follow
	switch {
	case a.follow && sh.onTerminal(): // what follows begins with it
	case staying && sh.forPeople():
		fmt.Fprintf(sh.err, "-- run %s\n", clean(run.RunID))
	case sh.forPeople():
		fmt.Fprintln(sh.out, oneLine(run.RunID))
	case !staying:
		if err := sh.document(run); err != nil {
			return err
		}
	}
	if run.AtCapacity && sh.errWidth > 0 && !(staying && sh.onTerminal()) {
		fmt.Fprintln(sh.err, sh.paint(sh.errWidth, styleDim, "-- all workers are busy; it waits for a free one"))
	}
	if staying {
		return sh.stay(ctx, c, run.RunID, 0, a)
	}
	if sh.forPeople() && sh.errWidth > 0 {
		fmt.Fprintln(sh.err, sh.paint(sh.errWidth, styleDim, "-- watch it: lineshaft runs logs -f "+oneLine(run.RunID)))
	}
	return nil
}

// checkWords finds words that no server knows before anything is sent.
func (f runFlags) checkWords() error {
	return cmp.Or(
		oneOf("harness", f.harness, lineshaft.HarnessTypes()),
		oneOf("mode", f.mode, []string{lineshaft.ModeACP, lineshaft.ModeCommand}),
		oneOf("permissions", f.permissions, lineshaft.Policies()),
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
	if cfg.MCPServers, err = parseMCP(f.mcp); err != nil {
		return req, err
	}
	if req.Metadata, err = parsePairs("metadata", f.metadata); err != nil {
		return req, err
	}
	if req.Attachments, err = readAttachments(f.files); err != nil {
		return req, err
	}
	if f.name+f.model+f.host+f.environment != "" || cfg.Harness != nil || len(cfg.MCPServers) > 0 || len(cfg.Secrets) > 0 {
		req.Config = &cfg
	}
	return req, nil
}

// textOrStdin returns an argument, or what comes on standard input for "-".
func (sh *shell) textOrStdin(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	if sh.terminalIn() != nil { // nobody would know that it waits
		fmt.Fprintln(sh.err, "-- type the text; Ctrl-D on a line of its own ends it")
	}
	data, err := io.ReadAll(io.LimitReader(sh.in, maxStdin+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxStdin {
		return "", usage(fmt.Sprintf("standard input is larger than %d bytes", maxStdin), "Attach it with --file and say in the prompt what to do with it.")
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", usage("standard input is empty", "Pipe the text in, such as: lineshaft run - < task.md")
	}
	return string(data), nil
}
