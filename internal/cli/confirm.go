package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// yesFlag adds the flag of commands that ask before they change or delete what cannot be had again.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask; without a terminal nothing is asked anyway")
}

// asks says that there is a person who can be asked. A pipe, and a script whose remarks
// go into a file, are not.
func (sh *shell) asks() bool { return sh.terminalIn() != nil && sh.errWidth > 0 }

// confirm asks the person in front of the terminal; anything but a yes is a no.
func (sh *shell) confirm(ctx context.Context, question string) error {
	fmt.Fprintf(sh.err, "%s [y/N]: ", clean(question))
	typed, err := readLine(ctx, bufio.NewReader(sh.terminalIn()))
	if answer := strings.ToLower(strings.TrimSpace(typed)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	if err != nil {
		fmt.Fprintln(sh.err) // the answer has not ended the line
	}
	return failure(err, "nothing was changed", "Answer y, or call it with --yes.")
}

// confirmApply shows what a folder takes away from a factory and asks. What was shown is
// what is done: a change in between is refused by the revision.
func (sh *shell) confirmApply(ctx context.Context, c *client.Client, uid string, req *client.DefinitionRequest) error {
	plan, err := c.Definitions.Plan(ctx, uid, req.Files)
	if err != nil {
		return err
	}
	var removed []client.DefinitionChange
	for _, change := range plan.Changes {
		if change.Action == string(definition.ActionRemove) {
			removed = append(removed, change)
		}
	}
	if len(removed) == 0 {
		return nil
	}
	fmt.Fprintln(sh.err, "The folder does not have these, which the factory has:")
	for _, change := range removed {
		fmt.Fprintln(sh.err, sh.paint(sh.errWidth, styleBad, fmt.Sprintf("- %s %s", change.Kind, oneLine(change.Name))))
	}
	if err := sh.confirm(ctx, "Delete them? Secrets of webhooks cannot be had again."); err != nil {
		return err
	}
	if req.IfRevision == 0 {
		req.IfRevision = plan.Revision
	}
	return nil
}

// confirmRollback shows all that an earlier revision changes: nobody has its files before
// them, as those who apply a folder have. What changes nothing is not asked for.
func (sh *shell) confirmRollback(ctx context.Context, c *client.Client, uid string, number int64) error {
	earlier, err := c.Definitions.Revision(ctx, uid, number)
	if err != nil {
		return err
	}
	plan, err := c.Definitions.Plan(ctx, uid, earlier.Files)
	if err != nil || len(plan.Changes) == 0 {
		return err
	}
	fmt.Fprintf(sh.err, "Revision %d changes these parts of the factory:\n", number)
	question := "Apply it again?"
	for _, change := range plan.Changes {
		sign, look := changeSign(change.Action)
		if change.Action == string(definition.ActionRemove) {
			question = "Apply it again, and delete what it does not have? Secrets of webhooks cannot be had again."
		}
		fmt.Fprintln(sh.err, sh.paint(sh.errWidth, look, fmt.Sprintf("%s %s %s", sign, change.Kind, oneLine(change.Name))))
	}
	return sh.confirm(ctx, question)
}
