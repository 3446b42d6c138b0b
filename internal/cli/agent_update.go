package cli

import (
	"reflect"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) agentUpdateCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "update AGENT",
		Short: "Change an agent: its part, prompt, model, secrets, skills or name",
		Long: "Change an agent for its runs from now on; what is not given stays, an empty value takes it away. Secrets\n" +
			"and skills that are given replace those before. `--type foreman` takes that part from the agent that has it.",
		Args: needs(1, 1, agentRefs),
		Example: example(
			"lineshaft agent update reviewer --factory shop --prompt-file reviewer.md", "another prompt",
			"lineshaft agent update reviewer --type foreman", "it gets the work that names no agent",
			`lineshaft agent update reviewer --secret ""`, "no secrets",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := f.change(cmd, sh)
			if err != nil {
				return err
			}
			c, uid, err := sh.thisAgent(cmd.Context(), f.factory, args[0])
			if err != nil {
				return err
			}
			changed, err := c.Agents.Update(cmd.Context(), uid, change)
			if err != nil {
				return err
			}
			return sh.showAgent(changed)
		},
	}
	agentsFlag(cmd, &f.factory, "the `FACTORY` it belongs to, where several have that name")
	cmd.Flags().StringVar(&f.req.Name, "name", "", "new `NAME`")
	f.add(cmd)
	return cmd
}

// change is what the flags say about an agent that exists.
func (f *agentFlags) change(cmd *cobra.Command, sh *shell) (client.AgentUpdate, error) {
	var change client.AgentUpdate
	if err := f.check(sh); err != nil {
		return change, err
	}
	for flag, field := range map[string]struct {
		to    **string
		value string
	}{
		"name": {&change.Name, f.req.Name}, "type": {&change.AgentType, f.req.AgentType}, "description": {&change.Description, f.req.Description},
		"prompt": {&change.Prompt, f.req.Prompt}, "prompt-file": {&change.Prompt, f.req.Prompt}, "model": {&change.BaseModel, f.req.BaseModel},
		"environment": {&change.EnvironmentID, f.req.EnvironmentID}, "host": {&change.WorkerHost, f.req.WorkerHost},
	} {
		ifChanged(cmd, flag, field.to, field.value)
	}
	secrets, skills := f.lists()
	ifChanged(cmd, "secret", &change.Secrets, secrets)
	ifChanged(cmd, "skill", &change.Skills, skills)
	if reflect.ValueOf(change).IsZero() {
		return change, usage("there is nothing to change", "Give --prompt, --model, --secret or another flag; see `lineshaft agent update --help`.")
	}
	return change, nil
}
