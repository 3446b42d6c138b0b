package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

func (sh *shell) logsCommand() *cobra.Command {
	var follow bool
	var after int64
	cmd := &cobra.Command{
		Use:   "logs RUN_ID",
		Short: "Show what the agent said and did",
		Args:  needs(1, 1, runIDs),
		Example: example(
			"lineshaft runs logs RUN_ID", "the log so far",
			"lineshaft runs logs -f RUN_ID", "stay until the run has ended",
			"lineshaft runs logs RUN_ID -o ndjson", "each event as a line of JSON",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if after < 0 {
				return usage("--after cannot be negative", "Give the number of the last event you have seen.")
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			return sh.logs(cmd.Context(), c, args[0], after, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stay until the run has ended")
	cmd.Flags().Int64Var(&after, "after", 0, "leave out events up to this `NUMBER`")
	return cmd
}

func (sh *shell) logs(ctx context.Context, c *client.Client, runID string, after int64, follow bool) error {
	if follow && sh.onTerminal() {
		_, err := sh.followLive(ctx, c, runID, after, false)
		return sh.left(ctx, runID, err)
	}
	if follow {
		run, err := sh.follow(ctx, c, runID, after)
		if err != nil {
			return sh.left(ctx, runID, err)
		}
		if sh.forPeople() {
			sh.verdict(run)
		}
		return nil
	}
	events := []json.RawMessage{}
	show, end := sh.eventPrinter(runID, false), func() error { return nil }
	if sh.onTerminal() {
		show, end = sh.sessionPrinter(runID)
	}
	for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{After: after}) {
		if err != nil {
			return err
		}
		if sh.format == formatJSON || sh.format == formatYAML {
			events = append(events, event.RawJSON())
			continue
		}
		if err := show(&event); err != nil {
			return err
		}
	}
	if sh.format == formatJSON || sh.format == formatYAML {
		return sh.document(map[string]any{"events": events})
	}
	return end()
}

// sessionPrinter prints events on a terminal; end prints what waits for more.
func (sh *shell) sessionPrinter(runID string) (show func(*client.Event) error, end func() error) {
	s := newSession(runID, sh.outWidth, sh.colours())
	region := terminal.NewRegion(sh.out, sh.colours())
	write := func() error { return region.Update(sh.outWidth, s.take(), nil) }
	show = func(e *client.Event) error {
		if err := s.event(e); err != nil {
			return err
		}
		return write()
	}
	return show, func() error {
		s.settle(notEnded)
		return write()
	}
}
