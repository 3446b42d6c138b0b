package factories

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/definition"
)

func (sh Commands) factoryPlanCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:   "plan DIR",
		Short: "Show what applying a folder would add, change and remove",
		Args:  shell.Needs(1, 1, folderArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			if uid == "" {
				plan, err := planNew(cmd.Context(), c, files)
				if err != nil {
					return err
				}
				return sh.showPlan(plan, fmt.Sprintf("-- there is no factory %q yet; apply creates it", shell.OneLine(d.Factory.Name)))
			}
			plan, err := c.Definitions.Plan(cmd.Context(), uid, files)
			if err != nil {
				return err
			}
			return sh.showPlan(plan, "-- nothing to do: the factory matches the folder")
		},
	}
	folderFactoryFlag(cmd, &factory)
	return cmd
}

func folderFactoryFlag(cmd *cobra.Command, ref *string) {
	cmd.Flags().StringVar(ref, "factory", "", "`FACTORY` by uid, alias or name (default: the one with the folder's alias or name)")
}

func (sh Commands) showPlan(plan *client.DefinitionPlan, note string) error {
	return sh.Show(plan, func() {
		sh.showChanges(plan.Changes)
		for _, b := range plan.Backtests {
			more := ""
			if b.Truncated {
				more = ", the newest stored,"
			}
			fmt.Fprintf(sh.Out, "  automation %s: of %s%s %d would newly start a run, %d no longer would\n",
				shell.OneLine(b.Automation), deliveries(b.Deliveries), more, b.Starts, b.Stops)
		}
		sh.showNotices(plan.Notices)
		if len(plan.Changes) == 0 || plan.Revision == 0 {
			fmt.Fprintln(sh.Err, note)
		}
	})
}

func deliveries(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprint(n, " deliveries")
}

// changeSign is a picture of what happens to a part.
func changeSign(action string) (sign string, look shell.Style) {
	switch action {
	case string(definition.ActionAdd):
		return "+", shell.StyleGood
	case string(definition.ActionRemove):
		return "-", shell.StyleBad
	}
	return "~", shell.StyleWait
}

// showChanges prints a line for each part, and one for each of its fields.
func (sh Commands) showChanges(changes []client.DefinitionChange) {
	for _, change := range changes {
		sign, look := changeSign(change.Action)
		line := fmt.Sprintf("%s %s %s", sign, change.Kind, shell.OneLine(change.Name))
		note := shell.OneLine(change.Note)
		if kind := definition.Kind(change.Kind); kind == definition.KindScorer || kind == definition.KindBenchmark {
			line, note = line+" ("+note+")", "" // all that there is to say
		}
		fmt.Fprintln(sh.Out, sh.Paint(sh.OutWidth, look, line))
		for _, f := range change.Fields {
			fmt.Fprintf(sh.Out, "    %s: %s → %s\n", shell.OneLine(f.Field), shell.OrDash(shell.OneLine(f.Before)), shell.OrDash(shell.OneLine(f.After)))
		}
		if note != "" {
			fmt.Fprintln(sh.Out, sh.Paint(sh.OutWidth, shell.StyleDim, "    "+note))
		}
	}
}

func (sh Commands) factoryApplyCommand() *cobra.Command {
	var factory, comment string
	var revision int64
	var yes bool
	cmd := &cobra.Command{
		Use:   "apply DIR",
		Short: "Make a factory match a folder, all or nothing; create it if it does not exist",
		Args:  shell.Needs(1, 1, folderArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			req := client.DefinitionRequest{Files: files, Comment: comment, IfRevision: revision}
			var done *client.DefinitionApplied
			if uid != "" && !yes && sh.Asks() {
				if err := sh.confirmApply(cmd.Context(), c, uid, &req); err != nil {
					return err
				}
			}
			if uid == "" {
				done, err = sh.applyNew(cmd.Context(), c, d, req)
			} else {
				done, err = c.Definitions.Apply(cmd.Context(), uid, req)
			}
			if err != nil {
				return err
			}
			return sh.showApplied(done)
		},
	}
	folderFactoryFlag(cmd, &factory)
	cmd.Flags().StringVar(&comment, "comment", "", "`TEXT` that says what the change is about")
	shell.YesFlag(cmd, &yes)
	cmd.Flags().Int64Var(&revision, "if-revision", 0, "only if the definition is still at this `NUMBER`, which plan -o json shows")
	return cmd
}

// planNew compares the folder of a factory that does not exist yet with the server. A server
// of the previous version cannot do that; its first apply does.
func planNew(ctx context.Context, c *client.Client, files map[string]string) (*client.DefinitionPlan, error) {
	plan, err := c.Definitions.PlanFiles(ctx, files)
	if client.IsNotFound(err) {
		return &client.DefinitionPlan{}, nil
	}
	return plan, err
}

// applyNew makes a factory and applies its folder; if that fails the factory goes again.
func (sh Commands) applyNew(ctx context.Context, c *client.Client, d *definition.Definition, req client.DefinitionRequest) (*client.DefinitionApplied, error) {
	// First of all, so that a folder with mistakes makes no factory.
	plan, err := planNew(ctx, c, req.Files)
	if err != nil {
		return nil, err
	}
	made, err := c.Factories.Create(ctx, client.FactoryRequest{Name: d.Factory.Name, Alias: d.Factory.Alias, Description: d.Factory.Description})
	if err != nil {
		return nil, err
	}
	done, err := c.Definitions.Apply(ctx, made.UID, req)
	if err != nil {
		if undo := c.Factories.Delete(context.WithoutCancel(ctx), made.UID); undo != nil {
			fmt.Fprintf(sh.Err, "-- factory %s was created and could not be removed again: %v\n", made.UID, undo)
		}
		return nil, err
	}
	fmt.Fprintf(sh.Err, "-- factory %q created as revision %d, still empty: %s\n", shell.OneLine(made.Name), made.Revision, shell.OneLine(made.UID))
	if len(plan.Changes) > 0 {
		done.Changes = plan.Changes // not what differs from the factory as it was for a moment
	}
	return done, nil
}

func (sh Commands) showApplied(done *client.DefinitionApplied) error {
	if !sh.ForPeople() {
		return sh.Document(done)
	}
	sh.showChanges(done.Changes)
	sh.showNotices(done.Notices)
	if !done.Changed {
		fmt.Fprintf(sh.Err, "-- nothing to do: the factory is at revision %d already\n", done.Revision)
		return nil
	}
	fmt.Fprintf(sh.Err, "-- applied as revision %d\n", done.Revision)
	return nil
}

func (sh Commands) factoryDriftCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:   "drift DIR",
		Short: "Check whether a factory still matches a folder; exit 1 if not",
		Args:  shell.Needs(1, 1, folderArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			if uid == "" {
				if _, err := planNew(cmd.Context(), c, files); err != nil {
					return err
				}
				return shell.NotFound(fmt.Sprintf("there is no factory %q", shell.OneLine(d.Factory.Name)),
					"`lineshaft factory apply "+args[0]+"` creates it.")
			}
			plan, err := c.Definitions.Drift(cmd.Context(), uid, files)
			if err != nil {
				return err
			}
			if err := sh.showPlan(plan, "-- no drift"); err != nil {
				return err
			}
			if len(plan.Changes) > 0 {
				return shell.Failure(nil, fmt.Sprintf("the factory differs from %s in %s", args[0], shell.Count(len(plan.Changes), "part")),
					"`lineshaft factory apply` makes it match the folder; `lineshaft factory export` writes it as a folder.")
			}
			return nil
		},
	}
	folderFactoryFlag(cmd, &factory)
	return cmd
}

func (sh Commands) factoryExportCommand() *cobra.Command {
	var factory string
	var revision int64
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write a factory as a folder of files",
		Args:  shell.Needs(1, 1, "a folder that is empty or does not exist yet"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.InFactory(cmd.Context(), factory)
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
			if err := writeFolder(args[0], definition.Files(out.Files), overwrite, "; --overwrite replaces files in it"); err != nil {
				return err
			}
			return sh.Show(out, func() {
				fmt.Fprintf(sh.Err, "-- revision %d written to %s: %s\n", out.Revision, args[0], shell.Count(len(out.Files), "file"))
			})
		},
	}
	cmd.Flags().StringVar(&factory, "factory", "", "`FACTORY` by uid, alias or name (default: the only one)")
	cmd.Flags().Int64Var(&revision, "revision", 0, "an earlier one, by its `NUMBER`")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "write into a folder that is not empty")
	return cmd
}

func (sh Commands) factoryRevisionsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "revisions [FACTORY]",
		Short: "List the revisions of a factory's definition, newest first",
		Args:  shell.Needs(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return shell.Usage(fmt.Sprintf("--limit %d is less than one", limit), "Say how many to show.")
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
			return shell.Listing[client.DefinitionRevision]{
				Key: "revisions", None: "no revisions yet; the next change creates one", Head: []string{"NUMBER", "SOURCE", "BY", "MADE", "ABOUT"},
				Row: func(r *client.DefinitionRevision) []shell.Cell {
					about := r.Comment
					if r.Commit != "" {
						about = shell.Clip(r.Commit, 12) + " " + about
					}
					return shell.Cells(r.Number, r.Source, r.Actor.DisplayName, sh.When(r.CreatedAt), shell.OrDash(about))
				},
			}.Show(sh.Shell, list, nil)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "show at most this `NUMBER`")
	return cmd
}

func (sh Commands) factoryRollbackCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "rollback FACTORY NUMBER",
		Short: "Apply an earlier revision of a factory's definition again, as a new one",
		Args:  shell.Needs(2, 2, "a factory and the number of a revision (`lineshaft factory revisions FACTORY` shows them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || number < 1 {
				return shell.Usage(fmt.Sprintf("%q is not a revision number", args[1]),
					"`lineshaft factory revisions "+args[0]+"` shows them.")
			}
			c, uid, err := sh.thisFactory(cmd, args[:1])
			if err != nil {
				return err
			}
			if !yes && sh.Asks() {
				if err := sh.confirmRollback(cmd.Context(), c, uid, number); err != nil {
					return err
				}
			}
			return shell.Shown(sh.showApplied)(c.Definitions.Rollback(cmd.Context(), uid, number))
		},
	}
	shell.YesFlag(cmd, &yes)
	return cmd
}
