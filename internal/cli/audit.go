package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Read who changed what",
		Example: example("lineshaft audit list", "the latest changes"),
	}
	cmd.AddCommand(sh.auditListCommand())
	group(cmd)
	return cmd
}

func (sh *shell) auditListCommand() *cobra.Command {
	var q client.AuditQuery
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the audit log, the newest entry first; it needs the role admin",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft audit list", "the latest", "lineshaft audit list --all -o ndjson", "the whole log, a line of JSON each"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Limit < 1 || q.Limit > 500 {
				return usage(fmt.Sprintf("--limit %d is not between 1 and 500", q.Limit), "For everything: --all")
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			page := &client.AuditPage{Entries: []client.AuditEntry{}}
			for more := true; more; more = all && page.PageInfo.HasNextPage {
				next, err := c.Audit(cmd.Context(), q)
				if err != nil {
					return err
				}
				page.Entries = append(page.Entries, next.Entries...)
				page.PageInfo, q.Cursor = next.PageInfo, next.PageInfo.NextCursor
			}
			if !sh.forPeople() {
				return documents(sh, page, page.Entries)
			}
			sh.showAudit(page)
			return nil
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "`NUMBER` of entries, 1 to 500")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on after an earlier list, at its `CURSOR`")
	cmd.Flags().BoolVar(&all, "all", false, "all entries, not only the first ones")
	return cmd
}

func (sh *shell) showAudit(page *client.AuditPage) {
	var rows [][]cell
	for _, e := range page.Entries {
		rows = append(rows, []cell{
			plain(sh.when(e.Time)), plain(clip(oneLine(cmp.Or(e.Actor.DisplayName, e.Actor.UID, "-")), 24)), plain(oneLine(e.Action)),
			plain(orDash(oneLine(strings.TrimSpace(e.TargetType + " " + e.TargetID)))), plain(orDash(oneLine(e.RemoteAddr))),
		})
	}
	sh.table([]string{"TIME", "WHO", "ACTION", "TARGET", "FROM"}, rows)
	if page.PageInfo.HasNextPage {
		fmt.Fprintf(sh.err, "-- there are more: add --all, or --cursor %s\n", clean(page.PageInfo.NextCursor))
	}
}
