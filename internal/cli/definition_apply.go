package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/definition"
)

func (sh *shell) factoryPlanCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:   "plan DIR",
		Short: "Show what applying a folder would add, change and remove",
		Long: "Show what applying a folder would add, change and remove. For each automation whose triggers change, the\n" +
			"stored deliveries tell how many would newly start a run, and how many would not any more.",
		Args: needs(1, 1, folderArgument),
		Example: example(
			"lineshaft factory plan shop", "the factory with the folder's alias or name",
			"lineshaft factory plan . --factory staging -o json", "another one, for programs",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			if uid == "" {
				plan, err := c.Definitions.PlanFiles(cmd.Context(), files)
				if err != nil {
					return err
				}
				return sh.showPlan(plan, fmt.Sprintf("-- there is no factory %q yet; apply makes it", oneLine(d.Factory.Name)))
			}
			plan, err := c.Definitions.Plan(cmd.Context(), uid, files)
			if err != nil {
				return err
			}
			return sh.showPlan(plan, "-- nothing to do: the factory is what the folder says")
		},
	}
	folderFactoryFlag(cmd, &factory)
	return cmd
}

func folderFactoryFlag(cmd *cobra.Command, ref *string) {
	cmd.Flags().StringVar(ref, "factory", "", "`FACTORY` by uid, alias or name (default: the one with the folder's alias or name)")
}

func (sh *shell) showPlan(plan *client.DefinitionPlan, note string) error {
	if !sh.forPeople() {
		return sh.document(plan)
	}
	sh.showChanges(plan.Changes)
	for _, b := range plan.Backtests {
		more := ""
		if b.Truncated {
			more = ", the newest that are stored"
		}
		fmt.Fprintf(sh.out, "  automation %s: of %s%s %d would newly start a run, %d would not any more\n",
			oneLine(b.Automation), deliveries(b.Deliveries), more, b.Starts, b.Stops)
	}
	sh.showNotices(plan.Notices)
	if len(plan.Changes) == 0 || plan.Revision == 0 {
		fmt.Fprintln(sh.err, note)
	}
	return nil
}

func deliveries(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprint(n, " deliveries")
}

// changeSign is a picture of what happens to a part.
func changeSign(action string) (sign string, look style) {
	switch action {
	case string(definition.ActionAdd):
		return "+", styleGood
	case string(definition.ActionRemove):
		return "-", styleBad
	}
	return "~", styleWait
}

// showChanges prints a line for each part, and one for each of its fields.
func (sh *shell) showChanges(changes []client.DefinitionChange) {
	for _, change := range changes {
		sign, look := changeSign(change.Action)
		line := fmt.Sprintf("%s %s %s", sign, change.Kind, oneLine(change.Name))
		note := oneLine(change.Note)
		if kind := definition.Kind(change.Kind); kind == definition.KindScorer || kind == definition.KindBenchmark {
			line, note = line+" ("+note+")", "" // all that there is to say
		}
		fmt.Fprintln(sh.out, sh.paint(sh.outWidth, look, line))
		for _, f := range change.Fields {
			fmt.Fprintf(sh.out, "    %s: %s → %s\n", oneLine(f.Field), orDash(oneLine(f.Before)), orDash(oneLine(f.After)))
		}
		if note != "" {
			fmt.Fprintln(sh.out, sh.paint(sh.outWidth, styleDim, "    "+note))
		}
	}
}

func (sh *shell) factoryApplyCommand() *cobra.Command {
	var factory, comment string
	var revision int64
	var yes bool
	cmd := &cobra.Command{
		Use:   "apply DIR",
		Short: "Make a factory what a folder says, all or nothing; a new one if there is none",
		Long: "Make a factory what a folder says, all or nothing; a new one if there is none. What the folder does not have is\n" +
			"deleted, also what was made by hand. On a terminal that is shown and asked for first; a script is not asked.",
		Args: needs(1, 1, folderArgument),
		Example: example(
			"lineshaft factory apply shop", "the factory with the folder's alias or name",
			`lineshaft factory apply . --factory shop --comment "quieter triage"`, "the comment is shown with the revision",
			"lineshaft factory apply . --if-revision 12", "not if somebody has changed it since that plan",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			req := client.DefinitionRequest{Files: files, Comment: comment, IfRevision: revision}
			var done *client.DefinitionApplied
			if uid != "" && !yes && sh.asks() {
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
	cmd.Flags().StringVar(&comment, "comment", "", "what the change is about, as `TEXT`")
	yesFlag(cmd, &yes)
	cmd.Flags().Int64Var(&revision, "if-revision", 0, "only if the definition is still of this `NUMBER`, which plan -o json shows")
	return cmd
}

// applyNew makes a factory and applies its folder; if that fails the factory goes again.
func (sh *shell) applyNew(ctx context.Context, c *client.Client, d *definition.Definition, req client.DefinitionRequest) (*client.DefinitionApplied, error) {
	// First of all, so that a folder with mistakes makes no factory.
	plan, err := c.Definitions.PlanFiles(ctx, req.Files)
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
			fmt.Fprintf(sh.err, "-- factory %s was made and could not be removed again: %v\n", made.UID, undo)
		}
		return nil, err
	}
	fmt.Fprintf(sh.err, "-- factory %q made: %s\n", oneLine(made.Name), oneLine(made.UID))
	done.Changes = plan.Changes // not what differs from the factory as it was for a moment
	return done, nil
}

func (sh *shell) showApplied(done *client.DefinitionApplied) error {
	if !sh.forPeople() {
		return sh.document(done)
	}
	sh.showChanges(done.Changes)
	sh.showNotices(done.Notices)
	if !done.Changed {
		fmt.Fprintf(sh.err, "-- nothing to do: the factory is at revision %d already\n", done.Revision)
		return nil
	}
	fmt.Fprintf(sh.err, "-- applied as revision %d\n", done.Revision)
	return nil
}

func (sh *shell) factoryDriftCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:   "drift DIR",
		Short: "Tell whether a factory still is what a folder says; exit 1 if not",
		Args:  needs(1, 1, folderArgument),
		Example: example(
			"lineshaft factory drift shop", "the changes that apply would undo",
			"lineshaft factory drift shop -o json || echo changed", "in a script",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, d, files, err := sh.folderOf(cmd.Context(), args[0], factory)
			if err != nil {
				return err
			}
			if uid == "" {
				if _, err := c.Definitions.PlanFiles(cmd.Context(), files); err != nil {
					return err
				}
				return &hintError{code: exitNotFound, message: fmt.Sprintf("there is no factory %q", oneLine(d.Factory.Name)), hint: "`lineshaft factory apply " + args[0] + "` makes it."}
			}
			plan, err := c.Definitions.Drift(cmd.Context(), uid, files)
			if err != nil {
				return err
			}
			if err := sh.showPlan(plan, "-- no drift"); err != nil {
				return err
			}
			if len(plan.Changes) > 0 {
				return &hintError{
					code: exitFailed, message: fmt.Sprintf("the factory differs from %s in %s", args[0], count(len(plan.Changes), "part")),
					hint: "`lineshaft factory apply` makes it what the folder says; `lineshaft factory export` writes it as a folder.",
				}
			}
			return nil
		},
	}
	folderFactoryFlag(cmd, &factory)
	return cmd
}
