package factories

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func (sh Commands) automationUpdateCommand(factory *string) *cobra.Command {
	var f automationFlags
	cmd := &cobra.Command{
		Use:   "update AUTOMATION",
		Short: "Change an automation: its prompt, title, filter, webhooks, secrets, limits or name",
		Args:  shell.Needs(1, 1, automationRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := f.change(cmd, sh)
			if err != nil {
				return err
			}
			payload, err := sh.JSONOrFile("filter", f.filter)
			if err != nil {
				return err
			}
			c, uid, err := sh.InFactory(cmd.Context(), *factory)
			if err != nil {
				return err
			}
			found, err := sh.automationUID(cmd.Context(), c, uid, args[0])
			if err != nil {
				return err
			}
			if err := f.complete(cmd, c, [2]string{uid, found}, payload, &change); err != nil {
				return err
			}
			changed, err := c.Automations.Update(cmd.Context(), uid, found, change)
			if err != nil {
				return err
			}
			return sh.showAutomation(cmd.Context(), c, changed)
		},
	}
	cmd.Flags().StringVar(&f.req.Name, "name", "", "new `NAME`")
	f.add(cmd)
	return cmd
}

// change is what the flags say by themselves.
func (f *automationFlags) change(cmd *cobra.Command, sh Commands) (client.AutomationUpdate, error) {
	var change client.AutomationUpdate
	if f.promptFile != "" {
		if f.req.Prompt != "" {
			return change, shell.Usage("an automation has one prompt", "Give --prompt TEXT or --prompt-file FILE, not both.")
		}
		text, err := sh.TextFile(f.promptFile)
		if err != nil {
			return change, err
		}
		change.Prompt = &text
	}
	f.set(cmd, &change)
	if reflect.ValueOf(change).IsZero() && !shell.AnyChanged(cmd, "webhook", "filter", "concurrency-key", "concurrency-policy", "secret") {
		return change, shell.Usage("there is nothing to change",
			"Give --prompt, --filter, --webhook, --secret or another flag; see `lineshaft automation update --help`.")
	}
	return change, f.check()
}

// complete adds what the server replaces as a whole: the triggers, the configuration
// and the rule of concurrency, which the flags change in part.
func (f *automationFlags) complete(cmd *cobra.Command, c *client.Client, at [2]string, payload json.RawMessage, change *client.AutomationUpdate) error {
	if !shell.AnyChanged(cmd, "webhook", "filter", "concurrency-key", "concurrency-policy", "secret") {
		return nil
	}
	is, err := c.Automations.Get(cmd.Context(), at[0], at[1])
	if err != nil {
		return err
	}
	if shell.AnyChanged(cmd, "webhook", "filter") {
		if change.Triggers, err = f.triggers(cmd, c, is, payload); err != nil {
			return err
		}
	}
	if shell.AnyChanged(cmd, "concurrency-key", "concurrency-policy") {
		if change.Concurrency, err = f.rule(cmd, is.Concurrency); err != nil {
			return err
		}
	}
	if shell.AnyChanged(cmd, "secret") {
		cfg := client.AgentConfig{}
		if is.Config != nil {
			cfg = *is.Config
		}
		cfg.Secrets = shell.SecretRefs(f.secrets)
		change.Config = &cfg
	}
	return nil
}

// triggers is the one trigger with what the flags change of it.
func (f *automationFlags) triggers(cmd *cobra.Command, c *client.Client, is *client.Automation, payload json.RawMessage) ([]client.Trigger, error) {
	if len(is.Triggers) != 1 {
		return nil, shell.Usage(fmt.Sprintf("the automation has %s, but --webhook and --filter can only change one", shell.Count(len(is.Triggers), "trigger")),
			"Change them over HTTP: PATCH /factory/{uid}/automations/{uid} with all triggers; see docs/factories.md.")
	}
	trigger := is.Triggers[0]
	if cmd.Flags().Changed("webhook") {
		there, err := webhooksOf(cmd.Context(), c, is.FactoryUID)
		if err != nil {
			return nil, err
		}
		if err := there.name(&trigger.Filter, f.webhooks, is.FactoryUID); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("filter") {
		trigger.Filter.Payload = payload
	}
	return []client.Trigger{trigger}, nil
}

// rule is the rule of concurrency with what the flags change of it.
func (f *automationFlags) rule(cmd *cobra.Command, is *client.Concurrency) (*client.Concurrency, error) {
	var rule client.Concurrency
	if is != nil {
		rule = *is
	}
	if cmd.Flags().Changed("concurrency-key") {
		rule.Key = f.concurrency.Key
	}
	if cmd.Flags().Changed("concurrency-policy") {
		rule.Policy = f.concurrency.Policy
	}
	switch {
	case rule.Key == "" && f.concurrency.Policy != "":
		return nil, shell.Usage("--concurrency-policy says what happens when a key is taken, but there is no key",
			"Add --concurrency-key KEY.")
	case rule.Key == "":
		rule.Policy = "" // it goes with the key
	}
	return &rule, nil
}
