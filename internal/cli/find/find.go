// Package find finds what people name on the command line by uid, alias or name: factories,
// agents and environments. Its errors suggest what was probably meant by a name that
// nothing has.
package find

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Finder is a shell that knows the things of its server.
type Finder struct{ *shell.Shell }

// InFactory connects and finds the factory that a command is about.
func (sh Finder) InFactory(ctx context.Context, ref string) (*client.Client, string, error) {
	c, err := sh.Connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.FactoryUID(ctx, c, ref)
	return c, uid, err
}

// FactoryUID finds a factory by uid, alias or name; without any, it is the only
// existing one.
func (sh Finder) FactoryUID(ctx context.Context, c *client.Client, ref string) (string, error) {
	return sh.FindFactory(ctx, c, ref, "Say which: --factory UID, alias or name.")
}

// FindFactory is factoryUID with what to say when there are several.
func (sh Finder) FindFactory(ctx context.Context, c *client.Client, ref, which string) (string, error) {
	if shell.LooksLikeUID(ref) {
		return ref, nil
	}
	var found []client.Factory
	for f, err := range c.Factories.All(ctx, client.FactoryQuery{Search: ref, Limit: 100}) {
		if err != nil {
			return "", err
		}
		if ref == "" || lineshaft.SameFolded(f.Alias, ref) || lineshaft.SameFolded(f.Name, ref) {
			found = append(found, f)
		}
	}
	for _, f := range found { // an alias is unique, a name need not be
		if ref != "" && lineshaft.SameFolded(f.Alias, ref) {
			return f.UID, nil
		}
	}
	switch {
	case len(found) == 1:
		return found[0].UID, nil
	case len(found) == 0 && ref == "":
		return "", shell.NotFound("there is no factory yet", "Create one: lineshaft factory create NAME")
	case len(found) == 0:
		return "", shell.NotFound(fmt.Sprintf("no factory has the name or alias %q", ref),
			sh.nearFactory(ctx, c, ref)+"`lineshaft factory list` shows the factories that your key may see.")
	case ref == "":
		return "", shell.Usage("there is more than one factory", which+" They are:\n"+factoryLines(found))
	}
	return "", SeveralFactories(found, ref)
}

// SeveralFactories asks which of the factories of one name is meant.
func SeveralFactories(found []client.Factory, ref string) error {
	return shell.Usage(fmt.Sprintf("%d factories are called %q", len(found), ref),
		"Give the uid of the one you mean:\n"+factoryLines(found))
}

// nearFactory is didYouMean for factories, of which the server has only listed those that
// fit. A mistake may cost another request.
func (sh Finder) nearFactory(ctx context.Context, c *client.Client, ref string) string {
	page, err := c.Factories.List(ctx, client.FactoryQuery{Limit: 100})
	if err != nil {
		return "" // the mistake is reported all the same
	}
	var names []string
	for _, f := range page.Factories {
		names = append(names, f.Name)
		if f.Alias != "" {
			names = append(names, f.Alias)
		}
	}
	return shell.DidYouMean(ref, names)
}

// FactoryUIDs finds several factories, each of which must be named.
func (sh Finder) FactoryUIDs(ctx context.Context, c *client.Client, refs []string) ([]string, error) {
	var uids []string
	for _, ref := range refs {
		if ref == "" {
			return nil, shell.Usage("--factory is empty", "Give the uid, alias or name of a factory, or leave it out.")
		}
		uid, err := sh.FactoryUID(ctx, c, ref)
		if err != nil {
			return nil, err
		}
		uids = append(uids, uid)
	}
	return uids, nil
}

func factoryLines(list []client.Factory) string {
	const most = 10
	var lines []string
	for _, f := range list[:min(len(list), most)] {
		line := f.UID + " " + f.Name
		if f.Alias != "" {
			line += " (alias " + f.Alias + ")"
		}
		lines = append(lines, shell.OneLine(line))
	}
	if len(list) > most {
		lines = append(lines, fmt.Sprintf("and %d more: lineshaft factory list", len(list)-most))
	}
	return strings.Join(lines, "\n")
}

// Agents reads all agents, or those of a factory.
func (sh Finder) Agents(ctx context.Context, c *client.Client, factory string) ([]client.Agent, error) {
	if factory != "" {
		var err error
		if factory, err = sh.FactoryUID(ctx, c, factory); err != nil {
			return nil, err
		}
	}
	list, err := c.Agents.List(ctx, factory)
	if list == nil {
		list = []client.Agent{}
	}
	return list, err
}

// AgentUID finds an agent by uid or name, among all or those of a factory.
func (sh Finder) AgentUID(ctx context.Context, c *client.Client, factory, ref string) (string, error) {
	if shell.LooksLikeUID(ref) {
		return ref, nil
	}
	list, err := sh.Agents(ctx, c, factory)
	if err != nil {
		return "", err
	}
	found, err := shell.Pick(list, ref, func(a *client.Agent) string { return a.Name },
		"there is no agent named %q", "`lineshaft agent list` shows the agents that your key may see.", func(found []*client.Agent) error {
			lines := shell.NamesOf(found, func(a *client.Agent) string {
				return shell.OneLine(a.UID + " of factory " + shell.OrDash(a.FactoryUID))
			})
			return shell.Usage(fmt.Sprintf("%d agents are called %q", len(found), ref),
				"Add --factory, or give the uid of the one you mean:\n"+strings.Join(lines, "\n"))
		})
	if err != nil {
		return "", err
	}
	return found.UID, nil
}

// environmentIDLength is how many letters and digits the uid of an environment has.
const environmentIDLength = 22

// EnvironmentUID finds an environment by its uid or its name. What looks like a uid
// counts as one, without asking.
func (sh Finder) EnvironmentUID(ctx context.Context, c *client.Client, ref string) (string, error) {
	if len(ref) == environmentIDLength && !strings.ContainsFunc(ref, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ref, nil
	}
	list, err := c.Environments.List(ctx, "name")
	if err != nil {
		return "", err
	}
	var found []client.Environment
	for _, e := range list {
		if strings.EqualFold(e.Config.Name, ref) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0].UID, nil
	case 0:
		return "", shell.NotFound(fmt.Sprintf("no environment has the name %q", ref),
			shell.DidYouMean(ref, shell.NamesOf(list, func(e client.Environment) string { return e.Config.Name }))+"`lineshaft environment list` shows the environments.")
	}
	var lines strings.Builder
	for _, e := range found {
		fmt.Fprintf(&lines, "\n  %s  %s", shell.OneLine(e.UID), shell.OneLine(e.Config.Name))
	}
	return "", shell.Usage(fmt.Sprintf("%d environments are called %q", len(found), ref),
		"Give the uid of the one you mean:"+lines.String())
}
