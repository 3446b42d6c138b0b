package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) whoamiCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Show who the key belongs to and what it may do",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft whoami", "server, name, role, limits", "lineshaft whoami --context prod -o json", "at another server, for programs"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			me, err := c.Whoami(cmd.Context())
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(me)
			}
			rate := ""
			if n := me.Limits.RequestsPerMinute; n > 0 {
				rate = count(n, "request") + " a minute"
			}
			saved := ""
			if sh.saved != nil {
				saved = sh.saved.name
			}
			sh.pairs([][2]string{
				{"Server", oneLine(sh.address())},
				{"Context", oneLine(saved)},
				{"Name", oneLine(cmp.Or(me.Principal.DisplayName, me.Principal.UID))},
				{"Type", oneLine(me.Principal.Type)},
				{"Role", oneLine(me.Role)},
				{"Key ID", oneLine(me.KeyID)},
				{"Run", oneLine(me.RunID)},
				{"Factories", oneLine(strings.Join(me.Limits.FactoryUIDs, ", "))},
				{"Workers", oneLine(strings.Join(me.Limits.WorkerIDs, ", "))},
				{"Rate limit", rate},
				{"May", oneLine(strings.Join(me.Permissions, ", "))},
			})
			return nil
		}),
	}
}
