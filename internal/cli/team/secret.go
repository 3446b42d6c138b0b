package team

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func accesses() []string { return []string{"granted", "runs"} }

// secretFlags are what a secret can be given on the command line: never its value.
type secretFlags struct {
	description, access, valueFile string
}

func (f *secretFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.description, "description", "", "`TEXT` that says what it is for")
	cmd.Flags().StringVar(&f.access, "access", "", "`WHO` gets it: granted (runs of a factory, agent or automation that names it) or runs (any run that names it)")
	cmd.Flags().StringVar(&f.valueFile, "value-file", "", "`FILE` with the value, used as it is; - is standard input")
	shell.CompleteWords(cmd, "access", accesses()...)
}

func (f *secretFlags) check() error {
	if f.access == "" || slices.Contains(accesses(), f.access) {
		return nil
	}
	return shell.Usage(fmt.Sprintf("--access %q is neither granted nor runs", f.access),
		shell.DidYouMean(f.access, accesses())+"Write --access granted or --access runs.")
}

func (sh Commands) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secret",
		Aliases: []string{"secrets"},
		Short:   "Create, update, list and delete secrets",
	}
	cmd.AddCommand(sh.secretCreateCommand(), sh.secretUpdateCommand(), sh.secretListCommand(), sh.secretDeleteCommand())
	var team bool
	cmd.PersistentFlags().BoolVar(&team, "team", true, "the team's secrets, which are all there are")
	shell.Group(cmd)
	return cmd
}

func (sh Commands) secretCreateCommand() *cobra.Command {
	var f secretFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Store a secret",
		Args:  shell.Needs(1, 1, "a name such as TRACKER_TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkSecretName(args[0]), f.check()); err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			value, err := sh.SecretValue(cmd.Context(), args[0], f.valueFile)
			if err != nil {
				return err
			}
			made, err := c.Secrets.Create(cmd.Context(), client.SecretRequest{Name: args[0], Value: value, Description: f.description, Access: f.access})
			if err != nil {
				return err
			}
			return sh.showSecret(made, "created")
		},
	}
	f.add(cmd)
	return cmd
}

// secretName is what the server takes: secrets become variables of that name.
var secretName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func checkSecretName(name string) error {
	if secretName.MatchString(name) {
		return nil
	}
	hint := "It becomes a variable: a capital letter, then capital letters, digits and _."
	if near := strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToUpper(name)); secretName.MatchString(near) {
		hint += " Run: lineshaft secret create " + near
	}
	return shell.Usage(fmt.Sprintf("%q cannot be the name of a secret", name), hint)
}

func (sh Commands) secretUpdateCommand() *cobra.Command {
	var f secretFlags
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change a secret's value, or only its --description and --access",
		Args:  shell.Needs(1, 1, "the name of a secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			var change client.SecretChange
			if cmd.Flags().Changed("description") {
				change.Description = &f.description
			}
			if f.access != "" {
				change.Access = &f.access
			}
			if f.valueFile != "" || change == (client.SecretChange{}) {
				value, err := sh.SecretValue(cmd.Context(), args[0], f.valueFile)
				if err != nil {
					return err
				}
				change.Value = &value
			}
			changed, err := c.Secrets.Update(cmd.Context(), args[0], change)
			if err != nil {
				return sh.meantSecret(cmd.Context(), c, args[0], err)
			}
			return sh.showSecret(changed, "updated")
		},
	}
	f.add(cmd)
	return cmd
}

func (sh Commands) showSecret(secret *client.Secret, done string) error {
	return sh.Show(secret, func() { fmt.Fprintf(sh.Out, "%s %s\n", shell.OneLine(secret.Name), done) })
}

func (sh Commands) secretListCommand() *cobra.Command {
	return shell.Listing[client.Secret]{
		Key: "secrets", Head: []string{"NAME", "KIND", "ACCESS", "UPDATED", "DESCRIPTION"},
		Row: func(s *client.Secret) []shell.Cell {
			access := s.Access
			if s.Kind == "webhook" {
				access = "-"
			}
			return shell.Cells(s.Name, s.Kind, access, sh.When(s.UpdatedAt), s.Description)
		},
	}.Command(sh.Shell, "List the secrets, without their values",
		func(ctx context.Context, c *client.Client) ([]client.Secret, error) { return c.Secrets.List(ctx) },
		"lineshaft secret list", "names, and who gets them", "lineshaft secret list -o json", "for programs")
}

func (sh Commands) secretDeleteCommand() *cobra.Command {
	return shell.Noun[string]{
		Sh: sh.Shell, Word: "secret", Sample: "TRACKER_TOKEN", Arg: "NAME", Open: shell.Finding(sh.Shell, shell.AsTyped),
		Refs: "the name of a secret (`lineshaft secret list` shows them)",
	}.Each("delete", "deleted", "Delete secrets, unless a webhook, factory, agent or automation names them",
		"a waiting run that names it itself will fail", func(ctx context.Context, c *client.Client, name string) error {
			return sh.meantSecret(ctx, c, name, c.Secrets.Delete(ctx, name))
		})
}

// meantSecret adds to an error about a missing secret which one was meant.
func (sh Commands) meantSecret(ctx context.Context, c *client.Client, name string, err error) error {
	if err == nil {
		return nil
	}
	e := sh.Explain(err)
	if e.Code != shell.ExitNotFound {
		return err
	}
	list, failed := c.Secrets.List(ctx)
	if failed != nil {
		return err // anyone who may not list them learns what is wrong, and no more
	}
	return &shell.HintError{Code: e.Code, Cause: err, Message: e.Message, Hint: shell.DidYouMean(name, shell.NamesOf(list, func(s client.Secret) string { return s.Name })) + e.Hint}
}
