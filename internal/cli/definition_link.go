package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) factoryLinkCommand() *cobra.Command {
	var source client.RepositorySource
	cmd := &cobra.Command{
		Use:   "link FACTORY URL",
		Short: "Let a factory follow a folder of a Git repository",
		Long: "Let a factory follow a folder of a Git repository: what lands on the branch is applied, and the factory is\n" +
			"changed there only. A definition with mistakes is not applied; `lineshaft factory get` shows them.",
		Args: needs(2, 2, "a factory and the URL of a repository"),
		Example: example(
			"lineshaft factory link shop https://git.example/acme/factories.git --path shop", "the default branch",
			"lineshaft factory link shop ssh://git@git.example/acme/factories.git --branch production", "another branch",
		),
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
	cmd.Flags().StringVar(&source.Path, "path", "", "`FOLDER` of the definition in the repository (default: its root)")
	return cmd
}

func (sh *shell) factoryUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "unlink FACTORY",
		Short:   "Let a factory follow no repository any more; it stays as it is",
		Args:    needs(1, 1, "a factory (`lineshaft factory list` shows them)"),
		Example: example("lineshaft factory unlink shop", "it can be changed here again"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			f, err := c.Factories.Unlink(cmd.Context(), uid)
			if err != nil {
				return err
			}
			return sh.showFactory(f)
		},
	}
}

func (sh *shell) factorySyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sync [FACTORY]",
		Short: "Look at the repository of a factory now, and apply what is there",
		Args:  needs(0, 1, ""),
		Example: example(
			"lineshaft factory sync shop", "after a push, if you do not want to wait; exit 1 if it is not in force",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.thisFactory(cmd, args)
			if err != nil {
				return err
			}
			return sh.sync(cmd.Context(), c, uid)
		},
	}
}

// sync shows what became of a factory's repository, and fails if it is not in force.
func (sh *shell) sync(ctx context.Context, c *client.Client, uid string) error {
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
		return &hintError{code: exitFailed, message: oneLine(f.Repository.Fault), hint: "The definition that it has stays in force, and the repository is tried again; `lineshaft factory unlink` ends that."}
	}
	if n := len(f.Repository.Problems); n > 0 {
		return &hintError{code: exitFailed, message: count(n, "mistake") + " in the repository:\n" + problemLines(f.Repository.Problems), hint: "The definition that it has stays in force. Fix these; they are looked at again with the next push or `lineshaft factory sync`."}
	}
	return nil
}

// repositoryPairs tell how far a factory has followed its repository.
func (sh *shell) repositoryPairs(r *client.FactoryRepository) [][2]string {
	if r == nil {
		return nil
	}
	list := [][2]string{
		{"Repository", oneLine(r.URL)},
		{"Branch", oneLine(r.Branch)},
		{"Path", oneLine(r.Path)},
		{"In force", orDash(oneLine(r.AppliedCommit))},
	}
	if r.SeenCommit != r.AppliedCommit {
		list = append(list, [2]string{"Newest", oneLine(r.SeenCommit)})
	}
	for _, at := range []struct {
		name string
		time *time.Time
	}{{"Applied", r.AppliedAt}, {"Checked", r.CheckedAt}} {
		if at.time != nil {
			list = append(list, [2]string{at.name, sh.when(*at.time)})
		}
	}
	if r.Fault != "" {
		list = append(list, [2]string{"Fault", oneLine(r.Fault)})
	}
	for i, p := range r.Problems {
		name := ""
		if i == 0 {
			name = "Problems"
		}
		list = append(list, [2]string{name, fmt.Sprint(oneLine(p.String()))})
	}
	return list
}
