package factories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/find"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/definition"
)

func (sh Commands) definitionCommands() []*cobra.Command {
	return []*cobra.Command{
		sh.factoryInitCommand(), sh.factoryValidateCommand(), sh.factoryPlanCommand(), sh.factoryApplyCommand(), sh.factoryDriftCommand(),
		sh.factoryExportCommand(), sh.factoryRevisionsCommand(), sh.factoryRollbackCommand(),
		sh.factoryLinkCommand(), sh.factoryUnlinkCommand(), sh.factorySyncCommand(),
	}
}

const folderArgument = "the folder of a factory, such as . (`lineshaft factory init DIR` writes one)"

func (sh Commands) factoryInitCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a folder with an example of a factory, ready to be applied",
		Args:  shell.Needs(1, 1, "a folder that is empty or does not exist yet"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			if name == "" {
				whole, err := filepath.Abs(dir)
				if err != nil {
					return fmt.Errorf("find %s: %w", dir, err)
				}
				name = filepath.Base(whole)
			}
			files := definition.Example(name)
			if _, problems := definition.Parse(files); len(problems) > 0 {
				return shell.Usage(fmt.Sprintf("%q cannot be the name of a factory: %s", name, problems[0].Message),
					"Choose another with --name.")
			}
			if err := writeFolder(dir, files, false, ""); err != nil {
				return err
			}
			fmt.Fprintf(sh.Err, "-- %s written to %s; next: lineshaft factory plan %s\n", shell.Count(len(files), "file"), dir, dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the factory (default: the folder's name)")
	return cmd
}

func (sh Commands) factoryValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate DIR",
		Short: "Find every mistake in the folder of a factory, without a server",
		Args:  shell.Needs(1, 1, folderArgument),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := readFolder(args[0])
			if err != nil {
				return err
			}
			d, problems := definition.Parse(folder)
			found := client.DefinitionValidation{Valid: len(problems) == 0, Problems: wireProblems(problems), Unused: d.Unused, Notices: wireProblems(d.Notices)}
			if !sh.ForPeople() {
				if err := shell.Documents(sh.Shell, found, found.Problems); err != nil {
					return err
				}
			} else {
				sh.showProblems(found.Problems)
			}
			if !found.Valid {
				return shell.Failure(nil, shell.Count(len(problems), "mistake")+" in "+args[0], "Nothing was sent to a server.")
			}
			sh.noteUnused(found.Unused)
			sh.showNotices(found.Notices)
			fmt.Fprintf(sh.Err, "-- %s is valid\n", args[0])
			return nil
		},
	}
}

// showProblems prints mistakes as compilers do, the hint on a line of its own.
func (sh Commands) showProblems(problems []client.FileProblem) {
	for _, p := range problems {
		hint := p.Hint
		p.Hint = ""
		fmt.Fprintln(sh.Out, shell.OneLine(p.String()))
		if hint != "" {
			fmt.Fprintln(sh.Out, sh.Paint(sh.OutWidth, shell.StyleDim, "    "+shell.OneLine(hint)))
		}
	}
}

func wireProblems(problems []lineshaft.FileProblem) []client.FileProblem {
	list := []client.FileProblem{}
	for _, p := range problems {
		list = append(list, client.FileProblem(p))
	}
	return list
}

// showNotices prints what is not a mistake but should be known.
func (sh Commands) showNotices(notices []client.FileProblem) {
	for _, n := range notices {
		fmt.Fprintf(sh.Err, "-- %s\n", shell.OneLine(n.String()))
	}
}

func (sh Commands) noteUnused(files []string) {
	for _, file := range files {
		fmt.Fprintf(sh.Err, "-- not used: %s\n", shell.OneLine(file))
	}
}

func readFolder(dir string) (definition.Files, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, shell.Usage(fmt.Sprintf("%s is not a folder", dir),
			"Give the folder that factory.yaml is in; `lineshaft factory init DIR` writes one.")
	}
	files, err := definition.ReadFS(os.DirFS(dir))
	if ours, ok := errors.AsType[*lineshaft.Error](err); ok {
		return nil, shell.Failure(err, ours.Message, "Give the folder that factory.yaml is in.")
	}
	if err != nil {
		return nil, shell.Failure(err, fmt.Sprintf("cannot read %s: %v", dir, err), "Check that you may read all of it.")
	}
	return files, nil
}

// writeFolder writes files below a folder. Unless it may overwrite, the folder must
// be empty; more says what else you can do.
func writeFolder(dir string, files definition.Files, overwrite bool, more string) error {
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 && !overwrite {
		hint := "Choose another folder, or one that does not exist yet" + more + "."
		return shell.Usage(fmt.Sprintf("%s is not empty", dir), hint)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return shell.Failure(err, fmt.Sprintf("cannot create the folder: %v", err), "Check the path and that you may write there.")
	}
	// A path of the server must not lead out of the folder, through any link in it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return shell.Failure(err, fmt.Sprintf("cannot write %s: %v", shell.OneLine(name), err), "Check that you may write there.")
		}
		if err := root.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return shell.Failure(err, fmt.Sprintf("cannot write %s: %v", shell.OneLine(name), err), "Check that you may write there.")
		}
	}
	return nil
}

// folderOf reads a folder and finds its factory on the server: the named one,
// else the one with the folder's alias or name. uid is empty when there is none.
func (sh Commands) folderOf(ctx context.Context, dir, ref string) (c *client.Client, uid string, d *definition.Definition, files definition.Files, err error) {
	if files, err = readFolder(dir); err != nil {
		return nil, "", nil, nil, err
	}
	d, problems := definition.Parse(files)
	c, uid, err = sh.factoryOf(ctx, d, ref)
	if len(problems) > 0 && err != nil {
		return nil, "", nil, nil, sh.mistakes(dir, problems)
	}
	// With mistakes the server is asked all the same: it finds those that only it can find.
	return c, uid, d, files, err
}

// factoryOf finds the factory of a definition on the server; uid is empty when there is none.
func (sh Commands) factoryOf(ctx context.Context, d *definition.Definition, ref string) (c *client.Client, uid string, err error) {
	if c, err = sh.Connect(ctx); err != nil {
		return nil, "", err
	}
	if ref != "" {
		uid, err = sh.FactoryUID(ctx, c, ref)
		return c, uid, err
	}
	// Aliases are compared with aliases and names with names: a factory that has the one as the
	// other is another factory, and applying the folder would undo it.
	uid, err = factoryWith(ctx, c, d.Factory.Alias, func(f client.Factory) string { return f.Alias })
	if uid == "" && err == nil {
		uid, err = factoryWith(ctx, c, d.Factory.Name, func(f client.Factory) string { return f.Name })
	}
	return c, uid, err
}

// factoryWith finds the factory that has a value as its alias or its name; none is "".
func factoryWith(ctx context.Context, c *client.Client, value string, of func(client.Factory) string) (string, error) {
	if value == "" {
		return "", nil
	}
	var found []client.Factory
	for f, err := range c.Factories.All(ctx, client.FactoryQuery{Search: value, Limit: 100}) {
		if err != nil {
			return "", err
		}
		if lineshaft.SameFolded(of(f), value) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].UID, nil
	}
	return "", find.SeveralFactories(found, value)
}

// mistakes shows what is wrong with a folder before anything is sent.
func (sh Commands) mistakes(dir string, problems []lineshaft.FileProblem) error {
	list := wireProblems(problems)
	return shell.Failure(nil, shell.Count(len(list), "mistake")+" in "+dir+":\n"+shell.ProblemLines(list),
		"Nothing was changed. Fix these and try again.")
}

func (sh Commands) factoryLinkCommand() *cobra.Command {
	var source client.RepositorySource
	cmd := &cobra.Command{
		Use:   "link FACTORY URL",
		Short: "Let a factory follow a folder in a Git repository",
		Args:  shell.Needs(2, 2, "a factory and the URL of a repository"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source.URL = args[1]
			c, uid, err := sh.thisFactory(cmd, args[:1])
			if err != nil {
				return err
			}
			if _, err := c.Factories.Link(cmd.Context(), uid, source); err != nil {
				return err
			}
			return sh.sync(cmd.Context(), c, uid)
		},
	}
	cmd.Flags().StringVar(&source.Branch, "branch", "", "`BRANCH` to follow (default: the repository's own)")
	cmd.Flags().StringVar(&source.Path, "path", "", "`FOLDER` in the repository that has the definition (default: its root)")
	return cmd
}

func (sh Commands) factoryUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unlink FACTORY",
		Short: "Unlink a factory from its repository; its definition stays",
		Args:  shell.Needs(1, 1, "a factory (`lineshaft factory list` shows them)"),
		RunE: sh.onFactory(func(ctx context.Context, c *client.Client, uid string) error {
			return shell.Shown(sh.showFactory)(c.Factories.Unlink(ctx, uid))
		}),
	}
}

func (sh Commands) factorySyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sync [FACTORY]",
		Short: "Read a factory's repository now, and apply what is there",
		Args:  shell.Needs(0, 1, ""),
		RunE:  sh.onFactory(sh.sync),
	}
}

// sync shows the state of a factory's repository, and fails if it is not in force.
func (sh Commands) sync(ctx context.Context, c *client.Client, uid string) error {
	f, err := c.Factories.Sync(ctx, uid)
	if err != nil {
		return err
	}
	if err := sh.showFactory(f); err != nil {
		return err
	}
	if f.Repository == nil {
		return nil
	}
	if f.Repository.Fault != "" {
		return shell.Failure(nil, shell.OneLine(f.Repository.Fault),
			"The current definition stays in force, and the server keeps trying to read the repository; `lineshaft factory unlink` stops that.")
	}
	if n := len(f.Repository.Problems); n > 0 {
		return shell.Failure(nil, shell.Count(n, "mistake")+" in the repository:\n"+shell.ProblemLines(f.Repository.Problems),
			"The current definition stays in force. Fix these; the next push or `lineshaft factory sync` checks them again.")
	}
	return nil
}

// repositoryPairs say how far a factory has followed its repository.
func (sh Commands) repositoryPairs(r *client.FactoryRepository) [][2]string {
	if r == nil {
		return nil
	}
	list := [][2]string{
		{"Repository", r.URL},
		{"Branch", r.Branch},
		{"Path", r.Path},
		{"In force", shell.OrDash(r.AppliedCommit)},
	}
	if r.SeenCommit != r.AppliedCommit {
		list = append(list, [2]string{"Newest", r.SeenCommit})
	}
	for _, at := range []struct {
		name string
		time *time.Time
	}{{"Applied", r.AppliedAt}, {"Checked", r.CheckedAt}} {
		if at.time != nil {
			list = append(list, [2]string{at.name, sh.When(*at.time)})
		}
	}
	if r.Fault != "" {
		list = append(list, [2]string{"Fault", r.Fault})
	}
	for i, p := range r.Problems {
		name := ""
		if i == 0 {
			name = "Problems"
		}
		list = append(list, [2]string{name, fmt.Sprint(shell.OneLine(p.String()))})
	}
	return list
}

// confirmApply shows what a folder takes away from a factory and asks. The apply does
// what was shown: a change in between is refused by the revision.
func (sh Commands) confirmApply(ctx context.Context, c *client.Client, uid string, req *client.DefinitionRequest) error {
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
	fmt.Fprintln(sh.Err, "The factory has these, and the folder does not:")
	for _, change := range removed {
		fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, shell.StyleBad, fmt.Sprintf("- %s %s", change.Kind, shell.OneLine(change.Name))))
	}
	if err := sh.Confirm(ctx, "Delete them? Webhook secrets cannot be recovered."); err != nil {
		return err
	}
	req.IfRevision = cmp.Or(req.IfRevision, plan.Revision)
	return nil
}

// confirmRollback shows all that an earlier revision changes: unlike those who apply a folder,
// nobody has its files at hand. A roll-back that changes nothing is not asked about.
func (sh Commands) confirmRollback(ctx context.Context, c *client.Client, uid string, number int64) error {
	earlier, err := c.Definitions.Revision(ctx, uid, number)
	if err != nil {
		return err
	}
	plan, err := c.Definitions.Plan(ctx, uid, earlier.Files)
	if err != nil || len(plan.Changes) == 0 {
		return err
	}
	fmt.Fprintf(sh.Err, "Revision %d changes these parts of the factory:\n", number)
	question := "Apply it again?"
	for _, change := range plan.Changes {
		sign, look := changeSign(change.Action)
		if change.Action == string(definition.ActionRemove) {
			question = "Apply it again, and delete what it does not have? Webhook secrets cannot be recovered."
		}
		fmt.Fprintln(sh.Err, sh.Paint(sh.ErrWidth, look, fmt.Sprintf("%s %s %s", sign, change.Kind, shell.OneLine(change.Name))))
	}
	return sh.Confirm(ctx, question)
}
