package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) agentGetCommand() *cobra.Command {
	var factory string
	cmd := &cobra.Command{
		Use:     "get AGENT",
		Short:   "Show an agent with its configuration and its prompt",
		Args:    needs(1, 1, agentRefs),
		Example: example("lineshaft agent get reviewer --factory shop", "by name or uid", "lineshaft agent get reviewer -o json", "everything about it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, uid, err := sh.thisAgent(cmd.Context(), factory, args[0])
			if err != nil {
				return err
			}
			a, err := c.Agents.Get(cmd.Context(), uid)
			if err != nil {
				return err
			}
			return sh.showAgent(a)
		},
	}
	agentsFlag(cmd, &factory, "the `FACTORY` it belongs to, where several have that name")
	return cmd
}

func (sh *shell) showAgent(a *client.Agent) error {
	if !sh.forPeople() {
		return sh.document(a)
	}
	list := [][2]string{
		{"Agent", oneLine(a.UID)}, {"Name", oneLine(a.Name)}, {"Type", strings.ToLower(oneLine(a.AgentType))}, {"Factory", orDash(oneLine(a.FactoryUID))},
	}
	var secrets []string
	for _, s := range a.Secrets {
		secrets = append(secrets, s.Name)
	}
	harness := ""
	if a.Harness != nil {
		harness = strings.TrimSpace(a.Harness.Type + " " + a.Harness.ModelID)
	}
	for _, pair := range [][2]string{
		{"Description", a.Description},
		{"Model", a.BaseModel},
		{"Harness", harness},
		{"Environment", a.EnvironmentID},
		{"Runner", a.DefaultRunnerUID},
		{"Host", a.WorkerHost},
		{"Secrets", strings.Join(secrets, ", ")},
		{"Skills", strings.Join(a.Skills, ", ")},
		{"Tools", strings.Join(slices.Sorted(maps.Keys(a.MCPServers)), ", ")},
	} {
		if pair[1] != "" {
			list = append(list, [2]string{pair[0], oneLine(pair[1])})
		}
	}
	sh.pairs(append(list, [2]string{"Created", sh.when(a.CreatedAt)}, [2]string{"Updated", sh.when(a.UpdatedAt)}))
	if a.Prompt != "" {
		fmt.Fprintf(sh.out, "\n%s\n", strings.TrimRight(clean(a.Prompt), "\n"))
	}
	return nil
}
