package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// finder is implemented by sandboxes that can say which programs agents find.
type finder interface {
	Find(program, path string) (string, error)
}

// readiness is whether a harness can run, and what is missing: all of it, or what
// only some runs need.
type readiness struct {
	available bool
	missing   string
	// elsewhere is where this machine has the program. It is for its operator, not
	// for everyone who may list models.
	elsewhere string
}

// agents looks at what each harness needs on this worker.
type agents struct {
	cfg    config.Config
	models model.Set
	set    harness.Set
	// find is nil where only an image knows its programs.
	find func(program string) bool
}

// childAllowance is what agents may give to the runs that they start. Without any other
// default, the blocks of a prompt are run.
func childAllowance(cfg config.Config, opts Options) lineshaft.ChildAllowance {
	models, _ := loadModels(cfg) // no worker starts with what is wrong in them
	harnesses := opts.harnesses(cfg)
	return lineshaft.ChildAllowance{
		Harnesses: cfg.ChildHarnesses, Models: cfg.ChildModels, DefaultHarness: cmp.Or(defaultHarness(cfg, models, harnesses), "shell"),
	}
}

// lookForAgents gathers what agents will see. The models are the valid ones.
func lookForAgents(cfg config.Config, opts Options, isolated isolation) agents {
	models, _ := loadModels(cfg) // doctor reports what is wrong, and no worker starts with it
	harnesses := opts.harnesses(cfg)
	a := agents{cfg: cfg, models: models, set: harness.Set{Harnesses: harnesses, Default: defaultHarness(cfg, models, harnesses)}}
	sandbox, ok := isolated.sandbox.(finder)
	_, path, err := agentPath(cfg)
	if ok && err == nil {
		a.find = func(program string) bool {
			_, err := sandbox.Find(program, path)
			return err == nil
		}
	}
	return a
}

// look says what a harness misses.
func (a agents) look(name string) readiness {
	if _, err := a.set.Select(lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: name}}); err != nil {
		return readiness{available: false, missing: "this server has no adapter for it"}
	}
	switch name {
	case "builtin", "oz":
		if problem := noModel(name, a.models); problem != "" {
			return readiness{available: false, missing: problem}
		}
		if unnamed := unnamedModel(a.models); unnamed != "" {
			return readiness{available: true, missing: unnamed + "; " + fixUnnamed}
		}
		return readiness{available: true}
	case "command":
		return a.lookAtCommand()
	case "acp":
		return readiness{available: true, missing: "each run names its program in config.harness.command"}
	}
	if program, _ := acp.Program(name); program != "" {
		return a.lookAtPreset(name)
	}
	return readiness{available: true}
}

func (a agents) lookAtCommand() readiness {
	switch command := a.cfg.AgentCommand; {
	case len(command) == 0:
		return readiness{available: true, missing: "no --agent-command is set: each run names its program in config.harness.command"}
	case a.find != nil && !a.find(command[0]):
		return readiness{false, fmt.Sprintf("the program %q of --agent-command is not installed where agents can find it", command[0]), harness.Elsewhere(command[0])}
	}
	return readiness{available: true}
}

// lookAtPreset looks for an agent that people install, and its endpoint. Without one
// it can still work with its own files and the secrets of a run.
func (a agents) lookAtPreset(name string) readiness {
	var notes []string
	program, install := acp.Program(name)
	own := program
	if agent, ok := preset.Find(name); ok {
		own = agent.Program
	}
	switch {
	case a.cfg.NoWorker:
		notes = append(notes, "this server runs no agents itself: what its workers have counts")
	case a.find == nil:
		notes = append(notes, "whether it is installed is up to the image that agents run in")
	case a.find(program):
	case own != program && a.find(own):
		notes = append(notes, fmt.Sprintf("%s is installed, %s is not: it runs in command mode, where it cannot ask for permission; for the Agent Client Protocol %s", own, program, install))
	default:
		elsewhere := harness.Elsewhere(program)
		if own != program {
			elsewhere += harness.Elsewhere(own)
		}
		return readiness{false, fmt.Sprintf("%q is not installed where agents can find it: %s", program, install), elsewhere}
	}
	if problem := noModel(name, a.models); problem != "" {
		notes = append(notes, problem+"; without one it works only with its own files or a key among the secrets of the run")
	}
	return readiness{available: true, missing: strings.Join(notes, "; ")}
}

// checkHarness says which agents this worker can run, and whether runs that do not
// choose one will work.
func checkHarness(cfg config.Config, opts Options, isolated isolation) config.Check {
	const name = "agents"
	a := lookForAgents(cfg, opts, isolated)
	standard := cmp.Or(a.set.Default, "shell")
	var ready, absent []string
	for _, h := range lineshaft.HarnessTypes() {
		if a.look(h).available {
			ready = append(ready, h)
		} else {
			absent = append(absent, h)
		}
	}
	detail := fmt.Sprintf("runs that do not choose get %s; can run: %s", standard, strings.Join(ready, ", "))
	if len(absent) > 0 {
		detail += "; not here: " + strings.Join(absent, ", ") + " (`lineshaft model list` says why)"
	}
	state := a.look(standard)
	unnamed := unnamedModel(a.models)
	isBuiltin := slices.Contains([]string{"builtin", "oz"}, standard)
	switch {
	case isBuiltin && state.available && unnamed != "":
		return bad(name, config.CheckProblem, "runs that do not choose get "+standard+", but "+unnamed, fixUnnamed)
	case !state.available || standard == "command" && len(cfg.AgentCommand) == 0 || standard == "acp":
		return bad(name, config.CheckProblem, "runs that do not choose get "+standard+", which cannot run: "+state.missing+state.elsewhere, "do what it says, or choose another harness with --default-harness")
	case unnamed != "":
		return bad(name, config.CheckWarning, detail+"; "+unnamed, fixUnnamed)
	case state.missing != "":
		return bad(name, config.CheckWarning, detail+"; "+standard+": "+state.missing, "do what it says, or choose another harness with --default-harness")
	}
	return good(name, "%s", detail)
}

// programFolders are where the usual installers put programs, below a folder that
// the operator names; the folder itself comes last.
var programFolders = []string{"bin", ".bin", "node_modules/.bin", "."}

// agentPath finds the folders of --agent-path: what agents see of them, links
// resolved, and the PATH in which they look for programs there first.
func agentPath(cfg config.Config) (seen []string, path string, err error) {
	var search []string
	for _, folder := range cfg.AgentPath {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, "", fmt.Errorf("check agent-path: %w; install the agents there, or name another folder", err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, "", fmt.Errorf("agent-path: %s is not a folder; name the folder that the agents are installed in", folder)
		}
		if overlap(real, cfg.DataDir) {
			return nil, "", fmt.Errorf("agent-path: %s and the data directory %s hold one another; agents see the first and must not see the second, so keep them apart", folder, cfg.DataDir)
		}
		seen = append(seen, real)
		for _, sub := range programFolders {
			if info, err := os.Stat(filepath.Join(real, sub)); err == nil && info.IsDir() {
				search = append(search, filepath.Join(real, sub))
			}
		}
	}
	return seen, strings.Join(append(search, worker.DefaultPath), ":"), nil
}

// overlap says that one of two folders is in the other.
func overlap(a, b string) bool {
	b, err := filepath.Abs(b)
	if err != nil {
		return false // isolate says so
	}
	if real, err := filepath.EvalSymlinks(b); err == nil {
		b = real // it may not exist yet
	}
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// OpenAPI is the description of the API that this program serves.
func OpenAPI() ([]byte, error) { return api.OpenAPI() }

// Supervise is the body of the process beside each agent; it returns the exit code.
func Supervise(ctx context.Context) int { return sandbox.Supervise(ctx) }

// Forward is what agents without a network are started through; it returns the exit code.
func Forward(ctx context.Context, args []string) int { return sandbox.RunForward(ctx, args) }
