package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// deliveryFlags are the conditions of `webhook deliveries`.
type deliveryFlags struct {
	query        client.DeliveryQuery
	since, until string
	all, explain bool
}

func (w *webhookShell) deliveriesCommand() *cobra.Command {
	var f deliveryFlags
	cmd := &cobra.Command{
		Use:   "deliveries WEBHOOK [DELIVERY_ID]",
		Short: "Read the log of a webhook, or one delivery with its payload",
		Long: "Read the log of a webhook, newest first, or one delivery with its payload. The log of a deleted\n" +
			"webhook can be read by its uid.",
		Args: needs(1, 2, oneWebhook),
		Example: example(
			"lineshaft webhook deliveries issues --since 24h", "what came today, and what it started",
			"lineshaft webhook deliveries issues DELIVERY_ID --explain", "why it did not start more",
			"lineshaft webhook deliveries issues --all -o ndjson", "all of them, a line of JSON each",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.query.ReceivedAfter, f.query.ReceivedBefore, err = w.span(f.since, f.until); err != nil {
				return err
			}
			if f.explain && len(args) < 2 {
				return usage("--explain is about one delivery", "Add its id: lineshaft webhook deliveries WEBHOOK DELIVERY_ID --explain")
			}
			if f.query.Limit < 1 || f.query.Limit > 500 {
				return usage(fmt.Sprintf("--limit %d is not between 1 and 500", f.query.Limit), "Use --all for all deliveries.")
			}
			c, hook, err := w.logged(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return w.delivery(cmd.Context(), c, hook, args[1], f.explain)
			}
			return w.deliveries(cmd.Context(), c, hook, f)
		},
	}
	flags := cmd.Flags()
	spanFlags(cmd, &f.since, &f.until)
	flags.IntVar(&f.query.Limit, "limit", 20, "`NUMBER` of deliveries, 1 to 500")
	flags.StringVar(&f.query.Cursor, "cursor", "", "go on after an earlier list, at its `CURSOR`")
	flags.BoolVar(&f.all, "all", false, "all deliveries, not only the first ones")
	flags.BoolVar(&f.explain, "explain", false, "with a DELIVERY_ID: tell why automations do not match it today")
	return cmd
}

func spanFlags(cmd *cobra.Command, since, until *string) {
	cmd.Flags().StringVar(since, "since", "", "only deliveries received since `THEN`, such as 24h or 2026-01-31")
	cmd.Flags().StringVar(until, "until", "", "only deliveries received before `THEN`, such as 1h or 2026-02-01")
}

// logged finds a webhook; one that is not listed any more goes by its uid.
func (w *webhookShell) logged(ctx context.Context, ref string) (*client.Client, *client.Webhook, error) {
	c, hook, err := w.find(ctx, ref)
	if err == nil || len(ref) < 26 || strings.ContainsAny(ref, "/ ") || w.explain(err).code != exitNotFound {
		return c, hook, err
	}
	c, factory, openErr := w.open(ctx)
	if openErr != nil {
		return nil, nil, openErr
	}
	return c, &client.Webhook{UID: ref, FactoryUID: factory, Name: ref}, nil
}

func (w *webhookShell) deliveries(ctx context.Context, c *client.Client, hook *client.Webhook, f deliveryFlags) error {
	page := &client.DeliveryPage{Deliveries: []client.Delivery{}}
	if f.all {
		f.query.Limit = 500
		for d, err := range c.Webhooks.AllDeliveries(ctx, hook.FactoryUID, hook.UID, f.query) {
			if err != nil {
				return err
			}
			page.Deliveries = append(page.Deliveries, d)
		}
	} else {
		var err error
		if page, err = c.Webhooks.Deliveries(ctx, hook.FactoryUID, hook.UID, f.query); err != nil {
			return err
		}
	}
	if !w.forPeople() {
		return documents(w.shell, page, page.Deliveries)
	}
	if len(page.Deliveries) == 0 {
		fmt.Fprintln(w.err, "-- no deliveries"+w.howToTry(hook))
		return nil
	}
	var rows [][]cell
	for i := range page.Deliveries {
		d := &page.Deliveries[i]
		rows = append(rows, []cell{
			plain(oneLine(d.DeliveryID)), deliveryState(d.Status), plain(w.when(d.ReceivedAt)), plain(fmt.Sprint(d.Size)), plain(outcomeLine(d)),
		})
	}
	w.table([]string{"DELIVERY ID", "STATUS", "RECEIVED", "BYTES", "OUTCOME"}, rows)
	if page.PageInfo.HasNextPage {
		fmt.Fprintf(w.err, "-- there are more: add --all, or --cursor %s\n", clean(page.PageInfo.NextCursor))
	}
	return nil
}

// again names a webhook in a command line as the person did.
func (w *webhookShell) again(hook *client.Webhook) string {
	if w.factory == "" {
		return shellWord(oneLine(hook.Name))
	}
	return shellWord(oneLine(hook.Name)) + " --factory " + shellWord(oneLine(w.factory))
}

// howToTry is what to do for a first delivery; nothing can be done for a webhook of
// which only the log is left.
func (w *webhookShell) howToTry(hook *client.Webhook) string {
	again := w.again(hook)
	switch {
	case hook.IngressURL == "":
		return ""
	case hook.NeedsSecret:
		return "; it waits for its provider's secret: lineshaft webhook rotate " + again + " --secret-file FILE"
	case !hook.Enabled:
		return "; it is disabled: lineshaft webhook enable " + again
	}
	return "; try the webhook: lineshaft webhook send " + again + " --secret-file FILE"
}

func deliveryState(status string) cell {
	switch status {
	case "accepted":
		return cell{status, styleGood}
	case "duplicate":
		return cell{status, styleDim}
	}
	return cell{oneLine(status), styleBad}
}

// outcomeLine tells in a few words what a delivery led to.
func outcomeLine(d *client.Delivery) string {
	var parts []string
	for _, o := range d.Outcomes {
		parts = append(parts, strings.TrimSpace(oneLine(o.AutomationName)+" "+resultWords(o.Result, false)))
	}
	switch {
	case d.DuplicateOf != "":
		parts = append(parts, "of "+oneLine(d.DuplicateOf))
	case d.NotMatched > 0:
		parts = append(parts, fmt.Sprintf("%d not matched", d.NotMatched))
	case len(parts) == 0 && d.Status == "accepted":
		parts = append(parts, "no automation listens")
	}
	if d.RedeliveryOf != "" {
		parts = append(parts, "redelivery of "+oneLine(d.RedeliveryOf))
	}
	return strings.Join(parts, ", ")
}

// delivery shows one delivery.
func (w *webhookShell) delivery(ctx context.Context, c *client.Client, hook *client.Webhook, id string, explain bool) error {
	read := c.Webhooks.GetDelivery
	if explain {
		read = c.Webhooks.ExplainDelivery
	}
	d, err := read(ctx, hook.FactoryUID, hook.UID, id)
	if err != nil {
		return err
	}
	if !w.forPeople() {
		return w.document(d)
	}
	identity := oneLine(d.Identity)
	if d.IdentitySource != "" {
		identity += " (" + oneLine(d.IdentitySource) + ")"
	}
	missed := ""
	if d.Status == "accepted" {
		missed = count(d.NotMatched, "automation")
	}
	w.pairs([][2]string{
		{"Delivery", oneLine(d.DeliveryID)},
		{"Status", oneLine(d.Status)},
		{"Received", w.when(d.ReceivedAt)},
		{"From", oneLine(d.RemoteAddr)},
		{"Identity", identity},
		{"Redelivery of", oneLine(d.RedeliveryOf)},
		{"Duplicate of", oneLine(d.DuplicateOf)},
		{"Bytes", fmt.Sprint(d.Size)},
		{"Not matched", missed},
	})
	if len(d.Outcomes) > 0 {
		fmt.Fprintln(w.out)
		w.showOutcomes(d.Outcomes)
	}
	for _, missed := range d.NotMatchedAutomations {
		fmt.Fprintf(w.out, "\n%s does not match:\n", oneLine(missed.AutomationName))
		w.showChecks(missed.Checks)
	}
	if d.Payload != nil {
		fmt.Fprintf(w.out, "\n%s\n", clean(indented(d.Payload)))
	}
	return nil
}

func (w *webhookShell) showOutcomes(outcomes []client.DeliveryOutcome) {
	var rows [][]cell
	for _, o := range outcomes {
		rows = append(rows, []cell{
			plain(orDash(oneLine(o.AutomationName))), {resultWords(o.Result, false), outcomeStyle(o.Result)}, plain(orDash(oneLine(o.RunID))), plain(oneLine(o.Reason)),
		})
	}
	w.table([]string{"AUTOMATION", "RESULT", "RUN ID", "REASON"}, rows)
}

// resultWords says a result to people; a dry run has only what would be.
func resultWords(result string, dryRun bool) string {
	switch {
	case result == "filtered":
		return "not matched"
	case result == "started" && dryRun:
		return "would start"
	case result == "followed_up" && dryRun:
		return "would follow up"
	}
	return oneLine(result)
}

func outcomeStyle(result string) style {
	switch result {
	case "started", "followed_up":
		return styleGood
	case "error", "limit":
		return styleBad
	}
	return styleDim
}

func (w *webhookShell) showChecks(checks []client.FilterCheck) {
	var rows [][]cell
	for _, check := range checks {
		verdict := cell{"fail", styleBad}
		if check.Passed {
			verdict = cell{"pass", styleGood}
		}
		seen := "(missing)"
		switch {
		case check.Seen != nil:
			seen = oneLine(string(check.Seen))
		case check.Path == "webhook":
			seen = "(any)" // the payload came from nowhere
		}
		rows = append(rows, []cell{
			verdict, plain(oneLine(check.Path)), plain(oneLine(check.Operator)), plain(clip(oneLine(string(check.Expected)), 40)), plain(seen),
		})
	}
	w.table([]string{"CHECK", "PATH", "OPERATOR", "EXPECTED", "SEEN"}, rows)
}

// indented lays out JSON for reading. It must not pass through Go values: numbers
// would change.
func indented(raw json.RawMessage) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(raw); err != nil {
		return string(raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
