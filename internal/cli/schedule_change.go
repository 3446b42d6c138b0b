package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func overlaps() []string { return []string{"skip", "queue"} }

// scheduleFlags are what a schedule can be given on the command line.
type scheduleFlags struct {
	name, cron, timezone, overlap   string
	prompt, promptFile              string
	agent, model, host, environment string
	skills, secrets, metadata       []string
	disabled                        bool
}

func (f *scheduleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.cron, "cron", "", "`CRON` expression: five fields, @daily and the like, or \"@every 1h\"")
	flags.StringVar(&f.timezone, "timezone", "", "IANA `NAME` of the time zone (default UTC)")
	flags.StringVar(&f.overlap, "overlap", "", "`POLICY` while the last run is live: skip or queue (default: start beside it)")
	flags.StringVar(&f.prompt, "prompt", "", "what its runs are told, as `TEXT`")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringVar(&f.agent, "agent", "", "`UID` of the agent that its runs go to")
	flags.StringVar(&f.model, "model", "", "`ID` of the language model")
	flags.StringVar(&f.host, "host", "", "`ID` of the worker to run on (default: the server's own)")
	flags.StringVar(&f.environment, "environment", "", "`ID` of the environment")
	flags.StringArrayVar(&f.skills, "skill", nil, "`SKILL` to use, such as owner/repo:name; repeatable")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that its runs get as a variable; repeatable")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "`KEY=VALUE` to store with its runs; repeatable")
	completeWords(cmd, "overlap", overlaps()...)
}

// check is about the values of flags.
func (f *scheduleFlags) check() error {
	if f.overlap != "" && !slices.Contains(overlaps(), f.overlap) {
		return usage(fmt.Sprintf("--overlap %q is neither skip nor queue", f.overlap), "Leave it out to start each run beside the last.")
	}
	if f.prompt != "" && f.promptFile != "" {
		return usage("a schedule has one prompt", "Give --prompt TEXT or --prompt-file FILE, not both.")
	}
	return nil
}

func (sh *shell) scheduleCreateCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a schedule; its id goes to standard output",
		Long: "Create a schedule: it starts a run at the times that its cron expression names, by the wall clock of its\n" +
			"time zone. docs/schedules.md tells what happens on the nights when clocks are changed.",
		Args: needs(1, 1, "a name for the schedule"),
		Example: example(
			`lineshaft schedule create watch --cron "0 9 * * 1-5" --timezone Europe/Berlin --prompt "Look at the build"`, "on workdays at nine",
			`lineshaft schedule create tidy --cron "@every 6h" --overlap skip --prompt-file tidy.md`, "not while the last one works",
			`lineshaft schedule create report --cron @monthly --prompt "Write the report" --agent AGENT_UID`, "by an agent",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name = args[0]
			var s client.Schedule
			if err := f.apply(cmd, sh, &s); err != nil {
				return err
			}
			if s.CronSchedule == "" {
				return usage("a schedule needs its times", `Give --cron, such as --cron "0 9 * * 1-5" or --cron @daily.`)
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			enabled := !f.disabled
			made, err := c.Schedules.Create(cmd.Context(), client.ScheduleRequest{
				Name: f.name, CronSchedule: s.CronSchedule, Timezone: s.Timezone, Overlap: s.Overlap, Prompt: s.Prompt, Enabled: &enabled,
				AgentUID: s.AgentUID, AgentConfig: s.AgentConfig, Metadata: s.Metadata,
			})
			if err != nil {
				return err
			}
			return sh.made(made, made.ID)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "create it paused")
	return cmd
}

func (sh *shell) scheduleUpdateCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "update SCHEDULE",
		Short: "Change a schedule: its times, prompt, agent, configuration or name",
		Long: "Change a schedule from now on; what is not given stays. Skills, secrets and metadata that are given\n" +
			"replace those before; an empty value takes away what it names.",
		Args: needs(1, 1, scheduleRefs),
		Example: example(
			`lineshaft schedule update watch --cron "30 8 * * *"`, "another time",
			`lineshaft schedule update watch --timezone "" --overlap queue`, "UTC again, and one run after the other",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 {
				return usage("there is nothing to change", "Give --cron, --prompt or another flag; see `lineshaft schedule update --help`.")
			}
			if err := f.check(); err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			id, err := sh.scheduleID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			s, err := c.Schedules.Get(cmd.Context(), id)
			if err != nil {
				return err
			}
			if err := f.apply(cmd, sh, s); err != nil {
				return err
			}
			changed, err := c.Schedules.Update(cmd.Context(), id, client.ScheduleUpdate{
				Name: s.Name, CronSchedule: s.CronSchedule, Enabled: s.Enabled, Timezone: s.Timezone, Overlap: s.Overlap, Prompt: s.Prompt,
				AgentUID: s.AgentUID, AgentConfig: s.AgentConfig, Metadata: s.Metadata,
			})
			if err != nil {
				return err
			}
			return sh.showSchedule(changed)
		},
	}
	cmd.Flags().StringVar(&f.name, "name", "", "new `NAME`")
	f.add(cmd)
	return cmd
}

// apply writes what the flags say into a schedule; an empty value takes away.
func (f *scheduleFlags) apply(cmd *cobra.Command, sh *shell, s *client.Schedule) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.promptFile != "" {
		text, err := sh.textFile(f.promptFile)
		if err != nil {
			return err
		}
		s.Prompt = text
	}
	cfg := client.AgentConfig{}
	if s.AgentConfig != nil {
		cfg = *s.AgentConfig
	}
	for flag, text := range map[string]struct {
		to   *string
		from string
	}{
		"name": {&s.Name, f.name}, "cron": {&s.CronSchedule, f.cron}, "timezone": {&s.Timezone, f.timezone}, "overlap": {&s.Overlap, f.overlap},
		"prompt": {&s.Prompt, f.prompt}, "agent": {&s.AgentUID, f.agent},
		"model": {&cfg.ModelID, f.model}, "host": {&cfg.WorkerHost, f.host}, "environment": {&cfg.EnvironmentID, f.environment},
	} {
		if cmd.Flags().Changed(flag) {
			*text.to = text.from
		}
	}
	if cmd.Flags().Changed("skill") {
		cfg.SkillSpec, cfg.Skills = "", withoutEmpty(f.skills)
	}
	if cmd.Flags().Changed("secret") {
		cfg.Secrets = nil
		for _, name := range withoutEmpty(f.secrets) {
			cfg.Secrets = append(cfg.Secrets, client.SecretRef{Name: name})
		}
	}
	if cmd.Flags().Changed("metadata") {
		pairs, err := parsePairs("metadata", withoutEmpty(f.metadata))
		if err != nil {
			return err
		}
		s.Metadata = pairs
	}
	if s.AgentConfig != nil || anyChanged(cmd, "model", "host", "environment", "skill", "secret") {
		s.AgentConfig = &cfg
	}
	return nil
}

func withoutEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return text == "" })
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
