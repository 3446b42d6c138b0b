package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/config"
)

const contextHelp = "Keep the addresses and keys of several servers under names. The first one becomes the current one,\n" +
	"which commands use when nothing else names a server. From the first to the last that counts:\n\n" +
	"  --url ADDRESS or --context NAME\n" +
	"  LINESHAFT_URL and LINESHAFT_API_KEY, which go together: with --url of another\n" +
	"    server, or with a context, that key is not used\n" +
	"  LINESHAFT_CONTEXT\n" +
	"  the current context\n" +
	"  the server of this machine, with the admin key of its data directory\n\n" +
	"They are in lineshaft/contexts.yaml below $XDG_CONFIG_HOME (default ~/.config), or in the file that\n" +
	"LINESHAFT_CONTEXTS names, which only you may read. A key goes to the server of its context only, and\n" +
	"never onto the screen. Instead of a key, a file, a variable or a command can be named."

func (sh *shell) contextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "context",
		Aliases: []string{"contexts"},
		Short:   "Keep several servers under names, and choose one",
		Long:    contextHelp,
		Example: example(
			"lineshaft context add prod --url https://lineshaft.example.com", "asks for the key without showing it",
			"lineshaft context use prod", "commands go there from now on",
			"lineshaft context show", "where do commands go, and why?",
		),
	}
	cmd.AddCommand(sh.contextAddCommand(), sh.contextUseCommand(), sh.contextListCommand(), sh.contextShowCommand(), sh.contextRemoveCommand())
	group(cmd)
	return cmd
}

// contextAdd is what `context add` was asked for.
type contextAdd struct {
	keyFile, keyEnv, keyCommand     string
	keyStdin, use, replace, noCheck bool
}

func (sh *shell) contextAddCommand() *cobra.Command {
	var a contextAdd
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Keep a server and its key; the key is tried first",
		Long: "Keep a server and its key under a name. On a terminal the key is asked for and not shown; programs\n" +
			"pipe it in with --key-stdin. It is never an argument, which others could see. The server is asked\n" +
			"who the key belongs to, and nothing is kept if it does not answer or refuses.",
		Args: needs(1, 1, "a name for the server"),
		Example: example(
			"lineshaft context add prod --url https://lineshaft.example.com", "asks for the key",
			"lineshaft context add prod --url https://lineshaft.example.com --key-stdin < key.txt", "from a file or a pipe",
			"lineshaft context add prod --url https://lineshaft.example.com --key-command 'pass show lineshaft'", "asked for at each use, not kept",
			"lineshaft context add local --url http://127.0.0.1:8484 --key-file lineshaft-data/admin.key", "a server of this machine",
		),
		RunE: func(cmd *cobra.Command, args []string) error { return sh.contextAdd(cmd.Context(), args[0], a) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&a.keyStdin, "key-stdin", false, "read the key from standard input")
	flags.StringVar(&a.keyFile, "key-file", "", "`FILE` that holds the key; only its place is kept")
	flags.StringVar(&a.keyEnv, "key-env", "", "`NAME` of the variable that holds the key; only the name is kept")
	flags.StringVar(&a.keyCommand, "key-command", "", "`COMMAND` whose first line of output is the key; only the command is kept")
	flags.BoolVar(&a.use, "use", false, "make it the current one")
	flags.BoolVar(&a.replace, "replace", false, "replace one that has this name")
	flags.BoolVar(&a.noCheck, "no-check", false, "do not ask the server whether it accepts the key")
	return cmd
}

// contextNameForm is what a name looks like: a plain word in a shell, a key in the file.
var contextNameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

func (sh *shell) contextAdd(ctx context.Context, name string, a contextAdd) error {
	switch {
	case !contextNameForm.MatchString(name):
		return usage(fmt.Sprintf("%q cannot be the name of a context", name), "Take at most 63 letters, digits, '.', '_' and '-', such as prod.")
	case sh.contextName != "":
		return usage("--context chooses a context that is there", "Write: lineshaft context add NAME --url ADDRESS")
	case sh.url == "":
		return usage("the address is missing", fmt.Sprintf("Write: lineshaft context add %s --url https://lineshaft.example.com", shellWord(name)))
	}
	if err := checkAddressOf(sh.url, "--url"); err != nil {
		return err
	}
	file, err := sh.contexts()
	if err != nil {
		return err
	}
	if _, taken := file.Contexts[name]; taken && !a.replace {
		return usage(fmt.Sprintf("there is a context %q already", name), "Add --replace, or take another name; `lineshaft context list` shows them.")
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
	if err := sh.changeContexts(ctx, func(f *contextFile) error {
		f.Contexts[name] = *saved
		if a.use || f.Current == "" {
			f.Current = name
		}
		current = f.Current
		return nil
	}); err != nil {
		return err
	}
	if !sh.forPeople() {
		return sh.document(aboutContext{Name: name, URL: saved.URL, Key: saved.keySource(), Current: current == name})
	}
	fmt.Fprintf(sh.out, "added %s%s\n", name, who)
	if current == name {
		fmt.Fprintln(sh.err, "-- commands use it from now on")
	} else {
		fmt.Fprintf(sh.err, "-- the current one stays %s; to change that: lineshaft context use %s\n", oneLine(current), shellWord(name))
	}
	return nil
}

// newContext is the context of the flags, with its key or where that is.
func (sh *shell) newContext(ctx context.Context, name string, a contextAdd) (*savedContext, error) {
	saved := &savedContext{name: name, URL: sh.url, KeyEnv: a.keyEnv}
	given := 0
	for _, flag := range []bool{a.keyStdin, a.keyFile != "", a.keyEnv != "", a.keyCommand != ""} {
		if flag {
			given++
		}
	}
	var err error
	switch terminal := sh.terminalIn(); {
	case given > 1:
		return nil, usage("the key can come from one place only", "Give one of --key-stdin, --key-file, --key-env and --key-command.")
	case a.keyFile != "":
		saved.KeyFile, err = filepath.Abs(a.keyFile)
	case a.keyCommand != "":
		saved.KeyCommand, err = config.SplitWords(a.keyCommand)
		if err != nil || len(saved.KeyCommand) == 0 {
			return nil, usage(fmt.Sprintf("--key-command %q is not a command", a.keyCommand), "Write for instance: --key-command 'pass show lineshaft'")
		}
	case a.keyEnv != "":
	case a.keyStdin:
		saved.Key, err = readSecret(sh.in, "standard input")
	case terminal != nil:
		saved.Key, err = sh.askHidden(ctx, terminal, "API key for "+sh.url)
	default:
		return nil, usage("the key is missing", "Pipe it in and add --key-stdin, or say where it is with --key-file, --key-env or --key-command.")
	}
	if err != nil {
		return nil, err
	}
	if saved.Key = strings.TrimSpace(saved.Key); saved.keySource() == "none" {
		return nil, usage("the key is empty", "An admin makes one with `lineshaft apikey create NAME`; "+firstKey)
	}
	return saved, nil
}

// tryContext asks the server who the key belongs to.
func (sh *shell) tryContext(ctx context.Context, saved *savedContext, skip bool) (string, error) {
	if skip {
		return "", nil
	}
	sh.saved = saved
	key, err := saved.readKey(ctx, sh)
	if err != nil {
		return "", err
	}
	c, err := sh.clientFor(saved.URL, key)
	if err != nil {
		return "", err
	}
	me, err := c.Whoami(ctx)
	if err != nil {
		e := sh.explain(err)
		return "", &hintError{code: e.code, cause: err, message: "nothing was kept: " + e.message, hint: strings.TrimSpace(tryHint(e) + "\nTo keep it all the same, add --no-check.")}
	}
	return fmt.Sprintf(": %s, role %s", oneLine(cmp.Or(me.Principal.DisplayName, me.Principal.UID)), oneLine(me.Role)), nil
}

// tryHint leaves out what speaks of a context that is there already.
func tryHint(e *hintError) string {
	if strings.Contains(e.hint, "context") {
		return "Check the address and the key; an admin makes a key with `lineshaft apikey create NAME`."
	}
	return e.hint
}
