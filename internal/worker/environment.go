package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// The variables an agent gets besides PATH, HOME and LANG. The
// command harness adds those of the prompt.
const (
	runTokenVariable  = "LINESHAFT_RUN_TOKEN"
	runIDVariable     = "LINESHAFT_RUN_ID"
	apiURLVariable    = "LINESHAFT_API_URL"
	workspaceVariable = "LINESHAFT_WORKSPACE"
	artifactsVariable = "LINESHAFT_ARTIFACTS"
)

// environment is what the harness gets.
func (e *execution) environment() harness.Environment {
	env := harness.Environment{
		Job: e.job, Env: e.variables(), Mask: e.mask, Start: e.start, WriteFile: e.writeFile,
		Started: e.started, Blocked: e.blocked, Now: e.worker.config.Now,
		Ask: e.ask, ReadFile: e.readFile, Transcript: e.transcript, Access: e.access, Reach: reach{e}, ToolServers: e.toolServers(),
		Tracer: e.worker.config.Tracer,
	}
	env.Job.Prepare.GitCredentials = "" // they are the worker's alone
	env.Job.ToolSecrets = nil           // they are in ToolServers
	env.Job.ModelKey = ""               // the gateway has it
	if e.workspace != nil {
		env.Dir = e.workspace.Dir()
	}
	return env
}

// variables are all that an agent gets: its secrets, and nothing from the server's own
// environment. No secret has the name of one of the others.
func (e *execution) variables() []string {
	var vars []string
	for _, name := range slices.Sorted(maps.Keys(e.job.Secrets)) {
		vars = append(vars, name+"="+e.job.Secrets[name])
	}
	vars = append(vars,
		"PATH="+e.path(),
		"LANG=C.UTF-8",
		runIDVariable+"="+e.job.RunID,
		apiURLVariable+"="+e.apiURL(),
	)
	if !e.preparing { // what is prepared is kept for other runs
		vars = append(vars, runTokenVariable+"="+e.job.RunToken)
	}
	vars = append(vars, e.proxyVariables()...)
	if e.workspace == nil || e.worker.config.Sandbox == nil {
		return vars
	}
	dir := e.guest(".")
	return append(vars, "HOME="+dir, workspaceVariable+"="+dir, artifactsVariable+"="+e.guest(workspace.ArtifactsDir))
}

// path is the agent's PATH; last comes the folder with this program, for `lineshaft
// report` and the like.
func (e *execution) path() string {
	if s := e.worker.config.Sandbox; s != nil && s.ProgramDir() != "" {
		return e.worker.config.Path + ":" + s.ProgramDir()
	}
	return e.worker.config.Path
}

// guest is a path in the workspace as the agent sees it.
func (e *execution) guest(path string) string {
	return e.worker.config.Sandbox.Guest(e.workspace.Dir(), path)
}

// writeFile is harness.Environment.WriteFile.
func (e *execution) writeFile(name, content string) (string, error) {
	if e.workspace == nil || e.worker.config.Sandbox == nil {
		return "", errors.New("write file: this execution has no workspace")
	}
	path, err := e.workspace.WritePrivate(e.life, name, strings.NewReader(content))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(e.workspace.Dir(), path)
	if err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	return e.guest(rel), nil
}

// readFile is harness.Environment.ReadFile.
func (e *execution) readFile(name string) (string, error) {
	if e.workspace == nil {
		return "", fmt.Errorf("read file: this execution has no workspace: %w", fs.ErrNotExist)
	}
	return e.workspace.ReadPrivate(name)
}

// transcriptFile is where an agent without a session reads what was before.
const transcriptFile = "conversation.md"

// transcript is harness.Environment.Transcript.
func (e *execution) transcript(ctx context.Context) (string, error) {
	var content []byte
	err := persist(ctx, func(ctx context.Context) error {
		blob, err := e.worker.control.Download(ctx, e.job.ExecutionRef, lineshaft.TranscriptBlob)
		if err != nil {
			return err
		}
		defer func() { _ = blob.Close() }()
		content, err = io.ReadAll(io.LimitReader(blob, lineshaft.MaxComposedBytes))
		return err
	})
	if err != nil {
		e.warn(ctx, "read transcript", err)
		return "", err
	}
	return e.writeFile(transcriptFile, string(content))
}

// start is harness.Environment.Start: it never starts a process that the lease
// does not cover, feeds it with each renewal, and ends it with ctx.
func (e *execution) start(ctx context.Context, program harness.Program) (*sandbox.Process, error) {
	if e.workspace == nil || e.worker.config.Sandbox == nil {
		return nil, errors.New("start process: this execution has no workspace and sandbox")
	}
	if err := e.lease.wait(ctx); err != nil {
		return nil, err
	}
	forward, err := e.forward()
	if err != nil {
		return nil, err
	}
	// A process that takes long to start is ended hard; one that runs gets its grace.
	hard, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	running := make(chan struct{})
	early := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(e.grace(context.Cause(ctx)))
		defer timer.Stop()
		select {
		case <-running:
		case <-timer.C:
			kill(context.Cause(ctx))
		}
	})
	p, err := e.worker.config.Sandbox.Start(hard, sandbox.Spec{
		Dir: e.workspace.Dir(), Written: e.workspace.Written(),
		Command: program.Command, Env: append(e.traced(ctx, e.variables()), program.Env...),
		Stdin: program.Stdin, Stdout: program.Stdout, Stderr: program.Stderr,
		Limits: e.limits(), Network: e.worker.config.Network, Forward: forward,
		FeedWithin: e.lease.holds(), Slot: e.slot, Image: e.job.Prepare.Image,
	})
	close(running)
	early()
	if err != nil {
		kill(nil)
		return nil, err
	}
	e.lease.add(p)
	late := context.AfterFunc(ctx, func() { p.Kill(e.grace(context.Cause(ctx))) })
	e.ending.Go(func() {
		<-p.Done()
		late()
		e.lease.remove(p)
		kill(nil)
	})
	e.started()
	return p, nil
}

// grace is the time between SIGTERM and SIGKILL: none when the run may already
// belong to another worker.
func (e *execution) grace(cause error) time.Duration {
	if errors.Is(cause, errLost) || errors.Is(cause, errLeaseLost) {
		return 0
	}
	return e.worker.config.Grace
}

// started is harness.Environment.Started. What prepares the workspace is not the agent.
func (e *execution) started() {
	if !e.preparing {
		e.once.Do(func() { e.outbox.tell(markStarted) })
	}
}

// blocked is harness.Environment.Blocked.
func (e *execution) blocked(blocked bool) {
	if e.isBlocked.Swap(blocked) == blocked {
		return
	}
	e.watch.block(blocked)
	if blocked {
		e.outbox.tell(markBlocked)
	} else {
		e.outbox.tell(markUnblocked)
	}
}

// skillsDir is where agents look for skills, below the workspace.
const skillsDir = ".agents/skills"

// placeSkills puts the skills of the factory's definition where agents look for them.
// A workspace that was kept or restored has them, as the agent left them. Errors are
// logged and do not keep the agent from working.
func (e *execution) placeSkills() {
	if e.workspace.Kept() {
		return
	}
	for _, s := range e.job.Prepare.Skills {
		if err := e.placeSkill(s); err != nil {
			e.warn(e.work, "place skill", err)
			e.notice("warning", "The skill "+s.Name+" could not be put into the workspace.")
		}
	}
}

func (e *execution) placeSkill(s lineshaft.Skill) error {
	text, err := skill.Render(s)
	if err != nil {
		return err
	}
	return e.workspace.PlaceNew(e.work, path.Join(skillsDir, s.Name, lineshaft.SkillFile), strings.NewReader(text), 2*lineshaft.MaxSkillBytes)
}

// fillTools makes harness.Environment.ToolServers: the servers of the configuration,
// by name, with the values of their secrets. Managed servers do not exist here and are
// left out with a notice, as the published API has it.
func (e *execution) fillTools() error {
	for _, name := range slices.Sorted(maps.Keys(e.job.Config.MCPServers)) {
		server := e.job.Config.MCPServers[name]
		if server.WarpID != "" {
			e.notice("warning", fmt.Sprintf("Tool server %s is left out: there is no managed server %q here. Name it by command or url instead.", name, server.WarpID))
			continue
		}
		filled, missing := server.Fill(e.job.ToolSecrets)
		if missing != "" {
			return &lineshaft.Error{
				Code:    lineshaft.CodeEnvironmentSetupFailed,
				Message: fmt.Sprintf("tool server %s names secret %s, which the run was not given; create the secret, or start the run without the server", name, missing),
			}
		}
		tool := harness.ToolServer{Name: name, Command: filled.Command, Args: filled.Args, URL: filled.URL, Headers: filled.Headers}
		for _, key := range slices.Sorted(maps.Keys(filled.Env)) {
			tool.Env = append(tool.Env, key+"="+filled.Env[key])
		}
		tool, err := e.throughGateway(tool)
		if err != nil {
			e.warn(e.life, "give tool server", err)
			e.notice("warning", fmt.Sprintf("Tool server %s is left out: this worker could not open the way to it. The log of the worker says why.", name))
			continue
		}
		e.tools = append(e.tools, tool)
	}
	return nil
}

// toolServers is harness.Environment.ToolServers.
func (e *execution) toolServers() []harness.ToolServer { return e.tools }
