package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/factories"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const (
	// completionTime is how long anyone who pressed Tab waits at most.
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
// arguments, by the word for them in the usage line, and as values of flags.
func (sh program) completeNames(cmd *cobra.Command) {
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

// argumentOf is the noun of the first argument of a command.
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
func (sh program) propose(cmd *cobra.Command, find offers, taken []string, start string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	factory := ""
	if flag := cmd.Flag("factory"); flag != nil && flag.Value.Type() == "string" {
		factory = flag.Value.String()
	}
	sh.Completing = true
	c, err := sh.Connect(ctx)
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
		if word := shell.OneLine(o.word); word != "" && word == o.word && !used[word] && strings.HasPrefix(word, start) && len(words) < completionMost {
			words = append(words, word+"\t"+shell.Clip(shell.OneLine(o.about), 60))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// offersOf are the finders by noun. None of them changes anything.
func (sh program) offersOf() map[string]offers {
	return map[string]offers{
		"CONTEXT": func(context.Context, *client.Client, string) ([]offer, error) { return sh.contextOffers() },
		"RUN_ID": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Run, error) {
			page, err := c.Runs.List(ctx, client.RunQuery{Limit: completionMost})
			if err != nil {
				return nil, err
			}
			return page.Runs, nil
		}, func(r *client.Run) offer { return offer{word: r.RunID, about: string(r.State) + " " + r.Title} }),
		"FACTORY": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Factory, error) {
			page, err := c.Factories.List(ctx, client.FactoryQuery{Limit: completionMost})
			if err != nil {
				return nil, err
			}
			return page.Factories, nil
		}, func(f *client.Factory) offer {
			if f.Alias != "" {
				return offer{f.Alias, f.Name, f.UID}
			}
			return offer{f.Name, f.UID, f.UID}
		}),
		"WEBHOOK": listed(inFactory(sh, func(ctx context.Context, c *client.Client, uid string) ([]client.Webhook, error) {
			return c.Webhooks.List(ctx, uid)
		}), func(w *client.Webhook) offer { return offer{w.Name, factories.WebhookMode(w), w.UID} }),
		"AUTOMATION": listed(inFactory(sh, factories.Automations),
			func(a *client.Automation) offer { return offer{a.Name, factories.AutomationState(*a).Text, a.UID} }),
		"AGENT": listed(sh.Agents, func(a *client.Agent) offer { return offer{a.Name, a.Description, a.UID} }),
		"ENVIRONMENT": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Environment, error) {
			return c.Environments.List(ctx, "")
		},
			func(e *client.Environment) offer { return offer{e.Config.Name, e.Config.Description, e.UID} }),
		"SCHEDULE": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Schedule, error) {
			return c.Schedules.List(ctx)
		},
			func(s *client.Schedule) offer { return offer{s.Name, s.CronSchedule, s.ID} }),
		"NOTIFICATION": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Notification, error) {
			return c.Notifications.List(ctx)
		},
			func(n *client.Notification) offer { return offer{n.Name, n.URL, n.ID} }),
		"SECRET": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Secret, error) {
			return c.Secrets.List(ctx)
		},
			func(s *client.Secret) offer { return offer{word: s.Name, about: s.Description} }),
		"KEY_ID": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.APIKey, error) {
			return c.APIKeys.List(ctx)
		},
			func(k *client.APIKey) offer { return offer{word: k.ID, about: k.Name} }),
		"WORKER": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Worker, error) { return c.Workers(ctx) },
			func(w *client.Worker) offer { return offer{word: w.WorkerHost, about: strings.Join(w.Labels, " ")} }),
		"MODEL": listed(func(ctx context.Context, c *client.Client, _ string) ([]client.Model, error) {
			models, err := c.Models(ctx)
			if err != nil {
				return nil, err
			}
			return models.Models, nil
		}, func(m *client.Model) offer { return offer{word: m.ID, about: m.DisplayName} }),
	}
}

// listing reads what a server has; factory is what --factory says.
type listing[T any] func(ctx context.Context, c *client.Client, factory string) ([]T, error)

// listed offers what a server lists; without one there is nothing to offer.
func listed[T any](list listing[T], from func(*T) offer) offers {
	return func(ctx context.Context, c *client.Client, factory string) ([]offer, error) {
		if c == nil {
			return nil, nil
		}
		items, err := list(ctx, c, factory)
		var out []offer
		for i := range items {
			out = append(out, from(&items[i]))
		}
		return out, err
	}
}

// inFactory finds the factory first.
func inFactory[T any](sh program, list listing[T]) listing[T] {
	return func(ctx context.Context, c *client.Client, factory string) ([]T, error) {
		uid, err := sh.FactoryUID(ctx, c, factory)
		if err != nil {
			return nil, err
		}
		return list(ctx, c, uid)
	}
}

func (sh program) contextOffers() (out []offer, err error) {
	file, err := sh.Contexts()
	if err != nil {
		return nil, err
	}
	for _, name := range file.Names() {
		out = append(out, offer{word: name, about: file.Contexts[name].URL})
	}
	return out, nil
}
