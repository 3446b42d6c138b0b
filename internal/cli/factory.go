package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) factoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "factory",
		Aliases: []string{"factories"},
		Short:   "Factories: create, list, change, delete; apply them from a folder",
		Long: "Factories group agents, automations and webhooks. Wherever a factory is asked for, its uid, its alias\n" +
			"or its name will do; if there is only one, it need not be named.",
		Example: example(
			`lineshaft factory create "Web shop" --alias shop`, "a new one, with a foreman",
			"lineshaft factory list", "what there is",
			"lineshaft factory init shop && lineshaft factory apply shop", "one from a folder of files",
			"lineshaft factory update shop --pause", "its automations start no more runs",
		),
	}
	cmd.AddCommand(sh.factoryListCommand(), sh.factoryCreateCommand(), sh.factoryGetCommand(), sh.factoryUpdateCommand(), sh.factoryDeleteCommand(), sh.factoryRunCommand())
	cmd.AddCommand(sh.definitionCommands()...)
	group(cmd)
	return cmd
}

func (sh *shell) factoryListCommand() *cobra.Command {
	var search string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the factories that your key may see",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft factory list", "all of them", "lineshaft factory list --search shop -o json", "by a part of the name or alias"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list := []client.Factory{}
			for f, err := range c.Factories.All(cmd.Context(), client.FactoryQuery{Search: search, Limit: 100}) {
				if err != nil {
					return err
				}
				list = append(list, f)
			}
			return listing[client.Factory]{
				key: "factories", none: "no factories; make one: lineshaft factory create NAME",
				head: []string{"UID", "ALIAS", "STATE", "UPDATED", "NAME"},
				row: func(f *client.Factory) []cell {
					return []cell{plain(oneLine(f.UID)), plain(orDash(oneLine(f.Alias))), factoryState(f), plain(sh.when(f.UpdatedAt)), plain(oneLine(f.Name))}
				},
			}.show(sh, list, nil)
		}),
	}
	cmd.Flags().StringVar(&search, "search", "", "only those with this `TEXT` in their name or alias, in any case")
	return cmd
}

func factoryState(f *client.Factory) cell {
	if f.Paused {
		return cell{"paused", styleWait}
	}
	return cell{"active", styleGood}
}

func (sh *shell) factoryCreateCommand() *cobra.Command {
	var req client.FactoryRequest
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a factory with a foreman; its uid goes to standard output",
		Args:  needs(1, 1, "a name for the factory"),
		Example: example(
			`lineshaft factory create "Web shop" --alias shop`, "the alias is short and unique",
			"uid=$(lineshaft factory create nightly)", "keep the uid in a script",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := c.Factories.Create(cmd.Context(), req)
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(made)
			}
			fmt.Fprintln(sh.out, oneLine(made.UID))
			return nil
		},
	}
	cmd.Flags().StringVar(&req.Alias, "alias", "", "short unique `NAME`: letters, digits, spaces, '.', '_' and '-'")
	cmd.Flags().StringVar(&req.Description, "description", "", "what it is for, as `TEXT`")
	return cmd
}

func (sh *shell) factoryGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get [FACTORY]",
		Short:   "Show a factory",
		Args:    needs(0, 1, ""),
		Example: example("lineshaft factory get shop", "by alias, name or uid", "lineshaft factory get", "the only one there is"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			f, err := c.Factories.Get(cmd.Context(), uid)
			if err != nil {
				return err
			}
			return sh.showFactory(f)
		},
	}
}

// inFactory connects and finds the factory that a command is about.
func (sh *shell) inFactory(ctx context.Context, ref string) (*client.Client, string, error) {
	c, err := sh.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.factoryUID(ctx, c, ref)
	return c, uid, err
}

// thisFactory connects and finds the factory that is the argument of a command.
func (sh *shell) thisFactory(cmd *cobra.Command, args []string) (*client.Client, string, error) {
	c, err := sh.connect(cmd.Context())
	if err != nil {
		return nil, "", err
	}
	uid, err := sh.findFactory(cmd.Context(), c, strings.Join(args, ""), fmt.Sprintf("Say which: %s UID, alias or name.", cmd.CommandPath()))
	return c, uid, err
}

func (sh *shell) showFactory(f *client.Factory) error {
	if !sh.forPeople() {
		return sh.document(f)
	}
	state := factoryState(f)
	list := [][2]string{
		{"Factory", oneLine(f.UID)},
		{"Name", oneLine(f.Name)},
		{"Alias", oneLine(f.Alias)},
		{"Description", oneLine(f.Description)},
		{"State", sh.paint(sh.outWidth, state.style, state.text)},
		{"Mode", oneLine(f.Mode)},
		{"Foreman", oneLine(f.ForemanAgent)},
		{"Revision", fmt.Sprint(f.Revision)},
		{"Created", sh.when(f.CreatedAt)},
		{"Updated", sh.when(f.UpdatedAt)},
	}
	list = append(list, budgetPairs(f)...)
	sh.pairs(append(list, sh.repositoryPairs(f.Repository)...))
	return nil
}

// budgetPairs tells what a factory may spend in a day, and what it has spent.
func budgetPairs(f *client.Factory) [][2]string {
	var list [][2]string
	if b := f.DailyBudget; b != nil {
		var limits []string
		if b.MaxCostUSD > 0 {
			limits = append(limits, fmt.Sprintf("$%.2f", b.MaxCostUSD))
		}
		if b.MaxTokens > 0 {
			limits = append(limits, count(int(b.MaxTokens), "token"))
		}
		list = append(list, [2]string{"Daily budget", strings.Join(limits, " and ")})
	}
	if s := f.SpentToday; s != nil && (f.DailyBudget != nil || s.Tokens > 0) {
		list = append(list, [2]string{"Spent today", fmt.Sprintf("$%.2f, %s", s.CostUSD, count(int(s.Tokens), "token"))})
	}
	return list
}

func (sh *shell) factoryUpdateCommand() *cobra.Command {
	var name, alias, description string
	var pause, resume bool
	var budget client.Budget
	cmd := &cobra.Command{
		Use:   "update [FACTORY]",
		Short: "Change the name, alias or description of a factory, pause or brake it",
		Args:  needs(0, 1, ""),
		Example: example(
			"lineshaft factory update shop --pause", "deliveries are logged, but start no runs",
			`lineshaft factory update shop --alias ""`, "take the alias away",
			"lineshaft factory update shop --daily-cost 25", "start no more runs once 25 dollars are spent today",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			var change client.FactoryUpdate
			for flag, to := range map[string]struct {
				field **string
				text  *string
			}{"name": {&change.Name, &name}, "alias": {&change.Alias, &alias}, "description": {&change.Description, &description}} {
				if cmd.Flags().Changed(flag) {
					*to.field = to.text
				}
			}
			if cmd.Flags().Changed("daily-cost") || cmd.Flags().Changed("daily-tokens") {
				change.DailyBudget = &budget
			}
			switch {
			case budget.MaxTokens < 0 || budget.MaxCostUSD < 0:
				return usage("a budget cannot be less than nothing", "Give 0 to take it away.")
			case pause && resume:
				return usage("--pause and --resume exclude each other", "Give one of them.")
			case pause, resume:
				change.Paused = &pause
			case change == client.FactoryUpdate{}:
				return usage("there is nothing to change", "Give --name, --alias, --description, --pause, --resume, --daily-cost or --daily-tokens.")
			}
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			f, err := c.Factories.Update(cmd.Context(), uid, change)
			if err != nil {
				return err
			}
			return sh.showFactory(f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "new `NAME`")
	flags.StringVar(&alias, "alias", "", "new short unique `NAME`; empty takes it away")
	flags.StringVar(&description, "description", "", "new `TEXT`; empty takes it away")
	flags.BoolVar(&pause, "pause", false, "let its automations start no runs")
	flags.BoolVar(&resume, "resume", false, "let them start runs again")
	flags.Float64Var(&budget.MaxCostUSD, "daily-cost", 0, "start no more runs once this many `DOLLARS` are spent in a day of UTC; 0 takes the budget away")
	flags.Int64Var(&budget.MaxTokens, "daily-tokens", 0, "the same for this `NUMBER` of tokens; both together are one budget")
	return cmd
}

func (sh *shell) factoryDeleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete FACTORY...",
		Short: "Delete factories with their automations and webhooks; their runs stay",
		Args:  needs(1, -1, "a factory (`lineshaft factory list` shows them)"),
		Example: example(
			"lineshaft factory delete shop", "asks on a terminal; its webhooks answer 404 from then on",
			"lineshaft factory delete shop --yes", "does not ask",
		),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			if !yes && sh.asks() {
				what := strings.Join(args, ", ") + " with all automations and webhooks? Secrets of webhooks cannot be had again."
				if err := sh.confirm(cmd.Context(), "Delete "+what); err != nil {
					return err
				}
			}
			return sh.each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				uid, err := sh.factoryUID(ctx, c, ref)
				if err != nil {
					return err
				}
				return c.Factories.Delete(ctx, uid)
			})
		}),
	}
	yesFlag(cmd, &yes)
	return cmd
}

// factoryFlag adds the flag of commands that work inside a factory.
func factoryFlag(cmd *cobra.Command, ref *string) {
	cmd.PersistentFlags().StringVar(ref, "factory", "", "`FACTORY` by uid, alias or name (default: the only one)")
}

// factoryUID finds a factory by uid, alias or name; without any it is the only one
// there is.
func (sh *shell) factoryUID(ctx context.Context, c *client.Client, ref string) (string, error) {
	return sh.findFactory(ctx, c, ref, "Say which: --factory UID, alias or name.")
}

// findFactory is factoryUID with what to say when there are several.
func (sh *shell) findFactory(ctx context.Context, c *client.Client, ref, which string) (string, error) {
	if looksLikeUID(ref) {
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
		return "", &hintError{code: exitNotFound, message: "there is no factory yet", hint: "Make one: lineshaft factory create NAME"}
	case len(found) == 0:
		return "", &hintError{
			code: exitNotFound, message: fmt.Sprintf("no factory has the name or alias %q", ref),
			hint: sh.nearFactory(ctx, c, ref) + "`lineshaft factory list` shows the factories that your key may see.",
		}
	case ref == "":
		return "", usage("there is more than one factory", which+" They are:\n"+factoryLines(found))
	}
	return "", severalFactories(found, ref)
}

func severalFactories(found []client.Factory, ref string) error {
	return usage(fmt.Sprintf("%d factories are called %q", len(found), ref), "Give the uid of the one you mean:\n"+factoryLines(found))
}

// nearFactory is didYouMean for factories, of which the server has only told those that
// fit. A mistake may cost another request.
func (sh *shell) nearFactory(ctx context.Context, c *client.Client, ref string) string {
	page, err := c.Factories.List(ctx, client.FactoryQuery{Limit: 100})
	if err != nil {
		return "" // the mistake is told all the same
	}
	var names []string
	for _, f := range page.Factories {
		names = append(names, f.Name)
		if f.Alias != "" {
			names = append(names, f.Alias)
		}
	}
	return didYouMean(ref, names)
}

// factoryUIDs finds several factories, each of which has to be named.
func (sh *shell) factoryUIDs(ctx context.Context, c *client.Client, refs []string) ([]string, error) {
	var uids []string
	for _, ref := range refs {
		if ref == "" {
			return nil, usage("--factory is empty", "Give the uid, alias or name of a factory, or leave it out.")
		}
		uid, err := sh.factoryUID(ctx, c, ref)
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
		lines = append(lines, oneLine(line))
	}
	if len(list) > most {
		lines = append(lines, fmt.Sprintf("and %d more: lineshaft factory list", len(list)-most))
	}
	return strings.Join(lines, "\n")
}

// looksLikeUID says whether text has the form of the server's own ids.
func looksLikeUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(strings.ToLower(text)) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdef", rune(c)) {
			return false
		}
	}
	return true
}
