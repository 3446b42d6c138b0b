// Package team has the commands about what all factories of a server share: API keys, the
// audit log, secrets, environments, skills, models and notifications.
package team

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/find"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Commands are those about what factories share.
type Commands struct{ find.Finder }

// All are the commands of this room.
func (sh Commands) All() []*cobra.Command {
	return []*cobra.Command{
		sh.apikeyCommand(), sh.auditCommand(), sh.secretCommand(), sh.environmentCommand(), sh.skillCommand(), sh.modelCommand(),
		sh.notificationCommand(),
	}
}

func (sh Commands) auditCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "audit",
		Short: "Read who changed what",
	}, sh.auditListCommand())
}

func (sh Commands) auditListCommand() *cobra.Command {
	var q client.AuditQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the audit log, newest entry first; you need the role admin",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Limit < 1 || q.Limit > 500 {
				return shell.Usage(fmt.Sprintf("--limit %d is not between 1 and 500", q.Limit), "Use --all for everything.")
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			page := &client.AuditPage{}
			if all {
				page.Entries, err = shell.Collect(c.AllAudit(cmd.Context(), q))
			} else {
				page, err = c.Audit(cmd.Context(), q)
			}
			if err != nil {
				return err
			}
			return shell.Listing[client.AuditEntry]{
				Whole: page, Page: page.PageInfo, Head: []string{"TIME", "WHO", "ACTION", "TARGET", "FROM"},
				Row: func(e *client.AuditEntry) []shell.Cell {
					return shell.Cells(
						sh.When(e.Time), shell.Clip(shell.OneLine(cmp.Or(e.Actor.DisplayName, e.Actor.UID, "-")), 24), e.Action,
						shell.OrDash(strings.TrimSpace(e.TargetType+" "+e.TargetID)), shell.OrDash(e.RemoteAddr),
					)
				},
			}.Show(sh.Shell, page.Entries, nil)
		},
	}
	shell.PageFlags(cmd, "entries", &q.Limit, &q.Cursor, &all)
	return cmd
}

func (sh Commands) modelCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:     "model",
		Aliases: []string{"models"},
		Short:   "List the language models and agent programs that the server can run",
	}, sh.modelListCommand())
}

func (sh Commands) modelListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the models and harnesses, and what is missing for those that cannot be used",
		Args:  shell.Needs(0, 0, ""),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			models, err := c.Models(cmd.Context())
			if err != nil {
				return err
			}
			if !sh.ForPeople() {
				return shell.Documents(sh.Shell, models, models.Models)
			}
			sh.showModels(models)
			return nil
		}),
	}
}

func (sh Commands) showModels(models *client.Models) {
	state := func(ready bool) shell.Cell {
		if ready {
			return shell.Styled("ready", shell.StyleGood)
		}
		return shell.Styled("unavailable", shell.StyleWait)
	}
	var rows [][]shell.Cell
	for _, m := range models.Models {
		mark := shell.Mark(m.ID == models.DefaultModelID)
		rows = append(rows, shell.Cells(mark, m.ID, state(m.DisableReason == ""), m.Provider, m.DisplayName+" "+m.DisableReason))
	}
	if len(rows) == 0 {
		fmt.Fprintln(sh.Err, "-- no models; docs/models.md says how to set one up")
	} else {
		sh.Table([]string{"", "MODEL", "STATE", "PROVIDER", "ABOUT"}, rows)
		fmt.Fprintln(sh.Out)
	}
	rows = nil
	for _, h := range models.Harnesses {
		rows = append(rows, shell.Cells(h.Type, state(h.Available), h.Problem))
	}
	sh.Table([]string{"HARNESS", "STATE", "ABOUT"}, rows)
}

func (sh Commands) skillCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:     "skill",
		Aliases: []string{"skills"},
		Short:   "List the skills of repositories",
	}, sh.skillListCommand())
}

func (sh Commands) skillListCommand() *cobra.Command {
	var q client.SkillQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List skills",
		Args:  shell.Needs(0, 0, ""),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			return shell.Shown(sh.showSkills)(c.Skills.List(cmd.Context(), q))
		}),
	}
	cmd.Flags().StringVar(&q.Repository, "repo", "", "only those of a `REPOSITORY`, as owner/name")
	cmd.Flags().BoolVar(&q.Refresh, "refresh", false, "ask the forge again instead of using what was read in the last minute")
	cmd.Flags().StringVar(&q.SortBy, "sort", "", "`ORDER`: name (default) or last_run")
	cmd.Flags().BoolVar(&q.Malformed, "all", false, "also list files that are not valid skills, and why")
	shell.CompleteWords(cmd, "sort", "name", "last_run")
	return cmd
}

func (sh Commands) showSkills(list []client.NamedSkills) error {
	if !sh.ForPeople() {
		return shell.Documents(sh.Shell, map[string]any{"agents": list}, list)
	}
	var rows [][]shell.Cell
	for _, named := range list {
		for _, s := range named.Variants {
			about := s.Description
			if s.Error != "" {
				about = "malformed: " + s.Error
			}
			about, _, _ = strings.Cut(about, "\n")
			rows = append(rows, shell.Cells(named.Name, s.ID, shell.OrDash(sh.WhenSet(s.LastRunAt)), about))
		}
	}
	sh.Table([]string{"NAME", "SKILL", "LAST RUN", "DESCRIPTION"}, rows)
	return nil
}
