// Package contexts has the commands that keep the addresses and keys of several servers, and
// the one that asks a server whose key it got.
package contexts

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// Commands are those about saved servers.
type Commands struct{ *shell.Shell }

// All are the commands of this room.
func (sh Commands) All() []*cobra.Command {
	return []*cobra.Command{sh.contextCommand(), sh.whoamiCommand()}
}

const contextHelp = "Save the addresses and keys of several servers under names. The first one becomes the current one,\n" +
	"which commands use when nothing else names a server. The first of these that is set counts:\n\n" +
	"  --url ADDRESS or --context NAME\n" +
	"  LINESHAFT_URL with LINESHAFT_API_KEY: that key is not used\n" +
	"    with a context, or if --url names another server\n" +
	"  LINESHAFT_CONTEXT\n" +
	"  the current context\n" +
	"  the server on this machine, with the admin key in its data directory\n\n" +
	"Contexts are in lineshaft/contexts.yaml below $XDG_CONFIG_HOME (default ~/.config), or in the file that\n" +
	"LINESHAFT_CONTEXTS names; only you may read it. A key is sent only to the server of its context and is\n" +
	"never shown. Instead of a key, you can name a file, a variable or a command."

func (sh Commands) contextCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Save several servers under names, and choose one",
		Long:    contextHelp,
	}, sh.contextAddCommand(), sh.contextUseCommand(), sh.contextListCommand(), sh.contextShowCommand(), sh.contextRemoveCommand())
}

// contextAdd is what `context add` was asked for.
type contextAdd struct {
	keyFile, keyEnv, keyCommand     string
	keyStdin, use, replace, noCheck bool
}

func (sh Commands) contextAddCommand() *cobra.Command {
	var a contextAdd
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Save a server and its key, after trying the key",
		Args:  shell.Needs(1, 1, "a name for the server"),
		RunE:  func(cmd *cobra.Command, args []string) error { return sh.contextAdd(cmd.Context(), args[0], a) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&a.keyStdin, "key-stdin", false, "read the key from standard input")
	flags.StringVar(&a.keyFile, "key-file", "", "`FILE` that holds the key; only its path is saved")
	flags.StringVar(&a.keyEnv, "key-env", "", "`NAME` of the variable that holds the key; only the name is saved")
	flags.StringVar(&a.keyCommand, "key-command", "", "`COMMAND` whose first line of output is the key; only the command is saved")
	flags.BoolVar(&a.use, "use", false, "make it the current one")
	flags.BoolVar(&a.replace, "replace", false, "replace a context of the same name")
	flags.BoolVar(&a.noCheck, "no-check", false, "do not ask the server whether it accepts the key")
	return cmd
}

// contextNameForm is what a name looks like: a plain word in a shell, a key in the file.
var contextNameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (sh Commands) contextAdd(ctx context.Context, name string, a contextAdd) error {
	switch {
	case !contextNameForm.MatchString(name):
		return shell.Usage(fmt.Sprintf("%q cannot be the name of a context", name),
			"Use at most 63 letters, digits, '.', '_' and '-', such as prod.")
	case sh.ContextName != "":
		return shell.Usage("--context chooses a context that already exists", "Run: lineshaft context add NAME --url ADDRESS")
	case sh.URL == "":
		return shell.Usage("the address is missing",
			fmt.Sprintf("Run: lineshaft context add %s --url https://lineshaft.example.com", shell.ShellWord(name)))
	}
	if err := shell.CheckAddressOf(sh.URL, "--url"); err != nil {
		return err
	}
	file, err := sh.Contexts()
	if err != nil {
		return err
	}
	if _, taken := file.Contexts[name]; taken && !a.replace {
		return shell.Usage(fmt.Sprintf("a context named %q already exists", name),
			"Add --replace, or choose another name; `lineshaft context list` shows them.")
	}
	saved, err := sh.newContext(ctx, name, a)
	if err != nil {
		return err
	}
	who, err := sh.tryContext(ctx, saved, a.noCheck)
	if err != nil {
		return err
	}
	current := ""
	if err := sh.ChangeContexts(ctx, func(f *shell.ContextFile) error {
		f.Contexts[name] = *saved
		if a.use || f.Current == "" {
			f.Current = name
		}
		current = f.Current
		return nil
	}); err != nil {
		return err
	}
	return sh.Show(aboutContext{Name: name, URL: saved.URL, Key: saved.KeySource(), Current: current == name}, func() {
		fmt.Fprintf(sh.Out, "added %s%s\n", name, who)
		if current == name {
			fmt.Fprintln(sh.Err, "-- commands use it from now on")
		} else {
			fmt.Fprintf(sh.Err, "-- the current context is still %s; to change that: lineshaft context use %s\n", shell.OneLine(current), shell.ShellWord(name))
		}
	})
}

// newContext is the context of the flags, with its key or where that is.
func (sh Commands) newContext(ctx context.Context, name string, a contextAdd) (*shell.SavedContext, error) {
	saved := &shell.SavedContext{Name: name, URL: sh.URL, KeyEnv: a.keyEnv}
	given := 0
	for _, flag := range []bool{a.keyStdin, a.keyFile != "", a.keyEnv != "", a.keyCommand != ""} {
		if flag {
			given++
		}
	}
	var err error
	switch terminal := sh.TerminalIn(); {
	case given > 1:
		return nil, shell.Usage("the key can come from one place only", "Give one of --key-stdin, --key-file, --key-env and --key-command.")
	case a.keyFile != "":
		saved.KeyFile, err = filepath.Abs(a.keyFile)
	case a.keyCommand != "":
		saved.KeyCommand, err = config.SplitWords(a.keyCommand)
		if err != nil || len(saved.KeyCommand) == 0 {
			return nil, shell.Usage(fmt.Sprintf("--key-command %q is not a command", a.keyCommand),
				"For example: --key-command 'pass show lineshaft'")
		}
	case a.keyEnv != "":
	case a.keyStdin:
		saved.Key, err = shell.ReadSecret(sh.In, "standard input")
	case terminal != nil:
		saved.Key, err = sh.AskHidden(ctx, terminal, "API key for "+sh.URL)
	default:
		return nil, shell.Usage("the key is missing",
			"Pipe it in and add --key-stdin, or say where it is with --key-file, --key-env or --key-command.")
	}
	if err != nil {
		return nil, err
	}
	if saved.Key = strings.TrimSpace(saved.Key); saved.KeySource() == "none" {
		return nil, shell.Usage("the key is empty", "An admin can create one with `lineshaft apikey create NAME`.\n"+shell.FirstKey)
	}
	return saved, nil
}

// tryContext asks the server who the key belongs to.
func (sh Commands) tryContext(ctx context.Context, saved *shell.SavedContext, skip bool) (string, error) {
	if skip {
		return "", nil
	}
	sh.Saved = saved
	key, err := saved.ReadKey(ctx, sh.Shell)
	if err != nil {
		return "", err
	}
	c, err := sh.ClientFor(saved.URL, key)
	if err != nil {
		return "", err
	}
	me, err := c.Whoami(ctx)
	if err != nil {
		e := sh.Explain(err)
		return "", &shell.HintError{Code: e.Code, Cause: err, Message: "nothing was saved: " + e.Message, Hint: strings.TrimSpace(tryHint(e) + "\nTo save it anyway, add --no-check.")}
	}
	return fmt.Sprintf(": %s, role %s", shell.OneLine(cmp.Or(me.Principal.DisplayName, me.Principal.UID)), shell.OneLine(me.Role)), nil
}

// tryHint leaves out what is about a context that already exists.
func tryHint(e *shell.HintError) string {
	if strings.Contains(e.Hint, "context") {
		return "Check the address and the key; an admin can create a key with `lineshaft apikey create NAME`."
	}
	return e.Hint
}

// aboutContext is a context for programs; the key itself is not part of it.
type aboutContext struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Key says where the key is.
	Key     string `json:"key"`
	Current bool   `json:"current"`
	// From says what chose the server; only `context show` has it.
	From string `json:"from,omitempty"`
}

func (sh Commands) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the saved servers, without their keys",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			file, err := sh.Contexts()
			if err != nil {
				return err
			}
			list := []aboutContext{}
			for _, name := range file.Names() {
				saved := file.Contexts[name]
				list = append(list, aboutContext{Name: name, URL: saved.URL, Key: saved.KeySource(), Current: name == file.Current})
			}
			return shell.Listing[aboutContext]{
				Key: "contexts", None: "no contexts; create one: lineshaft context add NAME --url ADDRESS", Head: []string{"", "NAME", "URL", "KEY"},
				Row: func(c *aboutContext) []shell.Cell { return shell.Cells(shell.Mark(c.Current), c.Name, c.URL, c.Key) },
			}.Show(sh.Shell, list, nil)
		},
	}
}

func (sh Commands) contextUseCommand() *cobra.Command {
	var none bool
	cmd := &cobra.Command{
		Use:   "use NAME",
		Short: "Choose the saved server that commands use",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case none && len(args) > 0:
				return shell.Usage("a name and --none cannot be used together", "Give one of them.")
			case !none:
				if err := shell.Needs(1, 1, "the name of a context (`lineshaft context list` shows them)")(cmd, args); err != nil {
					return err
				}
			}
			return sh.contextUse(cmd, append(args, "")[0])
		},
	}
	cmd.Flags().BoolVar(&none, "none", false, "use none: the server on this machine")
	return cmd
}

func (sh Commands) contextUse(cmd *cobra.Command, name string) error {
	address := shell.DefaultURL
	if err := sh.ChangeContexts(cmd.Context(), func(f *shell.ContextFile) error {
		if name != "" {
			saved, err := f.Find(name, "cannot use it:")
			if err != nil {
				return err
			}
			address = saved.URL
		}
		f.Current = name
		return nil
	}); err != nil {
		return err
	}
	return sh.Show(aboutContext{Name: name, URL: address, Current: name != ""}, func() {
		fmt.Fprintf(sh.Out, "commands use %s\n", shell.OneLine(address))
		for _, variable := range []string{"LINESHAFT_URL", "LINESHAFT_API_KEY", "LINESHAFT_CONTEXT"} {
			if sh.Env[variable] != "" {
				fmt.Fprintf(sh.Err, "-- but not in this shell: %s is set and takes precedence\n", variable)
				break
			}
		}
	})
}

func (sh Commands) contextShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show which server commands use, and why",
		Args:  shell.Needs(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			about, err := sh.chosen(args)
			if err != nil {
				return err
			}
			return sh.Show(about, func() {
				sh.Pairs([][2]string{{"Context", about.Name}, {"URL", about.URL}, {"Key", about.Key}, {"From", about.From}})
			})
		},
	}
}

// chosen describes a named context, or the server that commands would use.
func (sh Commands) chosen(args []string) (*aboutContext, error) {
	if len(args) == 1 {
		file, err := sh.Contexts()
		if err != nil {
			return nil, err
		}
		saved, err := file.Find(args[0], "cannot show it:")
		if err != nil {
			return nil, err
		}
		return &aboutContext{Name: args[0], URL: saved.URL, Key: saved.KeySource(), Current: args[0] == file.Current}, nil
	}
	if err := sh.Choose(); err != nil {
		return nil, err
	}
	about := &aboutContext{URL: sh.Address(), Key: "admin key in the data directory", From: "the default"}
	switch {
	case sh.VariableKey() != "":
		about.Key = "variable LINESHAFT_API_KEY"
	case sh.InsideRun():
		about.Key = "variable LINESHAFT_RUN_TOKEN"
	case !shell.IsLoopback(sh.Address()):
		about.Key = "none"
	}
	switch {
	case sh.URL != "":
		about.From = "--url"
	case sh.Saved != nil:
		about.Name = sh.Saved.Name
		if source := sh.Saved.KeySource(); source != "none" {
			about.Key = source
		}
		about.From = "the current context"
		about.Current = true
		if sh.ContextName != "" {
			about.From, about.Current = "--context", false
		} else if sh.Env["LINESHAFT_CONTEXT"] != "" {
			about.From, about.Current = "LINESHAFT_CONTEXT", false
		}
	case sh.Env["LINESHAFT_URL"] != "":
		about.From = "LINESHAFT_URL"
	case sh.InsideRun():
		about.From = "LINESHAFT_API_URL, inside a run"
	}
	return about, nil
}

func (sh Commands) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME...",
		Aliases: []string{"rm"},
		Short:   "Forget saved servers and their keys",
		Args:    shell.Needs(1, -1, "the name of a context (`lineshaft context list` shows them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := sh.ChangeContexts(cmd.Context(), func(f *shell.ContextFile) error {
				for _, name := range args { // all or none
					if _, err := f.Find(name, "nothing was removed:"); err != nil {
						return err
					}
					delete(f.Contexts, name)
					if f.Current == name {
						f.Current = ""
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return sh.Show(map[string]any{"removed": args}, func() {
				for _, name := range args {
					fmt.Fprintf(sh.Out, "removed %s\n", shell.OneLine(name))
				}
			})
		},
	}
}

func (sh Commands) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show who the key belongs to and what it may do",
		Args:  shell.Needs(0, 0, ""),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			me, err := c.Whoami(cmd.Context())
			if err != nil {
				return err
			}
			return sh.Show(me, func() {
				rate := ""
				if n := me.Limits.RequestsPerMinute; n > 0 {
					rate = shell.Count(n, "request") + " a minute"
				}
				saved := ""
				if sh.Saved != nil {
					saved = sh.Saved.Name
				}
				sh.Pairs([][2]string{
					{"Server", sh.Address()},
					{"Context", saved},
					{"Name", cmp.Or(me.Principal.DisplayName, me.Principal.UID)},
					{"Type", me.Principal.Type},
					{"Role", me.Role},
					{"Key ID", me.KeyID},
					{"Run", me.RunID},
					{"Factories", strings.Join(me.Limits.FactoryUIDs, ", ")},
					{"Workers", strings.Join(me.Limits.WorkerIDs, ", ")},
					{"Rate limit", rate},
					{"May", strings.Join(me.Permissions, ", ")},
				})
			})
		}),
	}
}
