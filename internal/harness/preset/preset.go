// Package preset knows the agents that people install: which model API each one
// speaks, its program, and how it is pointed at the worker's gateway and given
// tool servers. Talking to an agent is up to the adapters.
//
// Secrets never appear in arguments, which other users of a machine can see, nor
// in files, which may end up in a snapshot: they go into variables of the agent,
// and its configuration names these.
package preset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/model"
)

// Agent is one of them.
type Agent struct {
	// Name is the word of config.harness.type.
	Name string
	// Program is its own command.
	Program string
	// Protocols are the model APIs that it speaks, the preferred one first.
	Protocols []model.Protocol
	// Reasons says that its settings include the reasoning level of a run.
	Reasons bool

	configure func(*builder) error
}

// Setup is what an agent is started with besides its own arguments.
type Setup struct {
	// Env is added to that of the run.
	Env []string
	// Args come right after the program; every form of the agent accepts them.
	Args []string
	// Model is the one to use, as the agent writes it; empty leaves it to the agent.
	Model string
	// ToolsFile is the path, as the agent sees it, of a file that describes the tool
	// servers, for agents that get it by an argument of their own.
	ToolsFile string
	// Keyless says that the worker has no endpoint for the agent.
	Keyless bool
}

// All are the agents that are known.
func All() []Agent {
	return []Agent{
		{
			Name: "claude", Program: "claude",
			Protocols: []model.Protocol{model.Anthropic}, Reasons: true, configure: claude,
		},
		{
			Name: "codex", Program: "codex",
			Protocols: []model.Protocol{model.OpenAI}, Reasons: true, configure: codex,
		},
		{
			Name: "gemini", Program: "gemini",
			Protocols: []model.Protocol{model.Gemini}, configure: gemini,
		},
		{
			Name: "opencode", Program: "opencode",
			Protocols: []model.Protocol{model.OpenAI, model.Anthropic, model.Gemini}, configure: opencode,
		},
	}
}

// Find gives the agent of a name.
func Find(name string) (Agent, bool) {
	all := All()
	i := slices.IndexFunc(all, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return all[i], true
}

// KeyHint says how an agent that is not logged in gets the key of its model.
func KeyHint(name string) string {
	agent, _ := Find(name)
	protocols := agent.Protocols
	if name == "goose" {
		protocols = []model.Protocol{model.OpenAI}
	}
	if len(protocols) == 0 {
		return "give its key to the run as a secret (docs/secrets.md)"
	}
	key := strings.ToUpper(string(protocols[0])) + "_API_KEY"
	return "start the server or worker with LINESHAFT_" + key + " and --model NAME (docs/models.md), or store the key with `lineshaft secret create " + key +
		" --access runs` and start the run with --secret " + key
}

// Setup works out how to start the agent of a run. With tools, the tool
// servers of the run are part of it; without, they are left to the caller. When
// the worker has no endpoint for any of the agent's protocols, the setup says nothing
// about models but the name that the run asks for: the agent then uses what the
// secrets of the run and its own files give it.
func (a Agent) Setup(env harness.Environment, tools bool) (Setup, error) {
	b := &builder{env: env}
	b.Model = env.Job.Config.Model()
	for _, protocol := range a.Protocols {
		if env.Access == nil {
			break
		}
		access, ok := env.Access(protocol)
		if !ok {
			continue
		}
		b.access, b.protocol = access, protocol
		if access.Model != "" {
			b.Model = access.Model
		}
		break
	}
	b.Keyless = b.protocol == ""
	if tools {
		if err := b.hide(env.ToolServers); err != nil {
			return Setup{}, err
		}
	}
	if err := a.configure(b); err != nil {
		return Setup{}, fmt.Errorf("set up %s: %w", a.Name, err)
	}
	return b.Setup, nil
}

// builder gathers a Setup.
type builder struct {
	Setup
	env      harness.Environment
	access   harness.Access
	protocol model.Protocol // empty without access
	servers  []server
	secrets  int // variables that hold values of servers
}

func (b *builder) set(name, value string) { b.Env = append(b.Env, name+"="+value) }

// effort is how much the model is to think; empty when nothing is said.
func (b *builder) effort() string {
	if h := b.env.Job.Config.Harness; h != nil {
		return h.ReasoningLevel
	}
	return ""
}

// maxSettings is the longest file of an agent that is read.
const maxSettings = 1 << 20

// The home of an agent is its workspace, where it may have put links of its own:
// os.Root follows none that leads out.

// readHome reads a small file in the agent's home.
func (b *builder) readHome(name string) ([]byte, error) {
	root, err := os.OpenRoot(b.env.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	// A pipe that the agent put in its place must not block.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, errors.New("not a small file")
	}
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// writeHome puts a file into the agent's home, over an existing one.
func (b *builder) writeHome(name string, content []byte) error {
	root, err := os.OpenRoot(b.env.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
