package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schedule",
		Aliases: []string{"schedules"},
		Short:   "Create, list, change, pause, resume and delete what starts runs at given times",
		Example: example(
			`lineshaft schedule create watch --cron "0 9 * * 1-5" --timezone Europe/Berlin --prompt "Look at the build"`, "on workdays at nine",
			"lineshaft schedule list", "when they run next",
			`lineshaft schedule next "0 9 * * 1-5" --timezone Europe/Berlin`, "what an expression means, without a server",
		),
	}
	cmd.AddCommand(
		sh.scheduleListCommand(), sh.scheduleGetCommand(), sh.scheduleCreateCommand(), sh.scheduleUpdateCommand(),
		sh.scheduleSwitchCommand(false), sh.scheduleSwitchCommand(true), sh.scheduleDeleteCommand(), sh.scheduleNextCommand(),
	)
	group(cmd)
	return cmd
}

func (sh *shell) scheduleListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the schedules by name",
		Args:    needs(0, 0, ""),
		Example: example("lineshaft schedule list", "when they ran, and run next", "lineshaft schedule list -o ndjson", "one line for each"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := c.Schedules.List(cmd.Context())
			return listing[client.Schedule]{
				key: "schedules", none: "no schedules; make one: lineshaft schedule create NAME --cron CRON --prompt TEXT",
				head: []string{"ID", "STATE", "CRON", "LAST (UTC)", "NEXT (UTC)", "NAME"},
				row: func(s *client.Schedule) []cell {
					return []cell{
						plain(oneLine(s.ID)), scheduleState(s), plain(oneLine(timingText(s))), plain(orDash(instantText(s.History.LastRan))),
						plain(orDash(instantText(s.History.NextRun))), plain(oneLine(s.Name)),
					}
				},
			}.show(sh, list, err)
		}),
	}
}

func scheduleState(s *client.Schedule) cell {
	switch {
	case !s.Enabled:
		return cell{"paused", styleDim}
	case s.LastSpawnError != nil:
		return cell{"failing", styleBad}
	}
	return cell{"enabled", styleGood}
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
func (sh *shell) scheduleID(ctx context.Context, c *client.Client, ref string) (string, error) {
	if looksLikeUID(ref) {
		return ref, nil
	}
	list, err := c.Schedules.List(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range list {
		if list[i].Name == ref {
			found = append(found, list[i].ID)
		}
	}
	switch len(found) {
	case 0:
		return "", &hintError{code: exitNotFound, message: fmt.Sprintf("there is no schedule named %q", ref), hint: didYouMean(ref, namesOf(list, func(s client.Schedule) string { return s.Name })) + "`lineshaft schedule list` shows the schedules."}
	case 1:
		return found[0], nil
	}
	return "", usage(fmt.Sprintf("%d schedules are named %q", len(found), ref), "Give the id of one: "+strings.Join(found, ", "))
}

func (sh *shell) scheduleGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get SCHEDULE",
		Short:   "Show a schedule with its history and its prompt",
		Args:    needs(1, 1, scheduleRefs),
		Example: example("lineshaft schedule get watch", "by name or id", "lineshaft schedule get watch -o json", "everything about it"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			id, err := sh.scheduleID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			s, err := c.Schedules.Get(cmd.Context(), id)
			if err != nil {
				return err
			}
			return sh.showSchedule(s)
		}),
	}
}

func (sh *shell) showSchedule(s *client.Schedule) error {
	if !sh.forPeople() {
		return sh.document(s)
	}
	state, failure := scheduleState(s), ""
	if s.LastSpawnError != nil {
		failure = oneLine(*s.LastSpawnError)
	}
	list := [][2]string{
		{"Schedule", oneLine(s.ID)},
		{"Name", oneLine(s.Name)},
		{"State", sh.paint(sh.outWidth, state.style, state.text)},
		{"Last error", failure},
		{"Cron", oneLine(s.CronSchedule)},
		{"Time zone", orUTC(oneLine(s.Timezone))},
		{"Overlap", oneLine(s.Overlap)},
		{"Last run", inUTC(s.History.LastRan)},
		{"Next run", inUTC(s.History.NextRun)},
		{"Agent", oneLine(s.AgentUID)},
	}
	if s.AgentConfig != nil {
		list = append(list, configPairs(s.AgentConfig)[1:]...) // the first is the name for runs
	}
	for _, key := range sortedKeys(s.Metadata) {
		list = append(list, [2]string{"Metadata", oneLine(key + "=" + s.Metadata[key])})
	}
	sh.pairs(append(list, [2]string{"Created", sh.when(s.CreatedAt)}, [2]string{"Created by", who(s.CreatedBy)}, [2]string{"Updated", sh.when(s.UpdatedAt)}))
	fmt.Fprintf(sh.out, "\n%s\n", strings.TrimRight(clean(s.Prompt), "\n"))
	return nil
}

func orUTC(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

// scheduleSwitchCommand is pause and resume.
func (sh *shell) scheduleSwitchCommand(on bool) *cobra.Command {
	cmd := &cobra.Command{
		Use: "pause SCHEDULE...", Short: "Pause schedules until they are resumed", Args: needs(1, -1, scheduleRefs),
		Example: example("lineshaft schedule pause watch", "its runs go on"),
	}
	done, do := "paused", (*client.SchedulesService).Pause
	if on {
		cmd.Use, cmd.Short = "resume SCHEDULE...", "Let schedules fire from now on; what they missed is not made up"
		cmd.Example = example("lineshaft schedule resume watch", "from its next time on")
		done, do = "resumed", (*client.SchedulesService).Resume
	}
	cmd.RunE = sh.eachSchedule(done, func(ctx context.Context, c *client.Client, id string) error {
		_, err := do(c.Schedules, ctx, id)
		return err
	})
	return cmd
}

func (sh *shell) scheduleDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete SCHEDULE...", Short: "Delete schedules; their runs stay", Args: needs(1, -1, scheduleRefs),
		Example: example("lineshaft schedule delete watch", "by name or id"),
		RunE:    sh.eachSchedule("deleted", func(ctx context.Context, c *client.Client, id string) error { return c.Schedules.Delete(ctx, id) }),
	}
}

func (sh *shell) eachSchedule(done string, do func(ctx context.Context, c *client.Client, id string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := sh.connect(cmd.Context())
		if err != nil {
			return err
		}
		return sh.each(cmd.Context(), args, done, func(ctx context.Context, ref string) error {
			id, err := sh.scheduleID(ctx, c, ref)
			if err != nil {
				return err
			}
			return do(ctx, c, id)
		})
	}
}
