package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/client"
)

const (
	// completionTime is how long somebody who pressed Tab waits at most.
	completionTime = 2 * time.Second
	// completionMost is how many things are proposed; nobody reads more.
	completionMost = 100
)

// offer is one thing that can be typed, and what it is.
type offer struct {
	word, about string
	// uid is for flags that take no name.
	uid string
}

// offers finds what can be typed; factory is what --factory says.
type offers func(ctx context.Context, c *client.Client, factory string) ([]offer, error)

// uids offers the uids instead of the names.
func (find offers) uids(ctx context.Context, c *client.Client, factory string) ([]offer, error) {
	list, err := find(ctx, c, factory)
	for i, o := range list {
		if o.uid != "" {
			list[i] = offer{word: o.uid, about: o.word}
		}
	}
	return list, err
}

// completeNames makes a shell propose the names and ids of things on the server: as
// arguments, by the word that stands for them in the usage line, and as values of flags.
func (sh *shell) completeNames(cmd *cobra.Command) {
	known := sh.offersOf()
	for _, sub := range cmd.Commands() {
		sh.completeNames(sub)
	}
	if find := known[argumentOf(cmd)]; find != nil && cmd.ValidArgsFunction == nil {
		many := strings.Contains(cmd.Use, "...")
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && !many {
				return nil, cobra.ShellCompDirectiveDefault // a message, a file
			}
			return sh.propose(cmd, find, args, start)
		}
	}
	if slices.Contains([]string{"init", "serve", "worker", "doctor", "migrate"}, cmd.Name()) {
		return // their flags name what is to be made, or are about this machine
	}
	for flag, noun := range map[string]string{
		"factory": "FACTORY", "webhook": "WEBHOOK", "agent": "AGENT", "environment": "ENVIRONMENT", "secret": "SECRET",
		"host": "WORKER", "model": "MODEL", "context": "CONTEXT",
	} {
		if cmd.LocalFlags().Lookup(flag) == nil {
			continue
		}
		// It fails only for a flag that is registered already, such as one with fixed words.
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			find := known[noun]
			if value, _ := pflag.UnquoteUsage(cmd.Flag(flag)); value == "UID" || value == "ID" {
				find = find.uids
			}
			return sh.propose(cmd, find, nil, start)
		})
	}
}

// argumentOf is the noun that the first argument of a command stands for.
func argumentOf(cmd *cobra.Command) string {
	words := strings.Fields(cmd.Use)
	if len(words) < 2 || strings.HasPrefix(words[1], "--") {
		return ""
	}
	noun := strings.TrimPrefix(strings.Trim(words[1], "[]."), "URL|")
	if noun == "NAME" && cmd.HasParent() && cmd.Name() != "create" && cmd.Name() != "add" {
		noun = strings.ToUpper(cmd.Parent().Name()) // `secret update NAME` is about a secret
	}
	return noun
}

// propose asks the server, quietly and not for long: a person is typing, and an error
// message would end up in the middle of the line.
func (sh *shell) propose(cmd *cobra.Command, find offers, taken []string, start string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	factory := ""
	if flag := cmd.Flag("factory"); flag != nil && flag.Value.Type() == "string" {
		factory = flag.Value.String()
	}
	sh.completing = true
	c, err := sh.connect(ctx)
	if err != nil {
		c = nil // contexts need no server
	}
	list, err := find(ctx, c, factory)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	used := map[string]bool{}
	for _, word := range taken {
		used[word] = true
	}
	var words []string
	for _, o := range list {
		if word := oneLine(o.word); word != "" && word == o.word && !used[word] && strings.HasPrefix(word, start) && len(words) < completionMost {
			words = append(words, word+"\t"+clip(oneLine(o.about), 60))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// offersOf are the finders by noun. None of them changes anything.
func (sh *shell) offersOf() map[string]offers {
	return map[string]offers{
		"CONTEXT": func(context.Context, *client.Client, string) ([]offer, error) { return sh.contextOffers() },
		"RUN_ID":  online(runOffers),
		"FACTORY": online(factoryOffers),
		"WEBHOOK": online(sh.inFactoryOffers(func(ctx context.Context, c *client.Client, uid string) ([]offer, error) {
			list, err := c.Webhooks.List(ctx, uid)
			return offered(list, func(w client.Webhook) offer { return offer{w.Name, webhookMode(&w), w.UID} }), err
		})),
		"AUTOMATION": online(sh.inFactoryOffers(func(ctx context.Context, c *client.Client, uid string) ([]offer, error) {
			list, err := automations(ctx, c, uid)
			return offered(list, func(a client.Automation) offer { return offer{a.Name, automationState(a).text, a.UID} }), err
		})),
		"AGENT": online(func(ctx context.Context, c *client.Client, factory string) ([]offer, error) {
			uid := ""
			if factory != "" {
				var err error
				if uid, err = sh.factoryUID(ctx, c, factory); err != nil {
					return nil, err
				}
			}
			list, err := c.Agents.List(ctx, uid)
			return offered(list, func(a client.Agent) offer { return offer{a.Name, a.Description, a.UID} }), err
		}),
		"ENVIRONMENT": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.Environments.List(ctx, "")
			return offered(list, func(e client.Environment) offer { return offer{e.Config.Name, e.Config.Description, e.UID} }), err
		}),
		"SCHEDULE": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.Schedules.List(ctx)
			return offered(list, func(s client.Schedule) offer { return offer{s.Name, s.CronSchedule, s.ID} }), err
		}),
		"NOTIFICATION": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.Notifications.List(ctx)
			return offered(list, func(n client.Notification) offer { return offer{n.Name, n.URL, n.ID} }), err
		}),
		"SECRET": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.Secrets.List(ctx)
			return offered(list, func(s client.Secret) offer { return offer{word: s.Name, about: s.Description} }), err
		}),
		"KEY_ID": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.APIKeys.List(ctx)
			return offered(list, func(k client.APIKey) offer { return offer{word: k.ID, about: k.Name} }), err
		}),
		"WORKER": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			list, err := c.Workers(ctx)
			return offered(list, func(w client.Worker) offer { return offer{word: w.WorkerHost, about: strings.Join(w.Labels, " ")} }), err
		}),
		"MODEL": online(func(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
			models, err := c.Models(ctx)
			if err != nil {
				return nil, err
			}
			return offered(models.Models, func(m client.Model) offer { return offer{word: m.ID, about: m.DisplayName} }), nil
		}),
	}
}

// online has nothing to offer without a server.
func online(find offers) offers {
	return func(ctx context.Context, c *client.Client, factory string) ([]offer, error) {
		if c == nil {
			return nil, nil
		}
		return find(ctx, c, factory)
	}
}

// inFactoryOffers finds the factory first.
func (sh *shell) inFactoryOffers(find func(ctx context.Context, c *client.Client, uid string) ([]offer, error)) offers {
	return func(ctx context.Context, c *client.Client, factory string) ([]offer, error) {
		uid, err := sh.factoryUID(ctx, c, factory)
		if err != nil {
			return nil, err
		}
		return find(ctx, c, uid)
	}
}

func runOffers(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
	page, err := c.Runs.List(ctx, client.RunQuery{Limit: completionMost})
	if err != nil {
		return nil, err
	}
	return offered(page.Runs, func(r client.Run) offer { return offer{word: r.RunID, about: string(r.State) + " " + r.Title} }), nil
}

func factoryOffers(ctx context.Context, c *client.Client, _ string) ([]offer, error) {
	page, err := c.Factories.List(ctx, client.FactoryQuery{Limit: completionMost})
	if err != nil {
		return nil, err
	}
	return offered(page.Factories, func(f client.Factory) offer {
		if f.Alias != "" {
			return offer{f.Alias, f.Name, f.UID}
		}
		return offer{f.Name, f.UID, f.UID}
	}), nil
}

func (sh *shell) contextOffers() ([]offer, error) {
	file, err := sh.contexts()
	if err != nil {
		return nil, err
	}
	return offered(file.names(), func(name string) offer { return offer{word: name, about: file.Contexts[name].URL} }), nil
}

func offered[T any](list []T, from func(T) offer) []offer {
	var out []offer
	for _, item := range list {
		out = append(out, from(item))
	}
	return out
}
