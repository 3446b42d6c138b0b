package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/definition"
)

func (sh *shell) factoryExportCommand() *cobra.Command {
	var factory string
	var revision int64
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a factory as a folder of files",
		Long: "Write a factory as a folder of files, which apply takes. Values that stand in the settings of tool servers\n" +
			"are written too; managed secrets are only named.",
		Args: needs(1, 1, "a folder that is empty or not there yet"),
		Example: example(
			"lineshaft factory export shop --factory shop", "into ./shop",
			"lineshaft factory export old --revision 7", "as it was then",
			"lineshaft factory export . --overwrite", "over the files that are here; others stay",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.inFactory(cmd.Context(), factory)
			if err != nil {
				return err
			}
			var out client.Definition
			if revision > 0 {
				found, err := c.Definitions.Revision(cmd.Context(), uid, revision)
				if err != nil {
					return err
				}
				out = client.Definition{Revision: found.Number, Files: found.Files}
			} else {
				found, err := c.Definitions.Export(cmd.Context(), uid)
				if err != nil {
					return err
				}
				out = *found
			}
			if err := writeFolder(args[0], definition.Files(out.Files), overwrite, "; --overwrite writes over what is there"); err != nil {
				return err
			}
			if !sh.forPeople() {
				return sh.document(out)
			}
			fmt.Fprintf(sh.err, "-- revision %d written to %s: %s\n", out.Revision, args[0], count(len(out.Files), "file"))
			return nil
		},
	}
	cmd.Flags().StringVar(&factory, "factory", "", "`FACTORY` by uid, alias or name (default: the only one)")
	cmd.Flags().Int64Var(&revision, "revision", 0, "an earlier one, by its `NUMBER`")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "write into a folder that is not empty")
	return cmd
}

func (sh *shell) factoryRevisionsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "revisions [FACTORY]",
		Short: "List the revisions of a factory's definition, newest first",
		Args:  needs(0, 1, ""),
		Example: example(
			"lineshaft factory revisions shop", "who changed it, when and how",
			"lineshaft factory revisions --limit 200 -o ndjson", "more of them, for programs",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage(fmt.Sprintf("--limit %d is less than one", limit), "Give how many to show.")
			}
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			list := []client.DefinitionRevision{}
			for r, err := range c.Definitions.AllRevisions(cmd.Context(), uid, client.RevisionQuery{Limit: min(limit, 500)}) {
				if err != nil {
					return err
				}
				if list = append(list, r); len(list) == limit {
					break
				}
			}
			if !sh.forPeople() {
				return documents(sh, map[string]any{"revisions": list}, list)
			}
			var rows [][]cell
			for _, r := range list {
				about := r.Comment
				if r.Commit != "" {
					about = clip(r.Commit, 12) + " " + about
				}
				rows = append(rows, []cell{
					plain(strconv.FormatInt(r.Number, 10)), plain(oneLine(r.Source)), plain(oneLine(r.Actor.DisplayName)), plain(sh.when(r.CreatedAt)), plain(orDash(oneLine(about))),
				})
			}
			if len(rows) == 0 {
				fmt.Fprintln(sh.err, "-- no revisions yet; the next change makes one")
				return nil
			}
			sh.table([]string{"NUMBER", "SOURCE", "BY", "MADE", "ABOUT"}, rows)
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "show at most this `NUMBER`")
	return cmd
}

func (sh *shell) factoryRollbackCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "rollback FACTORY NUMBER",
		Short: "Apply an earlier revision of a factory's definition again, as a new one",
		Args:  needs(2, 2, "a factory and the number of a revision (`lineshaft factory revisions FACTORY` shows them)"),
		Example: example(
			"lineshaft factory rollback shop 7", "asks on a terminal; what came after stays in the list",
			"lineshaft factory rollback shop 7 --yes", "does not ask",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || number < 1 {
				return usage(fmt.Sprintf("%q is no number of a revision", args[1]), "`lineshaft factory revisions "+args[0]+"` shows them.")
			}
			c, uid, err := sh.thisFactory(cmd, args[:1])
			if err != nil {
				return err
			}
			if !yes && sh.asks() {
				if err := sh.confirmRollback(cmd.Context(), c, uid, number); err != nil {
					return err
				}
			}
			done, err := c.Definitions.Rollback(cmd.Context(), uid, number)
			if err != nil {
				return err
			}
			return sh.showApplied(done)
		},
	}
	yesFlag(cmd, &yes)
	return cmd
}
