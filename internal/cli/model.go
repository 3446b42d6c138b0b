package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Aliases: []string{"models"},
		Short:   "List the language models and agent programs that the server can run",
		Example: example("lineshaft model list", "what --model and --harness can name"),
	}
	cmd.AddCommand(sh.modelListCommand())
	group(cmd)
	return cmd
}

func (sh *shell) modelListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the models and harnesses, and what is missing for those that cannot be used",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft model list", "ids, providers, the default", "lineshaft model list -o json", "for programs"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			models, err := c.Models(cmd.Context())
			if err != nil {
				return err
			}
			if !sh.forPeople() {
				return documents(sh, models, models.Models)
			}
			sh.showModels(models)
			return nil
		}),
	}
}

func (sh *shell) showModels(models *client.Models) {
	state := func(ready bool) cell {
		if ready {
			return cell{"ready", styleGood}
		}
		return cell{"unavailable", styleWait}
	}
	var rows [][]cell
	for _, m := range models.Models {
		mark := ""
		if m.ID == models.DefaultModelID {
			mark = "*"
		}
		rows = append(rows, []cell{plain(mark), plain(oneLine(m.ID)), state(m.DisableReason == ""), plain(oneLine(m.Provider)), plain(oneLine(m.DisplayName + " " + m.DisableReason))})
	}
	if len(rows) == 0 {
		fmt.Fprintln(sh.err, "-- no models; docs/models.md says how to set one up")
	} else {
		sh.table([]string{"", "MODEL", "STATE", "PROVIDER", "ABOUT"}, rows)
		fmt.Fprintln(sh.out)
	}
	rows = nil
	for _, h := range models.Harnesses {
		rows = append(rows, []cell{plain(oneLine(h.Type)), state(h.Available), plain(oneLine(h.Problem))})
	}
	sh.table([]string{"HARNESS", "STATE", "ABOUT"}, rows)
}
