package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

func roles() []string { return []string{"viewer", "member", "manager", "admin", "worker"} }

func (sh *shell) apikeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "apikey",
		Aliases: []string{"apikeys", "key", "keys"},
		Short:   "Create, list and revoke API keys",
		Example: example(
			"lineshaft apikey create ci --role member", "a key for a program that starts runs",
			"lineshaft apikey list", "who has keys, and when they were last used",
		),
	}
	cmd.AddCommand(sh.apikeyCreateCommand(), sh.apikeyListCommand(), sh.apikeyRevokeCommand())
	group(cmd)
	return cmd
}

func (sh *shell) apikeyCreateCommand() *cobra.Command {
	req, expires := client.APIKeyRequest{}, ""
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key; it is shown once",
		Long: "Create a key. The key alone goes to standard output, once: the server does not keep it.\n\n" +
			"Roles: viewer reads; member starts runs and steers its own; manager steers all;\n" +
			"admin manages keys, too; worker executes runs for the ids given with --worker.",
		Args: needs(1, 1, "a name for the key"),
		Example: example(
			"lineshaft apikey create ci --role member --expires 90d", "a key that ends by itself",
			"export LINESHAFT_API_KEY=$(lineshaft apikey create me --role admin)", "use it here",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			if !slices.Contains(roles(), req.Role) {
				hint := "Roles are: " + strings.Join(roles(), ", ") + "."
				if near := nearest.Word(req.Role, roles()); near != "" {
					hint = "Did you mean " + near + "? " + hint
				}
				return usage(fmt.Sprintf("--role %q is not a role", req.Role), hint)
			}
			if req.Role == "worker" && len(req.WorkerIDs) == 0 {
				return usage("a worker key needs the ids that it may work for", "Add --worker ID.")
			}
			if expires != "" {
				at, err := parseTime("expires", expires, sh.now(), true)
				if err != nil {
					return err
				}
				req.ExpiresAt = &at
			}
			return sh.createKey(cmd.Context(), req)
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "member", "`ROLE`: viewer, member, manager, admin or worker")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` the key ends, such as 90d or 2026-12-31 (default: never)")
	cmd.Flags().StringArrayVar(&req.WorkerIDs, "worker", nil, "worker `ID` that the key may work for; repeatable")
	cmd.Flags().StringArrayVar(&req.FactoryUIDs, "factory", nil, "`FACTORY` that the key is limited to, by uid, alias or name; repeatable")
	completeWords(cmd, "role", roles()...)
	return cmd
}

func (sh *shell) createKey(ctx context.Context, req client.APIKeyRequest) error {
	c, err := sh.connect(ctx)
	if err != nil {
		return err
	}
	if req.FactoryUIDs, err = sh.factoryUIDs(ctx, c, req.FactoryUIDs); err != nil {
		return err
	}
	key, err := c.APIKeys.Create(ctx, req)
	if err != nil {
		return err
	}
	if !sh.forPeople() {
		return sh.document(key)
	}
	fmt.Fprintf(sh.err, "-- %s key %q (%s); it is not shown again:\n", oneLine(key.Role), oneLine(key.Name), oneLine(key.ID))
	fmt.Fprintln(sh.out, oneLine(key.Key))
	return nil
}

func (sh *shell) apikeyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the keys; the keys themselves are not known to the server",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft apikey list", "names, roles, last use", "lineshaft apikey list -o json", "for programs"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			keys, err := c.APIKeys.List(cmd.Context())
			if err != nil {
				return err
			}
			names, err := factoryNames(cmd.Context(), c, keys)
			return listing[client.APIKey]{
				key:  "api_keys",
				head: []string{"KEY ID", "ROLE", "FACTORIES", "STATE", "CREATED", "EXPIRES", "LAST USED", "NAME"},
				row:  func(key *client.APIKey) []cell { return sh.keyRow(key, factoriesOf(key, names)) },
			}.show(sh, keys, err)
		}),
	}
}

// factoryNames are what the factories of limited keys are called, by uid.
func factoryNames(ctx context.Context, c *client.Client, keys []client.APIKey) (map[string]string, error) {
	names := map[string]string{}
	if !slices.ContainsFunc(keys, func(key client.APIKey) bool { return len(key.FactoryUIDs) > 0 }) {
		return names, nil
	}
	for f, err := range c.Factories.All(ctx, client.FactoryQuery{Limit: 100}) {
		if err != nil {
			return nil, err
		}
		names[f.UID] = cmp.Or(f.Alias, f.Name)
	}
	return names, nil
}

// factoriesOf says what a key is limited to; a factory that is gone goes by its uid.
func factoriesOf(key *client.APIKey, names map[string]string) string {
	var list []string
	for _, uid := range key.FactoryUIDs {
		list = append(list, oneLine(cmp.Or(names[uid], uid)))
	}
	return cmp.Or(strings.Join(list, ", "), "all")
}

func (sh *shell) keyRow(key *client.APIKey, factories string) []cell {
	state := cell{"valid", styleGood}
	switch {
	case key.RevokedAt != nil:
		state = cell{"revoked", styleDim}
	case key.ExpiresAt != nil && !sh.now().Before(*key.ExpiresAt):
		state = cell{"expired", styleDim}
	}
	return []cell{
		plain(oneLine(key.ID)), plain(oneLine(key.Role)), plain(factories), state, plain(sh.when(key.CreatedAt)), plain(orDash(sh.whenSet(key.ExpiresAt))),
		plain(orDash(sh.whenSet(key.LastUsedAt))), plain(oneLine(key.Name)),
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (sh *shell) apikeyRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke KEY_ID...",
		Short:   "Make keys useless at once and for good",
		Args:    needs(1, -1, "a key id (`lineshaft apikey list` shows them)"),
		Example: example("lineshaft apikey revoke KEY_ID", "the id, not the key itself"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if strings.HasPrefix(id, "ls_") {
					return usage("that is a key, not the id of one", "`lineshaft apikey list` shows the ids.")
				}
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			return sh.each(cmd.Context(), args, "revoked", c.APIKeys.Revoke)
		},
	}
}
