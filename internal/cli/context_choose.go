package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// aboutContext is a context for programs; the key itself is not part of it.
type aboutContext struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Key says where the key is.
	Key     string `json:"key"`
	Current bool   `json:"current"`
	// From says what chose the server; only `context show` tells.
	From string `json:"from,omitempty"`
}

func (sh *shell) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the saved servers, without their keys",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft context list", "names and addresses; * is the current one", "lineshaft context list -o json", "for programs"),
		RunE: func(*cobra.Command, []string) error {
			file, err := sh.contexts()
			if err != nil {
				return err
			}
			list := []aboutContext{}
			for _, name := range file.names() {
				saved := file.Contexts[name]
				list = append(list, aboutContext{Name: name, URL: saved.URL, Key: saved.keySource(), Current: name == file.Current})
			}
			if !sh.forPeople() {
				return documents(sh, map[string]any{"contexts": list}, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(sh.err, "-- no contexts; make one: lineshaft context add NAME --url ADDRESS")
				return nil
			}
			var rows [][]cell
			for _, c := range list {
				mark := ""
				if c.Current {
					mark = "*"
				}
				rows = append(rows, []cell{plain(mark), plain(oneLine(c.Name)), plain(oneLine(c.URL)), plain(oneLine(c.Key))})
			}
			sh.table([]string{"", "NAME", "URL", "KEY"}, rows)
			return nil
		},
	}
}

func (sh *shell) contextUseCommand() *cobra.Command {
	var none bool
	cmd := &cobra.Command{
		Use:     "use NAME",
		Short:   "Make a saved server the one that commands use",
		Args:    cobra.ArbitraryArgs,
		Example: example("lineshaft context use prod", "from now on", "lineshaft context use --none", "the server of this machine again"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case none && len(args) > 0:
				return usage("a name and --none exclude each other", "Give one of them.")
			case !none:
				if err := needs(1, 1, "the name of a context (`lineshaft context list` shows them)")(cmd, args); err != nil {
					return err
				}
			}
			return sh.contextUse(cmd, append(args, "")[0])
		},
	}
	cmd.Flags().BoolVar(&none, "none", false, "use none: the server of this machine")
	return cmd
}

func (sh *shell) contextUse(cmd *cobra.Command, name string) error {
	address := defaultURL
	if err := sh.changeContexts(cmd.Context(), func(f *contextFile) error {
		if name != "" {
			saved, err := f.find(name, "cannot use it:")
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
	if !sh.forPeople() {
		return sh.document(aboutContext{Name: name, URL: address, Current: name != ""})
	}
	fmt.Fprintf(sh.out, "commands go to %s\n", oneLine(address))
	for _, variable := range []string{"LINESHAFT_URL", "LINESHAFT_API_KEY", "LINESHAFT_CONTEXT"} {
		if sh.env[variable] != "" {
			fmt.Fprintf(sh.err, "-- but not in this shell: %s is set, and counts first\n", variable)
			break
		}
	}
	return nil
}

func (sh *shell) contextShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show which server commands go to, and what says so",
		Args:  needs(0, 1, ""),
		Example: example(
			"lineshaft context show", "where would a command go, and why?",
			"lineshaft context show prod", "a saved server, without its key",
		),
		RunE: func(_ *cobra.Command, args []string) error {
			about, err := sh.chosen(args)
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(about)
			}
			sh.pairs([][2]string{{"Context", oneLine(about.Name)}, {"URL", oneLine(about.URL)}, {"Key", oneLine(about.Key)}, {"From", about.From}})
			return nil
		},
	}
}

// chosen tells about a named context, or about the server that commands would use.
func (sh *shell) chosen(args []string) (*aboutContext, error) {
	if len(args) == 1 {
		file, err := sh.contexts()
		if err != nil {
			return nil, err
		}
		saved, err := file.find(args[0], "cannot show it:")
		if err != nil {
			return nil, err
		}
		return &aboutContext{Name: args[0], URL: saved.URL, Key: saved.keySource(), Current: args[0] == file.Current}, nil
	}
	if err := sh.choose(); err != nil {
		return nil, err
	}
	about := &aboutContext{URL: sh.address(), Key: "admin key of the data directory", From: "the default"}
	switch {
	case sh.variableKey() != "":
		about.Key = "variable LINESHAFT_API_KEY"
	case sh.insideRun():
		about.Key = "variable LINESHAFT_RUN_TOKEN"
	case !isLoopback(sh.address()):
		about.Key = "none"
	}
	switch {
	case sh.url != "":
		about.From = "--url"
	case sh.saved != nil:
		about.Name = sh.saved.name
		if source := sh.saved.keySource(); source != "none" {
			about.Key = source
		}
		about.From = "the current context"
		about.Current = true
		if sh.contextName != "" {
			about.From, about.Current = "--context", false
		} else if sh.env["LINESHAFT_CONTEXT"] != "" {
			about.From, about.Current = "LINESHAFT_CONTEXT", false
		}
	case sh.env["LINESHAFT_URL"] != "":
		about.From = "LINESHAFT_URL"
	case sh.insideRun():
		about.From = "LINESHAFT_API_URL, inside a run"
	}
	return about, nil
}

func (sh *shell) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME...",
		Aliases: []string{"rm"},
		Short:   "Forget saved servers and their keys",
		Long:    "Forget saved servers and their keys. The keys stay valid: `lineshaft apikey revoke` ends one.",
		Args:    needs(1, -1, "the name of a context (`lineshaft context list` shows them)"),
		Example: example("lineshaft context remove prod", "its key stays valid until it is revoked"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := sh.changeContexts(cmd.Context(), func(f *contextFile) error {
				for _, name := range args { // all or none
					if _, err := f.find(name, "nothing was removed:"); err != nil {
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
			if !sh.forPeople() {
				return sh.document(map[string]any{"removed": args})
			}
			for _, name := range args {
				fmt.Fprintf(sh.out, "removed %s\n", oneLine(name))
			}
			return nil
		},
	}
}
