package factories

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// logFlags narrow down a log of deliveries.
func logFlags(cmd *cobra.Command, q *client.DeliveryQuery) {
	flags := cmd.Flags()
	flags.StringSliceVar(&q.Status, "status", nil, "only with this `STATUS`, such as accepted or rejected_auth; repeatable")
	flags.StringSliceVar(&q.Outcome, "outcome", nil, "only where an automation had this `RESULT`, such as started or error; repeatable")
	flags.StringVar(&q.Event, "event", "", "only this `EVENT`, as the sender's header names it")
	flags.StringVar(&q.Search, "q", "", "only with this `TEXT` in what the log says, in any case")
	shell.CompleteWords(cmd, "status", deliveryStatuses()...)
	shell.CompleteWords(cmd, "outcome", deliveryResults()...)
}

func deliveryStatuses() []string {
	return []string{
		string(lineshaft.DeliveryAccepted), string(lineshaft.DeliveryDuplicate), string(lineshaft.DeliveryRejectedAuth),
		string(lineshaft.DeliveryRejectedJSON), string(lineshaft.DeliveryRejectedSize),
	}
}

func deliveryResults() []string {
	var words []string
	for _, result := range lineshaft.OutcomeResults() {
		words = append(words, string(result))
	}
	return words
}

// checkLog finds words that no delivery can have, and a wrong limit, before the server is asked.
func checkLog(q client.DeliveryQuery) error {
	if q.Limit < 1 || q.Limit > 500 {
		return shell.Usage(fmt.Sprintf("--limit %d is not between 1 and 500", q.Limit), "Use --all for all deliveries.")
	}
	for _, status := range q.Status {
		if err := shell.OneOf("status", status, deliveryStatuses()); err != nil {
			return err
		}
	}
	for _, outcome := range q.Outcome {
		if err := shell.OneOf("outcome", outcome, deliveryResults()); err != nil {
			return err
		}
	}
	return nil
}

func (sh Commands) factoryDeliveriesCommand() *cobra.Command {
	var q client.DeliveryQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "deliveries [FACTORY]",
		Short: "Read the logs of all webhooks of a factory together",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLog(q); err != nil {
				return err
			}
			return sh.onFactory(func(ctx context.Context, c *client.Client, uid string) error {
				return sh.factoryDeliveries(ctx, c, uid, q, all)
			})(cmd, args)
		},
	}
	logFlags(cmd, &q)
	shell.PageFlags(cmd, "deliveries", &q.Limit, &q.Cursor, &all)
	return cmd
}

func (sh Commands) factoryDeliveries(ctx context.Context, c *client.Client, uid string, q client.DeliveryQuery, all bool) error {
	if all {
		q.Limit = 500
	}
	page, err := c.Webhooks.FactoryDeliveries(ctx, uid, q)
	for err == nil && all && page.PageInfo.NextCursor != "" {
		q.Cursor = page.PageInfo.NextCursor
		var next *client.DeliveryLogPage
		if next, err = c.Webhooks.FactoryDeliveries(ctx, uid, q); err == nil {
			page.Deliveries, page.PageInfo = append(page.Deliveries, next.Deliveries...), next.PageInfo
		}
	}
	if err != nil {
		return err
	}
	return shell.Listing[client.LoggedDelivery]{
		Whole: page, Page: page.PageInfo, None: "no deliveries",
		Head: []string{"DELIVERY ID", "WEBHOOK", "STATUS", "RECEIVED", "EVENT", "OUTCOME"},
		Row: func(d *client.LoggedDelivery) []shell.Cell {
			outcome := outcomeLine(&client.Delivery{
				Status: d.Status, Outcomes: d.Outcomes, NotMatched: d.NotMatched, DuplicateOf: d.DuplicateOf, RedeliveryOf: d.RedeliveryOf,
			})
			return shell.Cells(d.DeliveryID, d.WebhookName, deliveryState(d.Status), sh.When(d.ReceivedAt), shell.OrDash(d.Event), outcome)
		},
	}.Show(sh.Shell, page.Deliveries, nil)
}

func (w *WebhookShell) testCommand() *cobra.Command {
	var d Delivery
	var req client.WebhookTest
	cmd := &cobra.Command{
		Use:   "test WEBHOOK",
		Short: "Let the server send a test event that it signs itself",
		Args:  shell.Needs(1, 1, oneWebhook),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.Data != "" {
				body, err := w.deliveryBody(d)
				if err != nil {
					return err
				}
				req.Body = string(body)
			}
			c, hook, err := w.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			result, err := c.Webhooks.Test(cmd.Context(), hook.FactoryUID, hook.UID, req)
			if err != nil {
				return err
			}
			return w.tellTest(hook, result)
		},
	}
	cmd.Flags().StringVar(&d.Data, "data", "", "`JSON` to send, @FILE, or - for standard input (default: an example of the provider's)")
	cmd.Flags().StringVar(&req.Event, "event", "", "`EVENT` that the provider's header names, such as issues")
	return cmd
}

// tellTest shows what became of a test event; one that was refused is a failure.
func (w *WebhookShell) tellTest(hook *client.Webhook, result *client.WebhookTestResult) error {
	if result.Status >= 300 {
		return shell.Failure(nil, fmt.Sprintf("the webhook refused its test event: %d %s", result.Status, shell.OneLine(result.Detail)),
			"See its log: lineshaft webhook deliveries "+w.again(hook))
	}
	return w.Show(result, func() {
		fmt.Fprintf(w.Out, "%d: delivery %s\n", result.Status, shell.OneLine(result.DeliveryID))
		id := shell.ShellWord(shell.OneLine(result.DeliveryID))
		fmt.Fprintf(w.Err, "-- what it started: lineshaft webhook deliveries %s %s\n", w.again(hook), id)
	})
}
