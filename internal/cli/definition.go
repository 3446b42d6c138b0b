package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// definitionCommands handle factories as folders of files.
func (sh *shell) definitionCommands() []*cobra.Command {
	return []*cobra.Command{
		sh.factoryInitCommand(), sh.factoryValidateCommand(), sh.factoryPlanCommand(), sh.factoryApplyCommand(), sh.factoryDriftCommand(),
		sh.factoryExportCommand(), sh.factoryRevisionsCommand(), sh.factoryRollbackCommand(),
		sh.factoryLinkCommand(), sh.factoryUnlinkCommand(), sh.factorySyncCommand(),
	}
}

const folderArgument = "the folder of a factory, such as . (`lineshaft factory init DIR` writes one)"

func (sh *shell) factoryInitCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a folder with an example of a factory, ready to be applied",
		Args:  needs(1, 1, "a folder that is empty or not there yet"),
		Example: example(
			"lineshaft factory init shop", "a foreman and an automation in ./shop",
			`lineshaft factory init . --name "Web shop"`, "here",
		),
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
				return usage(fmt.Sprintf("%q cannot be the name of a factory: %s", name, problems[0].Message), "Give another with --name.")
			}
			if err := writeFolder(dir, files, false, ""); err != nil {
				return err
			}
			fmt.Fprintf(sh.err, "-- %s written to %s; next: lineshaft factory plan %s\n", count(len(files), "file"), dir, dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the factory (default: that of the folder)")
	return cmd
}

func (sh *shell) factoryValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate DIR",
		Short: "Find every mistake in the folder of a factory, without a server",
		Args:  needs(1, 1, folderArgument),
		Example: example(
			"lineshaft factory validate shop", "file:line:column of each mistake; exit 1 if there is one",
			"lineshaft factory validate . -o json", "for programs",
		),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := readFolder(args[0])
			if err != nil {
				return err
			}
			d, problems := definition.Parse(folder)
			found := client.DefinitionValidation{Valid: len(problems) == 0, Problems: wireProblems(problems), Unused: d.Unused, Notices: wireProblems(d.Notices)}
			if !sh.forPeople() {
				if err := documents(sh, found, found.Problems); err != nil {
					return err
				}
			} else {
				sh.showProblems(found.Problems)
			}
			if !found.Valid {
				return &hintError{code: exitFailed, message: count(len(problems), "mistake") + " in " + args[0], hint: "Nothing was sent to a server."}
			}
			sh.noteUnused(found.Unused)
			sh.showNotices(found.Notices)
			fmt.Fprintf(sh.err, "-- %s is valid\n", args[0])
			return nil
		},
	}
}

// showProblems prints mistakes as compilers do, the hint on a line of its own.
func (sh *shell) showProblems(problems []client.FileProblem) {
	for _, p := range problems {
		hint := p.Hint
		p.Hint = ""
		fmt.Fprintln(sh.out, oneLine(p.String()))
		if hint != "" {
			fmt.Fprintln(sh.out, sh.paint(sh.outWidth, styleDim, "    "+oneLine(hint)))
		}
	}
}

// wireProblems are problems as the API shows them.
func wireProblems(problems []lineshaft.FileProblem) []client.FileProblem {
	list := []client.FileProblem{}
	for _, p := range problems {
		list = append(list, client.FileProblem(p))
	}
	return list
}

// showNotices prints what is no mistake but should be known.
func (sh *shell) showNotices(notices []client.FileProblem) {
	for _, n := range notices {
		fmt.Fprintf(sh.err, "-- %s\n", oneLine(n.String()))
	}
}

func (sh *shell) noteUnused(files []string) {
	for _, file := range files {
		fmt.Fprintf(sh.err, "-- not used: %s\n", oneLine(file))
	}
}

// readFolder reads the folder of a factory.
func readFolder(dir string) (definition.Files, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, usage(fmt.Sprintf("%s is not a folder", dir), "Give the folder that factory.yaml is in; `lineshaft factory init DIR` writes one.")
	}
	files, err := definition.ReadFS(os.DirFS(dir))
	if ours, ok := errors.AsType[*lineshaft.Error](err); ok {
		return nil, failure(err, ours.Message, "Give the folder that factory.yaml is in.")
	}
	if err != nil {
		return nil, failure(err, fmt.Sprintf("cannot read %s: %v", dir, err), "Check that you may read all of it.")
	}
	return files, nil
}

// writeFolder writes files below a folder. Unless it may overwrite, the folder has to
// be empty; more says what else one can do.
func writeFolder(dir string, files definition.Files, overwrite bool, more string) error {
	if there, err := os.ReadDir(dir); err == nil && len(there) > 0 && !overwrite {
		hint := "Give another folder, or one that is not there yet" + more + "."
		return usage(fmt.Sprintf("%s is not empty", dir), hint)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failure(err, fmt.Sprintf("cannot make the folder: %v", err), "Check the path and that you may write there.")
	}
	// A path of the server must not lead out of the folder, by whatever is there.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return failure(err, fmt.Sprintf("cannot write %s: %v", oneLine(name), err), "Check that you may write there.")
		}
		if err := root.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return failure(err, fmt.Sprintf("cannot write %s: %v", oneLine(name), err), "Check that you may write there.")
		}
	}
	return nil
}

// folderOf reads a folder and finds its factory on the server: the one that is named,
// else the one with the folder's alias or name. uid is empty when there is none.
func (sh *shell) folderOf(ctx context.Context, dir, ref string) (c *client.Client, uid string, d *definition.Definition, files definition.Files, err error) {
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
func (sh *shell) factoryOf(ctx context.Context, d *definition.Definition, ref string) (c *client.Client, uid string, err error) {
	if c, err = sh.connect(ctx); err != nil {
		return nil, "", err
	}
	if ref != "" {
		uid, err = sh.factoryUID(ctx, c, ref)
		return c, uid, err
	}
	// Aliases are compared with aliases and names with names: what has the one as the other
	// is another factory, and applying the folder would undo it.
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
	return "", severalFactories(found, value)
}

// mistakes shows what is wrong with a folder before anything is sent.
func (sh *shell) mistakes(dir string, problems []lineshaft.FileProblem) error {
	list := wireProblems(problems)
	return &hintError{code: exitFailed, message: count(len(list), "mistake") + " in " + dir + ":\n" + problemLines(list), hint: "Nothing was changed. Fix these and try again."}
}

// problemLines are what a message shows of problems.
func problemLines(problems []client.FileProblem) string {
	const most = 20
	var lines []string
	for _, p := range problems[:min(most, len(problems))] {
		lines = append(lines, oneLine(p.String()))
	}
	if len(problems) > most {
		lines = append(lines, fmt.Sprintf("and %d more", len(problems)-most))
	}
	return strings.Join(lines, "\n")
}
