package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func deliveryStatuses() []string { return []string{"pending", "delivered", "failed"} }

func (sh *shell) notificationDeliveriesCommand() *cobra.Command {
	var q client.NotificationDeliveryQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "deliveries NOTIFICATION [DELIVERY_ID]",
		Short: "Read what was sent to an endpoint, or one delivery with its attempts and payload",
		Args:  needs(1, 2, notificationRefs),
		Example: example(
			"lineshaft notification deliveries example.com --status failed", "what was given up",
			"lineshaft notification deliveries example.com DELIVERY_ID", "each attempt, and what was sent",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("status", q.Status, deliveryStatuses()); err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > 500 {
				return usage(fmt.Sprintf("--limit %d is not between 1 and 500", q.Limit), "Use --all for all deliveries.")
			}
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return sh.notificationDelivery(cmd.Context(), c, found.ID, args[1])
			}
			return sh.notificationDeliveries(cmd.Context(), c, found.ID, q, all)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Status, "status", "", "only those that are `STATUS`: pending, delivered or failed")
	flags.IntVar(&q.Limit, "limit", 20, "`NUMBER` of deliveries, 1 to 500")
	flags.StringVar(&q.Cursor, "cursor", "", "go on after an earlier list, at its `CURSOR`")
	flags.BoolVar(&all, "all", false, "all deliveries, not only the first ones")
	completeWords(cmd, "status", deliveryStatuses()...)
	return cmd
}

func (sh *shell) notificationDeliveries(ctx context.Context, c *client.Client, id string, q client.NotificationDeliveryQuery, all bool) error {
	page := &client.NotificationDeliveryPage{Deliveries: []client.NotificationDelivery{}}
	if !all {
		var err error
		if page, err = c.Notifications.Deliveries(ctx, id, q); err != nil {
			return err
		}
	}
	for delivery, err := range c.Notifications.AllDeliveries(ctx, id, q) {
		if !all {
			break
		}
		if err != nil {
			return err
		}
		page.Deliveries = append(page.Deliveries, delivery)
	}
	if !sh.forPeople() {
		return documents(sh, page, page.Deliveries)
	}
	var rows [][]cell
	for i := range page.Deliveries {
		d := &page.Deliveries[i]
		rows = append(rows, []cell{
			plain(oneLine(d.ID)), deliveryStatus(d), plain(strconv.Itoa(d.AttemptCount)), plain(sh.when(d.CreatedAt)), plain(orDash(sh.whenSet(d.NextAttemptAt))), plain(deliveryWhat(d)),
		})
	}
	sh.table([]string{"ID", "STATUS", "TRIES", "MADE", "NEXT", "WHAT"}, rows)
	if page.PageInfo.HasNextPage {
		fmt.Fprintf(sh.err, "-- more: --all, or --cursor %s\n", oneLine(page.PageInfo.NextCursor))
	}
	return nil
}

func deliveryStatus(d *client.NotificationDelivery) cell {
	styles := map[string]style{"delivered": styleGood, "failed": styleBad, "pending": styleWait}
	return cell{oneLine(d.Status), styles[d.Status]}
}

func deliveryWhat(d *client.NotificationDelivery) string {
	what := oneLine(d.Type)
	if d.RunID != "" {
		what = "run " + oneLine(d.RunID) + " " + oneLine(string(d.State))
	}
	if d.LastError != "" && d.Status != "delivered" {
		what += ": " + oneLine(d.LastError)
	}
	return what
}

func (sh *shell) notificationDelivery(ctx context.Context, c *client.Client, id, deliveryID string) error {
	d, err := c.Notifications.Delivery(ctx, id, deliveryID)
	if err != nil {
		return err
	}
	return sh.showNotificationDelivery(d)
}

func (sh *shell) showNotificationDelivery(d *client.NotificationDelivery) error {
	if !sh.forPeople() {
		return sh.document(d)
	}
	status := deliveryStatus(d)
	list := [][2]string{
		{"Delivery", oneLine(d.ID)},
		{"Event", oneLine(d.EventID)},
		{"Type", oneLine(d.Type)},
		{"Run", oneLine(d.RunID)},
		{"State", oneLine(string(d.State))},
		{"Status", sh.paint(sh.outWidth, status.style, status.text)},
		{"Next attempt", sh.whenSet(d.NextAttemptAt)},
		{"Last error", oneLine(d.LastError)},
		{"Made", sh.when(d.CreatedAt)},
		{"Ended", sh.whenSet(d.FinishedAt)},
	}
	for _, a := range d.Attempts {
		outcome := oneLine(a.Error)
		if a.StatusCode != 0 {
			outcome = "status " + strconv.Itoa(a.StatusCode)
		}
		list = append(list, [2]string{"Attempt " + strconv.Itoa(a.Number), fmt.Sprintf("%s, %s, %d ms", sh.when(a.Time), outcome, a.DurationMS)})
	}
	sh.pairs(list)
	if text := string(d.Payload); text != "" && text != "null" { // null: its run was deleted
		fmt.Fprintf(sh.out, "\n%s\n", clean(text))
	}
	return nil
}

func (sh *shell) notificationReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use: "replay NOTIFICATION DELIVERY_ID...", Short: "Send deliveries again, with the same id and payload", Args: needs(2, -1, "a notification and the ids of deliveries"),
		Example: example("lineshaft notification replay example.com DELIVERY_ID", "one that was given up"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.each(cmd.Context(), args[1:], "replayed", func(ctx context.Context, deliveryID string) error {
				_, err := c.Notifications.Replay(ctx, found.ID, deliveryID)
				return err
			})
		},
	}
}

func (sh *shell) notificationTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NOTIFICATION", Short: "Send a test callback to an endpoint", Args: needs(1, 1, notificationRefs),
		Example: example("lineshaft notification test example.com", "then look at its deliveries"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := c.Notifications.Test(cmd.Context(), found.ID)
			if err != nil {
				return err
			}
			if err := sh.showNotificationDelivery(d); err != nil || !sh.forPeople() {
				return err
			}
			fmt.Fprintf(sh.err, "-- to see what became of it, run\nlineshaft notification deliveries %s %s\n", oneLine(found.ID), oneLine(d.ID))
			return nil
		},
	}
}
