package team

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func roles() []string { return []string{"viewer", "member", "manager", "admin", "worker"} }

func (sh Commands) apikeyCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:     "apikey",
		Aliases: []string{"apikeys", "key", "keys"},
		Short:   "Create, list and revoke API keys",
	}, sh.apikeyCreateCommand(), sh.apikeyListCommand(), sh.apikeyRevokeCommand())
}

func (sh Commands) apikeyCreateCommand() *cobra.Command {
	req, expires := client.APIKeyRequest{}, ""
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key; it is shown once",
		Args:  shell.Needs(1, 1, "a name for the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name = args[0]
			if !slices.Contains(roles(), req.Role) {
				return shell.Usage(fmt.Sprintf("--role %q is not a role", req.Role),
					shell.DidYouMean(req.Role, roles())+"Roles are: "+strings.Join(roles(), ", ")+".")
			}
			if req.Role == "worker" && len(req.WorkerIDs) == 0 {
				return shell.Usage("a worker key needs the ids that it may work for", "Add --worker ID.")
			}
			if expires != "" {
				at, err := shell.ParseTime("expires", expires, sh.Now(), true)
				if err != nil {
					return err
				}
				req.ExpiresAt = &at
			}
			return sh.createKey(cmd.Context(), req)
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "member", "`ROLE`: viewer, member, manager, admin or worker")
	cmd.Flags().StringVar(&expires, "expires", "", "`WHEN` the key expires, such as 90d or 2026-12-31 (default: never)")
	cmd.Flags().StringArrayVar(&req.WorkerIDs, "worker", nil, "worker `ID` that the key may work for; repeatable")
	cmd.Flags().StringArrayVar(&req.FactoryUIDs, "factory", nil, "`FACTORY` that the key is limited to, by uid, alias or name; repeatable")
	shell.CompleteWords(cmd, "role", roles()...)
	return cmd
}

func (sh Commands) createKey(ctx context.Context, req client.APIKeyRequest) error {
	c, err := sh.Connect(ctx)
	if err != nil {
		return err
	}
	if req.FactoryUIDs, err = sh.FactoryUIDs(ctx, c, req.FactoryUIDs); err != nil {
		return err
	}
	key, err := c.APIKeys.Create(ctx, req)
	if err != nil {
		return err
	}
	return sh.Show(key, func() {
		fmt.Fprintf(sh.Err, "-- %s key %q (%s); it is not shown again:\n", shell.OneLine(key.Role), shell.OneLine(key.Name), shell.OneLine(key.ID))
		fmt.Fprintln(sh.Out, shell.OneLine(key.Key))
	})
}

func (sh Commands) apikeyListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys, without the keys themselves, which the server does not know",
		Args:  shell.Needs(0, 0, ""),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			keys, err := c.APIKeys.List(cmd.Context())
			if err != nil {
				return err
			}
			names, err := factoryNames(cmd.Context(), c, keys)
			return shell.Listing[client.APIKey]{
				Key:  "api_keys",
				Head: []string{"KEY ID", "ROLE", "FACTORIES", "STATE", "CREATED", "EXPIRES", "LAST USED", "NAME"},
				Row:  func(key *client.APIKey) []shell.Cell { return sh.keyRow(key, factoriesOf(key, names)) },
			}.Show(sh.Shell, keys, err)
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
		list = append(list, shell.OneLine(cmp.Or(names[uid], uid)))
	}
	return cmp.Or(strings.Join(list, ", "), "all")
}

func (sh Commands) keyRow(key *client.APIKey, factories string) []shell.Cell {
	state := shell.Styled("valid", shell.StyleGood)
	switch {
	case key.RevokedAt != nil:
		state = shell.Styled("revoked", shell.StyleDim)
	case key.ExpiresAt != nil && !sh.Now().Before(*key.ExpiresAt):
		state = shell.Styled("expired", shell.StyleDim)
	}
	return shell.Cells(
		key.ID, key.Role, factories, state, sh.When(key.CreatedAt), shell.OrDash(sh.WhenSet(key.ExpiresAt)),
		shell.OrDash(sh.WhenSet(key.LastUsedAt)), key.Name,
	)
}

func (sh Commands) apikeyRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY_ID...",
		Short: "Revoke keys immediately and permanently",
		Args:  shell.Needs(1, -1, "a key id (`lineshaft apikey list` shows them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if strings.HasPrefix(id, "ls_") {
					return shell.Usage("that is a key, not the id of one", "`lineshaft apikey list` shows the ids.")
				}
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return sh.Each(cmd.Context(), args, "revoked", c.APIKeys.Revoke)
		},
	}
}
