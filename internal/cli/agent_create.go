package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// agentFlags are what an agent can be given on the command line.
type agentFlags struct {
	factory, promptFile string
	req                 client.AgentRequest
	secrets, skills     []string
}

func (sh *shell) agentCreateCommand() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an agent; its uid goes to standard output",
		Args:  needs(1, 1, "a name for the agent"),
		Example: example(
			`lineshaft agent create reviewer --factory shop --type review --prompt-file reviewer.md`, "in a factory",
			"lineshaft agent create helper --model m-1 --secret TRACKER_TOKEN", "of the whole team, whose runs get that secret",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(sh, args[0])
			if err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			if f.factory != "" {
				if req.FactoryUID, err = sh.factoryUID(cmd.Context(), c, f.factory); err != nil {
					return err
				}
			}
			made, err := c.Agents.Create(cmd.Context(), req)
			if err != nil {
				return err
			}
			return sh.made(made, made.UID)
		},
	}
	agentsFlag(cmd, &f.factory, "the `FACTORY` it is to belong to, by uid, alias or name (default: none, it is the whole team's)")
	f.add(cmd)
	return cmd
}

func agentTypes() []string {
	return []string{"custom", "foreman", "triage", "spec", "implement", "review", "verify"}
}

// add makes the flags that creating and changing have in common.
func (f *agentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.req.AgentType, "type", "", "`PART` it plays: custom, foreman, triage, spec, implement, review or verify")
	flags.StringVar(&f.req.Prompt, "prompt", "", "what stands before the prompts of its runs, as `TEXT`")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringVar(&f.req.Description, "description", "", "what it is for, as `TEXT`")
	flags.StringVar(&f.req.BaseModel, "model", "", "`ID` of the language model")
	flags.StringVar(&f.req.EnvironmentID, "environment", "", "`ID` of the environment of its runs")
	flags.StringVar(&f.req.WorkerHost, "host", "", "`ID` of the worker of its runs (default: the server's own)")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a managed secret that its runs get as a variable; repeatable")
	flags.StringArrayVar(&f.skills, "skill", nil, "`SKILL` of its runs, such as owner/repo:name; repeatable")
	completeWords(cmd, "type", agentTypes()...)
}

// check brings the values of flags into the form of the request.
func (f *agentFlags) check(sh *shell) error {
	f.req.AgentType = strings.ToLower(f.req.AgentType)
	if err := oneOf("type", f.req.AgentType, agentTypes()); err != nil {
		return err
	}
	f.req.AgentType = strings.ToUpper(f.req.AgentType)
	if f.promptFile == "" {
		return nil
	}
	if f.req.Prompt != "" {
		return usage("an agent has one prompt", "Give --prompt TEXT or --prompt-file FILE, not both.")
	}
	var err error
	f.req.Prompt, err = sh.textFile(f.promptFile)
	return err
}

// lists are the secrets and skills of the flags; an empty one stands for none.
func (f *agentFlags) lists() ([]client.SecretRef, []string) {
	secrets, skills := []client.SecretRef{}, []string{}
	for _, name := range f.secrets {
		if name != "" {
			secrets = append(secrets, client.SecretRef{Name: name})
		}
	}
	for _, spec := range f.skills {
		if spec != "" {
			skills = append(skills, spec)
		}
	}
	return secrets, skills
}

func (f *agentFlags) request(sh *shell, name string) (client.AgentRequest, error) {
	err := f.check(sh)
	req := f.req
	req.Name = name
	req.Secrets, req.Skills = f.lists()
	return req, err
}
