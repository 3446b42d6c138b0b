package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "skill",
		Aliases: []string{"skills"},
		Short:   "List the skills of repositories",
		Long: "Skills are prompts that are kept in repositories, as SKILL.md files. `lineshaft run --skill` uses one;\n" +
			"the prompt then is its arguments.",
		Example: example(
			"lineshaft skill list", "those of all environments and factories",
			"lineshaft skill list --repo acme/tools", "those of one repository",
		),
	}
	cmd.AddCommand(sh.skillListCommand())
	group(cmd)
	return cmd
}

func (sh *shell) skillListCommand() *cobra.Command {
	var q client.SkillQuery
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List skills",
		Long:  "List the skills of the repositories of all environments and factories, or of one repository.",
		Args:  needs(0, 0, ""),
		Example: example(
			"lineshaft skill list", "what there is",
			"lineshaft skill list --repo acme/tools --refresh", "of one repository, as it is now",
			"lineshaft skill list --all -o json", "malformed ones too, for programs",
		),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := c.Skills.List(cmd.Context(), q)
			if err != nil {
				return err
			}
			return sh.showSkills(list)
		}),
	}
	cmd.Flags().StringVar(&q.Repository, "repo", "", "only those of a `REPOSITORY`, as owner/name")
	cmd.Flags().BoolVar(&q.Refresh, "refresh", false, "ask the forge anew instead of trusting what was read in the last minute")
	cmd.Flags().StringVar(&q.SortBy, "sort", "", "`ORDER`: name (default) or last_run")
	cmd.Flags().BoolVar(&q.Malformed, "all", false, "also files that are no skills, with what is wrong")
	completeWords(cmd, "sort", "name", "last_run")
	return cmd
}

func (sh *shell) showSkills(list []client.NamedSkills) error {
	if !sh.forPeople() {
		return documents(sh, map[string]any{"agents": list}, list)
	}
	var rows [][]cell
	for _, named := range list {
		for _, s := range named.Variants {
			used, about := "-", s.Description
			if s.LastRunAt != nil {
				used = sh.when(*s.LastRunAt)
			}
			if s.Error != "" {
				about = "malformed: " + s.Error
			}
			about, _, _ = strings.Cut(about, "\n")
			rows = append(rows, []cell{plain(oneLine(named.Name)), plain(oneLine(s.ID)), plain(used), plain(oneLine(about))})
		}
	}
	sh.table([]string{"NAME", "SKILL", "LAST RUN", "DESCRIPTION"}, rows)
	return nil
}
