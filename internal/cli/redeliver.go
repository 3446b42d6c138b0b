package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// redeliverFlags say what to deliver again.
type redeliverFlags struct {
	since, until string
	dryRun       bool
}

func (w *webhookShell) redeliverCommand() *cobra.Command {
	var f redeliverFlags
	cmd := &cobra.Command{
		Use:   "redeliver WEBHOOK [DELIVERY_ID...]",
		Short: "Deliver again what is in the log: with the automations of today",
		Long: "Evaluate stored deliveries again, with the automations of today and under new ids: those that are\n" +
			"named, or all accepted ones of a time, oldest first. What was itself delivered again is then left\n" +
			"out. A run is started for every automation that matches, whether or not there was one before.",
		Args: needs(1, -1, oneWebhook),
		Example: example(
			"lineshaft webhook redeliver issues DELIVERY_ID --dry-run", "what would it start now?",
			"lineshaft webhook redeliver issues --since 2h --until 1h", "all of an hour, oldest first",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			after, before, err := w.span(f.since, f.until)
			if err != nil {
				return err
			}
			ids := args[1:]
			switch ranged := f.since != "" || f.until != ""; {
			case ranged && len(ids) > 0:
				return usage("deliveries and a time cannot both be given", "Name deliveries, or give --since and --until.")
			case !ranged && len(ids) == 0, f.since == "" && ranged:
				return usage("nothing says what to deliver again", "Name deliveries, or give --since (and --until).")
			}
			c, hook, err := w.logged(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				query := client.DeliveryQuery{ReceivedAfter: after, ReceivedBefore: before, Limit: 500}
				if ids, err = redeliverable(cmd.Context(), c, hook, query); err != nil {
					return err
				}
			}
			return w.redeliver(cmd.Context(), c, hook, ids, f.dryRun)
		},
	}
	spanFlags(cmd, &f.since, &f.until)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only tell what would be started")
	return cmd
}

// span reads --since and --until.
func (sh *shell) span(since, until string) (after, before time.Time, err error) {
	if since != "" {
		if after, err = parseTime("since", since, sh.now(), false); err != nil {
			return after, before, err
		}
	}
	if until != "" {
		if before, err = parseTime("until", until, sh.now(), false); err != nil {
			return after, before, err
		}
	}
	if !after.IsZero() && !before.IsZero() && !after.Before(before) {
		return after, before, usage("--since is not before --until", "Swap them: --since is the older one.")
	}
	return after, before, nil
}

// redeliverable are the ids of a part of the log that can be delivered again, oldest
// first. The list is complete before the first of them is: new rows must not get in.
func redeliverable(ctx context.Context, c *client.Client, hook *client.Webhook, q client.DeliveryQuery) ([]string, error) {
	var ids []string
	for d, err := range c.Webhooks.AllDeliveries(ctx, hook.FactoryUID, hook.UID, q) {
		if err != nil {
			return nil, err
		}
		handshake := slices.ContainsFunc(d.Outcomes, func(o client.DeliveryOutcome) bool { return o.Result == "handshake" })
		if d.Status == "accepted" && d.RedeliveryOf == "" && !handshake {
			ids = append(ids, d.DeliveryID)
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// redelivered is what became of one delivery, for programs.
type redelivered struct {
	RedeliveryOf string `json:"redelivery_of"`
	DryRun       bool   `json:"dry_run,omitempty"`
	client.Redelivered
}

func (w *webhookShell) redeliver(ctx context.Context, c *client.Client, hook *client.Webhook, ids []string, dryRun bool) error {
	do := c.Webhooks.Redeliver
	if dryRun {
		do = c.Webhooks.TryRedeliver
	}
	done := []redelivered{}
	var failed []error
	for i, id := range ids {
		w.howFar(i, len(ids))
		result, err := do(ctx, hook.FactoryUID, hook.UID, id)
		if err != nil {
			failed = append(failed, err)
			if len(ids) > 1 {
				w.howFar(0, 0)
				fmt.Fprintf(w.err, "%s: %s\n", clean(id), clean(w.explain(err).message))
			}
			if ctx.Err() != nil {
				break
			}
			continue
		}
		done = append(done, redelivered{id, dryRun, *result})
		if w.format == formatNDJSON {
			if err := w.document(done[len(done)-1]); err != nil {
				return err
			}
		}
	}
	w.howFar(0, 0)
	if err := w.tellRedelivered(done, len(ids)); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// howFar shows on a terminal how far a long work is; 0 of 0 takes it away.
func (sh *shell) howFar(at, of int) {
	if sh.errWidth == 0 || sh.env["TERM"] == "dumb" || of == 1 {
		return
	}
	if of == 0 {
		fmt.Fprint(sh.err, "\r\x1b[K")
		return
	}
	fmt.Fprintf(sh.err, "\r\x1b[K-- %d of %d", at+1, of)
}

func (w *webhookShell) tellRedelivered(done []redelivered, asked int) error {
	if w.format == formatNDJSON {
		return nil // each was told when it was done
	}
	if !w.forPeople() {
		return w.document(map[string]any{"redeliveries": done})
	}
	if asked == 0 {
		fmt.Fprintln(w.err, "-- nothing of that time can be delivered again")
		return nil
	}
	var rows [][]cell
	runs := 0
	for _, r := range done {
		if len(r.Outcomes) == 0 {
			rows = append(rows, []cell{plain(oneLine(r.RedeliveryOf)), plain("-"), {"not matched", styleDim}, plain("-"), plain("")})
		}
		for _, o := range r.Outcomes {
			if o.Result == "started" {
				runs++
			}
			rows = append(rows, []cell{
				plain(oneLine(r.RedeliveryOf)), plain(orDash(oneLine(o.AutomationName))),
				{resultWords(o.Result, r.DryRun), outcomeStyle(o.Result)},
				plain(orDash(oneLine(o.RunID))), plain(oneLine(o.Reason)),
			})
		}
	}
	if len(rows) > 0 {
		w.table([]string{"DELIVERY", "AUTOMATION", "RESULT", "RUN ID", "REASON"}, rows)
	}
	told := "-- %d of %d delivered again; runs started: %d\n"
	if len(done) > 0 && done[0].DryRun {
		told = "-- %d of %d tried; runs that would start: %d\n"
	}
	fmt.Fprintf(w.err, told, len(done), asked, runs)
	return nil
}
