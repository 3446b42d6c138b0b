package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

func accesses() []string { return []string{"granted", "runs"} }

// secretFlags are what a secret can be given on the command line: never its value.
type secretFlags struct {
	description, access, valueFile string
}

func (f *secretFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.description, "description", "", "`TEXT` that says what it is for")
	cmd.Flags().StringVar(&f.access, "access", "", "`WHO` gets it: granted (what a factory, agent or automation names) or runs (any run that names it)")
	cmd.Flags().StringVar(&f.valueFile, "value-file", "", "`FILE` with the value, taken as it is; - is standard input")
	completeWords(cmd, "access", accesses()...)
}

func (f *secretFlags) check() error {
	if f.access == "" || slices.Contains(accesses(), f.access) {
		return nil
	}
	hint := "Write --access granted or --access runs."
	if near := nearest.Word(f.access, accesses()); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return usage(fmt.Sprintf("--access %q is neither granted nor runs", f.access), hint)
}

func (sh *shell) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "secret",
		Aliases: []string{"secrets"},
		Short:   "Create, update, list and delete secrets",
		Long: "Secrets are stored encrypted and given to runs as variables of their names. Their values\n" +
			"cannot be read back, and are masked in what agents print.",
		Example: example(
			"lineshaft secret create TRACKER_TOKEN", "asks for the value without showing it",
			"lineshaft secret create DEPLOY_KEY --value-file id_ed25519", "the value is in a file",
			"lineshaft secret list", "names, and who gets them",
		),
	}
	cmd.AddCommand(sh.secretCreateCommand(), sh.secretUpdateCommand(), sh.secretListCommand(), sh.secretDeleteCommand())
	var team bool
	cmd.PersistentFlags().BoolVar(&team, "team", true, "the team's secrets, which are all there are")
	group(cmd)
	return cmd
}

func (sh *shell) secretCreateCommand() *cobra.Command {
	var f secretFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Store a secret",
		Long: "Store a secret. The value comes from standard input, without one line break at its end, or from a\n" +
			"file; on a terminal it is asked for and not shown. It is never an argument, which others could see.",
		Args: needs(1, 1, "a name such as TRACKER_TOKEN"),
		Example: example(
			"lineshaft secret create TRACKER_TOKEN", "asks for the value",
			"pass show tracker | lineshaft secret create TRACKER_TOKEN --access runs", "any run may name it",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkSecretName(args[0]), f.check()); err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			value, err := sh.secretValue(cmd.Context(), args[0], f.valueFile)
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
		hint += " Write: lineshaft secret create " + near
	}
	return usage(fmt.Sprintf("%q cannot be the name of a secret", name), hint)
}

func (sh *shell) secretUpdateCommand() *cobra.Command {
	var f secretFlags
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change a secret's value, or with --description and --access those alone",
		Long: "Change a secret. Without flags a new value is read as for `secret create`; with --description or\n" +
			"--access, only when --value-file is given, too. Runs get the new value from their next execution on.",
		Args: needs(1, 1, "the name of a secret"),
		Example: example(
			"lineshaft secret update TRACKER_TOKEN", "asks for the new value",
			"lineshaft secret update TRACKER_TOKEN --access granted", "the value stays",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
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
				value, err := sh.secretValue(cmd.Context(), args[0], f.valueFile)
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

func (sh *shell) showSecret(secret *client.Secret, done string) error {
	if !sh.forPeople() {
		return sh.document(secret)
	}
	fmt.Fprintf(sh.out, "%s %s\n", oneLine(secret.Name), done)
	return nil
}

func (sh *shell) secretListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the secrets, without their values",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft secret list", "names, and who gets them", "lineshaft secret list -o json", "for programs"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			secrets, err := c.Secrets.List(cmd.Context())
			return listing[client.Secret]{
				key:  "secrets",
				head: []string{"NAME", "KIND", "ACCESS", "UPDATED", "DESCRIPTION"},
				row: func(s *client.Secret) []cell {
					access := s.Access
					if s.Kind == "webhook" {
						access = "-"
					}
					return []cell{plain(oneLine(s.Name)), plain(oneLine(s.Kind)), plain(oneLine(access)), plain(sh.when(s.UpdatedAt)), plain(oneLine(s.Description))}
				},
			}.show(sh, secrets, err)
		}),
	}
}

func (sh *shell) secretDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME...",
		Short:   "Delete secrets; one that a webhook, factory, agent or automation names is refused",
		Args:    needs(1, -1, "the name of a secret (`lineshaft secret list` shows them)"),
		Example: example("lineshaft secret delete TRACKER_TOKEN", "a waiting run that names it itself will fail"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			return sh.each(cmd.Context(), args, "deleted", func(ctx context.Context, name string) error {
				return sh.meantSecret(ctx, c, name, c.Secrets.Delete(ctx, name))
			})
		}),
	}
}

// meantSecret adds to an error about a secret that is not there which one was meant.
func (sh *shell) meantSecret(ctx context.Context, c *client.Client, name string, err error) error {
	if err == nil {
		return nil
	}
	e := sh.explain(err)
	if e.code != exitNotFound {
		return err
	}
	list, failed := c.Secrets.List(ctx)
	if failed != nil {
		return err // who may not list them is told what is wrong, and no more
	}
	return &hintError{code: e.code, cause: err, message: e.message, hint: didYouMean(name, namesOf(list, func(s client.Secret) string { return s.Name })) + e.hint}
}

// withoutLineBreak takes one line break off the end of what was typed or piped.
func withoutLineBreak(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}
