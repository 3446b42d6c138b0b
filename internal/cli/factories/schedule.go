package factories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/cron"
)

func (sh Commands) scheduleCommand() *cobra.Command {
	of := shell.Noun[string]{Sh: sh.Shell, Word: "schedule", Sample: "watch", Refs: scheduleRefs, Open: shell.Finding(sh.Shell, sh.scheduleID)}
	return shell.Group(&cobra.Command{
		Use:     "schedule",
		Aliases: []string{"schedules"},
		Short:   "Create, list, change, pause, resume and delete schedules, which start runs at set times",
	},
		sh.scheduleListCommand(), sh.scheduleCreateCommand(), sh.scheduleUpdateCommand(), sh.scheduleNextCommand(),
		of.Get("Show a schedule with its history and its prompt", func(ctx context.Context, c *client.Client, id string) error {
			return shell.Shown(sh.showSchedule)(c.Schedules.Get(ctx, id))
		}, "lineshaft schedule get watch", "by name or id", "lineshaft schedule get watch -o json", "everything about it"),
		of.Each("pause", "paused", "Pause schedules until they are resumed", "its runs continue",
			func(ctx context.Context, c *client.Client, id string) error {
				_, err := c.Schedules.Pause(ctx, id)
				return err
			}),
		of.Each("resume", "resumed", "Let schedules fire from now on; runs they missed are skipped", "from its next time on",
			func(ctx context.Context, c *client.Client, id string) error {
				_, err := c.Schedules.Resume(ctx, id)
				return err
			}),
		of.Each("delete", "deleted", "Delete schedules; their runs stay", "by name or id",
			func(ctx context.Context, c *client.Client, id string) error { return c.Schedules.Delete(ctx, id) }),
	)
}

func (sh Commands) scheduleListCommand() *cobra.Command {
	return shell.Listing[client.Schedule]{
		Key: "schedules", None: "no schedules; create one: lineshaft schedule create NAME --cron CRON --prompt TEXT",
		Head: []string{"ID", "STATE", "CRON", "LAST (UTC)", "NEXT (UTC)", "NAME"},
		Row: func(s *client.Schedule) []shell.Cell {
			last, next := instantText(s.History.LastRan), instantText(s.History.NextRun)
			return shell.Cells(s.ID, scheduleState(s), timingText(s), shell.OrDash(last), shell.OrDash(next), s.Name)
		},
	}.Command(sh.Shell, "List the schedules by name",
		func(ctx context.Context, c *client.Client) ([]client.Schedule, error) { return c.Schedules.List(ctx) },
		"lineshaft schedule list", "when they ran, and run next", "lineshaft schedule list -o ndjson", "one line for each")
}

func scheduleState(s *client.Schedule) shell.Cell {
	switch {
	case !s.Enabled:
		return shell.Styled("paused", shell.StyleDim)
	case s.LastSpawnError != nil:
		return shell.Styled("failing", shell.StyleBad)
	}
	return shell.Styled("enabled", shell.StyleGood)
}

func timingText(s *client.Schedule) string {
	return strings.TrimSpace(s.CronSchedule + " " + s.Timezone)
}

// instantText is a time that may lie ahead: how long ago it was would not do.
func instantText(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04")
}

func inUTC(at *time.Time) string {
	if at == nil {
		return ""
	}
	return instantText(at) + " UTC"
}

const scheduleRefs = "a schedule by name or id (`lineshaft schedule list` shows them)"

// scheduleID finds a schedule by id, or by a name that only one has.
func (sh Commands) scheduleID(ctx context.Context, c *client.Client, ref string) (string, error) {
	if shell.LooksLikeUID(ref) {
		return ref, nil
	}
	list, err := c.Schedules.List(ctx)
	if err != nil {
		return "", err
	}
	found, err := shell.Pick(list, ref, func(s *client.Schedule) string { return s.Name },
		"there is no schedule named %q", "`lineshaft schedule list` shows the schedules.", func(found []*client.Schedule) error {
			ids := shell.NamesOf(found, func(s *client.Schedule) string { return s.ID })
			return shell.Usage(fmt.Sprintf("%d schedules are named %q", len(found), ref), "Give the id of one: "+strings.Join(ids, ", "))
		})
	if err != nil {
		return "", err
	}
	return found.ID, nil
}

func (sh Commands) showSchedule(s *client.Schedule) error {
	return sh.Show(s, func() {
		state, failure := scheduleState(s), ""
		if s.LastSpawnError != nil {
			failure = shell.OneLine(*s.LastSpawnError)
		}
		list := [][2]string{
			{"Schedule", s.ID},
			{"Name", s.Name},
			{"State", state.Text},
			{"Last error", failure},
			{"Cron", s.CronSchedule},
			{"Time zone", cmp.Or(s.Timezone, "UTC")},
			{"Overlap", s.Overlap},
			{"Last run", inUTC(s.History.LastRan)},
			{"Next run", inUTC(s.History.NextRun)},
			{"Agent", s.AgentUID},
		}
		if s.AgentConfig != nil {
			list = append(list, shell.ConfigPairs(s.AgentConfig)[1:]...) // the first is the name for runs
		}
		for _, key := range sortedKeys(s.Metadata) {
			list = append(list, [2]string{"Metadata", key + "=" + s.Metadata[key]})
		}
		sh.Pairs(append(list, [2]string{"Created", sh.When(s.CreatedAt)}, [2]string{"Created by", shell.Who(s.CreatedBy)}, [2]string{"Updated", sh.When(s.UpdatedAt)}), shell.Styled("State", state.Style))
		fmt.Fprintf(sh.Out, "\n%s\n", strings.TrimRight(shell.Clean(s.Prompt), "\n"))
	})
}

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
	flags.StringVar(&f.overlap, "overlap", "", "`POLICY` while the last run is live: skip or queue (default: start another one)")
	flags.StringVar(&f.prompt, "prompt", "", "the task of its runs, as `TEXT`")
	flags.StringVar(&f.promptFile, "prompt-file", "", "the same from a `FILE`; - is standard input")
	flags.StringVar(&f.agent, "agent", "", "`UID` of the agent for its runs")
	flags.StringVar(&f.model, "model", "", "`ID` of the language model")
	flags.StringVar(&f.host, "host", "", "`ID` of the worker to run on (default: the server's own)")
	flags.StringVar(&f.environment, "environment", "", "`NAME` or uid of the environment")
	flags.StringArrayVar(&f.skills, "skill", nil, "`SKILL` to use, such as owner/repo:name; repeatable")
	flags.StringArrayVar(&f.secrets, "secret", nil, "`NAME` of a secret that its runs get as a variable; repeatable")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "`KEY=VALUE` to store with its runs; repeatable")
	shell.CompleteWords(cmd, "overlap", overlaps()...)
}

func (f *scheduleFlags) check() error {
	if f.overlap != "" && !slices.Contains(overlaps(), f.overlap) {
		return shell.Usage(fmt.Sprintf("--overlap %q is neither skip nor queue", f.overlap),
			"Leave it out to start each run even while the last one is live.")
	}
	if f.prompt != "" && f.promptFile != "" {
		return shell.Usage("a schedule has one prompt", "Give --prompt TEXT or --prompt-file FILE, not both.")
	}
	return nil
}

func (sh Commands) scheduleCreateCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a schedule; its id goes to standard output",
		Args:  shell.Needs(1, 1, "a name for the schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name = args[0]
			var s client.Schedule
			if err := f.apply(cmd, sh, &s); err != nil {
				return err
			}
			if s.CronSchedule == "" {
				return shell.Usage("a schedule needs a cron expression", `Give --cron, such as --cron "0 9 * * 1-5" or --cron @daily.`)
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := f.resolve(cmd, sh, c, &s); err != nil {
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
			return sh.Made(made, made.ID)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.disabled, "disabled", false, "create it paused")
	return cmd
}

func (sh Commands) scheduleUpdateCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "update SCHEDULE",
		Short: "Change a schedule: its times, prompt, agent, configuration or name",
		Args:  shell.Needs(1, 1, scheduleRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 {
				return shell.Usage("there is nothing to change",
					"Give --cron, --prompt or another flag; see `lineshaft schedule update --help`.")
			}
			if err := f.check(); err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
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
			if err := f.resolve(cmd, sh, c, s); err != nil {
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
func (f *scheduleFlags) apply(cmd *cobra.Command, sh Commands, s *client.Schedule) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.promptFile != "" {
		text, err := sh.TextFile(f.promptFile)
		if err != nil {
			return err
		}
		s.Prompt = text
	}
	cfg := client.AgentConfig{}
	if s.AgentConfig != nil {
		cfg = *s.AgentConfig
	}
	shell.SetTexts(cmd, map[string]struct{ To, From *string }{
		"name": {&s.Name, &f.name}, "cron": {&s.CronSchedule, &f.cron}, "timezone": {&s.Timezone, &f.timezone}, "overlap": {&s.Overlap, &f.overlap},
		"prompt": {&s.Prompt, &f.prompt}, "agent": {&s.AgentUID, &f.agent},
		"model": {&cfg.ModelID, &f.model}, "host": {&cfg.WorkerHost, &f.host}, "environment": {&cfg.EnvironmentID, &f.environment},
	})
	if cmd.Flags().Changed("skill") {
		cfg.SkillSpec, cfg.Skills = "", shell.WithoutEmpty(f.skills)
	}
	if cmd.Flags().Changed("secret") {
		cfg.Secrets = shell.SecretRefs(f.secrets)
	}
	if cmd.Flags().Changed("metadata") {
		pairs, err := shell.ParsePairs("metadata", shell.WithoutEmpty(f.metadata))
		if err != nil {
			return err
		}
		s.Metadata = pairs
	}
	if s.AgentConfig != nil || shell.AnyChanged(cmd, "model", "host", "environment", "skill", "secret") {
		s.AgentConfig = &cfg
	}
	return nil
}

// resolve finds the environment that the flag names.
func (f *scheduleFlags) resolve(cmd *cobra.Command, sh Commands, c *client.Client, s *client.Schedule) error {
	if f.environment == "" {
		return nil
	}
	return sh.resolveEnvironment(cmd.Context(), c, &s.AgentConfig.EnvironmentID)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// maxFires bounds what `schedule next` prints.
const maxFires = 1000

// fire is one time at which an expression fires.
type fire struct {
	Slot  string    `json:"slot"`
	Local string    `json:"local"`
	At    time.Time `json:"at"`
}

func (sh Commands) scheduleNextCommand() *cobra.Command {
	var zone, from string
	var number int
	cmd := &cobra.Command{
		Use:   "next CRON",
		Short: "Show when a cron expression fires next, without a server",
		Args:  shell.Needs(1, 1, `a cron expression in quotes, such as "0 9 * * 1-5"`),
		RunE: func(_ *cobra.Command, args []string) error {
			if number < 1 || number > maxFires {
				return shell.Usage(fmt.Sprintf("--count %d is not between 1 and %d", number, maxFires), "The default is five.")
			}
			after := sh.Now()
			if from != "" {
				var err error
				if after, err = shell.ParseTime("from", from, sh.Now(), true); err != nil {
					return err
				}
			}
			return shell.Shown(sh.showFires)(firesOf(lineshaft.Timing{Cron: args[0], Timezone: zone}, after, number))
		},
	}
	cmd.Flags().StringVar(&zone, "timezone", "", "IANA `NAME` of the time zone (default UTC)")
	cmd.Flags().StringVar(&from, "from", "", "`TIME` to begin after: a date, a time, or how long from now (default now)")
	cmd.Flags().IntVar(&number, "count", 5, "`NUMBER` of times to show")
	return cmd
}

func firesOf(timing lineshaft.Timing, after time.Time, number int) ([]fire, error) {
	parsed, err := cron.Parse(timing)
	if err != nil {
		public, ok := errors.AsType[*lineshaft.Error](err)
		if !ok {
			return nil, err
		}
		what := "the cron expression"
		if public.Field == "timezone" {
			what = "--timezone"
		}
		return nil, shell.Usage(what+": "+public.Message, "See docs/schedules.md for what an expression may contain.")
	}
	parsed = parsed.Anchored(after)
	fires := []fire{}
	for slot, ok := parsed.Next(after); ok && len(fires) < number; slot, ok = parsed.Next(slot.At) {
		fires = append(fires, fire{Slot: slot.Name, Local: slot.At.Format("Mon 2006-01-02 15:04 MST"), At: slot.At.UTC()})
	}
	return fires, nil
}

func (sh Commands) showFires(fires []fire) error {
	return shell.Listing[fire]{
		Key: "fires", Head: []string{"LOCAL", "UTC", "SLOT"},
		Row: func(f *fire) []shell.Cell { return shell.Cells(f.Local, f.At.Format(time.RFC3339), f.Slot) },
	}.Show(sh.Shell, fires, nil)
}
