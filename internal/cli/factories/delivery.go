package factories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// deliveryFlags are the conditions of `webhook deliveries`.
type deliveryFlags struct {
	query        client.DeliveryQuery
	since, until string
	all, explain bool
}

func (w *WebhookShell) deliveriesCommand() *cobra.Command {
	var f deliveryFlags
	cmd := &cobra.Command{
		Use:   "deliveries WEBHOOK [DELIVERY_ID]",
		Short: "Read the log of a webhook, or one delivery with its payload",
		Args:  shell.Needs(1, 2, oneWebhook),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.query.ReceivedAfter, f.query.ReceivedBefore, err = w.span(f.since, f.until); err != nil {
				return err
			}
			if f.explain && len(args) < 2 {
				return shell.Usage("--explain is about one delivery",
					"Add its id: lineshaft webhook deliveries WEBHOOK DELIVERY_ID --explain")
			}
			if err := checkLog(f.query); err != nil {
				return err
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
	logFlags(cmd, &f.query)
	shell.PageFlags(cmd, "deliveries", &f.query.Limit, &f.query.Cursor, &f.all)
	flags.BoolVar(&f.explain, "explain", false, "with a DELIVERY_ID: explain why the current automations do not match it")
	return cmd
}

func spanFlags(cmd *cobra.Command, since, until *string) {
	cmd.Flags().StringVar(since, "since", "", "only deliveries received since `TIME`, such as 24h or 2026-01-31")
	cmd.Flags().StringVar(until, "until", "", "only deliveries received before `TIME`, such as 1h or 2026-02-01")
}

// logged finds a webhook; one that is no longer listed is named by its uid.
func (w *WebhookShell) logged(ctx context.Context, ref string) (*client.Client, *client.Webhook, error) {
	c, hook, err := w.Find(ctx, ref)
	if err == nil || len(ref) < 26 || strings.ContainsAny(ref, "/ ") || w.Explain(err).Code != shell.ExitNotFound {
		return c, hook, err
	}
	c, factory, openErr := w.open(ctx)
	if openErr != nil {
		return nil, nil, openErr
	}
	return c, &client.Webhook{UID: ref, FactoryUID: factory, Name: ref}, nil
}

func (w *WebhookShell) deliveries(ctx context.Context, c *client.Client, hook *client.Webhook, f deliveryFlags) (err error) {
	page := &client.DeliveryPage{}
	if f.all {
		f.query.Limit = 500
		page.Deliveries, err = shell.Collect(c.Webhooks.AllDeliveries(ctx, hook.FactoryUID, hook.UID, f.query))
	} else {
		page, err = c.Webhooks.Deliveries(ctx, hook.FactoryUID, hook.UID, f.query)
	}
	if err != nil {
		return err
	}
	return shell.Listing[client.Delivery]{
		Whole: page, Page: page.PageInfo, None: "no deliveries" + w.howToTry(hook),
		Head: []string{"DELIVERY ID", "STATUS", "RECEIVED", "BYTES", "OUTCOME"},
		Row: func(d *client.Delivery) []shell.Cell {
			return shell.Cells(d.DeliveryID, deliveryState(d.Status), w.When(d.ReceivedAt), d.Size, outcomeLine(d))
		},
	}.Show(w.Shell, page.Deliveries, nil)
}

// again names a webhook in a command line as the person did.
func (w *WebhookShell) again(hook *client.Webhook) string {
	if w.Factory == "" {
		return shell.ShellWord(shell.OneLine(hook.Name))
	}
	return shell.ShellWord(shell.OneLine(hook.Name)) + " --factory " + shell.ShellWord(shell.OneLine(w.Factory))
}

// howToTry is what to do for a first delivery; it is empty for a webhook of
// which only the log is left.
func (w *WebhookShell) howToTry(hook *client.Webhook) string {
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

func deliveryState(status string) shell.Cell {
	switch status {
	case "accepted":
		return shell.Styled(status, shell.StyleGood)
	case "duplicate":
		return shell.Styled(status, shell.StyleDim)
	}
	return shell.Styled(shell.OneLine(status), shell.StyleBad)
}

// outcomeLine says in a few words what a delivery led to.
func outcomeLine(d *client.Delivery) string {
	var parts []string
	for _, o := range d.Outcomes {
		parts = append(parts, strings.TrimSpace(shell.OneLine(o.AutomationName)+" "+resultWords(o.Result, false)))
	}
	switch {
	case d.DuplicateOf != "":
		parts = append(parts, "of "+shell.OneLine(d.DuplicateOf))
	case d.NotMatched > 0:
		parts = append(parts, fmt.Sprintf("%d not matched", d.NotMatched))
	case len(parts) == 0 && d.Status == "accepted":
		parts = append(parts, "no automation listens")
	}
	if d.RedeliveryOf != "" {
		parts = append(parts, "redelivery of "+shell.OneLine(d.RedeliveryOf))
	}
	return strings.Join(parts, ", ")
}

// delivery shows one delivery.
func (w *WebhookShell) delivery(ctx context.Context, c *client.Client, hook *client.Webhook, id string, explain bool) error {
	read := c.Webhooks.GetDelivery
	if explain {
		read = c.Webhooks.ExplainDelivery
	}
	d, err := read(ctx, hook.FactoryUID, hook.UID, id)
	if err != nil {
		return err
	}
	return w.Show(d, func() {
		identity := shell.OneLine(d.Identity)
		if d.IdentitySource != "" {
			identity += " (" + shell.OneLine(d.IdentitySource) + ")"
		}
		missed := ""
		if d.Status == "accepted" {
			missed = shell.Count(d.NotMatched, "automation")
		}
		w.Pairs([][2]string{
			{"Delivery", d.DeliveryID},
			{"Status", d.Status},
			{"Received", w.When(d.ReceivedAt)},
			{"From", d.RemoteAddr},
			{"Identity", identity},
			{"Redelivery of", d.RedeliveryOf},
			{"Duplicate of", d.DuplicateOf},
			{"Bytes", fmt.Sprint(d.Size)},
			{"Not matched", missed},
		})
		if len(d.Outcomes) > 0 {
			fmt.Fprintln(w.Out)
			w.showOutcomes(d.Outcomes)
		}
		for _, missed := range d.NotMatchedAutomations {
			fmt.Fprintf(w.Out, "\n%s does not match:\n", shell.OneLine(missed.AutomationName))
			w.showChecks(missed.Checks)
		}
		if d.Payload != nil {
			fmt.Fprintf(w.Out, "\n%s\n", shell.Clean(indented(d.Payload)))
		}
	})
}

func (w *WebhookShell) showOutcomes(outcomes []client.DeliveryOutcome) {
	var rows [][]shell.Cell
	for _, o := range outcomes {
		rows = append(rows, shell.Cells(
			shell.OrDash(o.AutomationName), shell.Styled(resultWords(o.Result, false), outcomeStyle(o.Result)), shell.OrDash(o.RunID), o.Reason,
		))
	}
	w.Table([]string{"AUTOMATION", "RESULT", "RUN ID", "REASON"}, rows)
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
	return shell.OneLine(result)
}

func outcomeStyle(result string) shell.Style {
	switch result {
	case "started", "followed_up":
		return shell.StyleGood
	case "error", "limit":
		return shell.StyleBad
	}
	return shell.StyleDim
}

// readable writes JSON without the escapes that are for browsers: "<@U1>", not "\u003c@U1\u003e".
func readable(value json.RawMessage) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(value))
}

func (w *WebhookShell) showChecks(checks []client.FilterCheck) {
	var rows [][]shell.Cell
	for _, check := range checks {
		verdict := shell.Styled("fail", shell.StyleBad)
		if check.Passed {
			verdict = shell.Styled("pass", shell.StyleGood)
		}
		seen := "(missing)"
		switch {
		case check.Seen != nil:
			seen = shell.OneLine(readable(check.Seen))
		case check.Path == "webhook":
			seen = "(any)" // the payload came from nowhere
		}
		rows = append(rows, shell.Cells(verdict, check.Path, check.Operator, shell.Clip(shell.OneLine(readable(check.Expected)), 40), seen))
	}
	w.Table([]string{"CHECK", "PATH", "OPERATOR", "EXPECTED", "SEEN"}, rows)
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

// redeliverFlags say what to deliver again.
type redeliverFlags struct {
	since, until string
	dryRun       bool
}

func (w *WebhookShell) redeliverCommand() *cobra.Command {
	var f redeliverFlags
	cmd := &cobra.Command{
		Use:   "redeliver WEBHOOK [DELIVERY_ID...]",
		Short: "Deliver stored deliveries again, with the current automations",
		Args:  shell.Needs(1, -1, oneWebhook),
		RunE: func(cmd *cobra.Command, args []string) error {
			after, before, err := w.span(f.since, f.until)
			if err != nil {
				return err
			}
			ids := args[1:]
			switch ranged := f.since != "" || f.until != ""; {
			case ranged && len(ids) > 0:
				return shell.Usage("delivery ids and a period cannot be used together", "Name deliveries, or give --since and --until.")
			case !ranged && len(ids) == 0, f.since == "" && ranged:
				return shell.Usage("no deliveries were given", "Name deliveries, or give --since (and --until).")
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
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be started")
	return cmd
}

// span reads --since and --until.
func (sh Commands) span(since, until string) (after, before time.Time, err error) {
	if since != "" {
		if after, err = shell.ParseTime("since", since, sh.Now(), false); err != nil {
			return after, before, err
		}
	}
	if until != "" {
		if before, err = shell.ParseTime("until", until, sh.Now(), false); err != nil {
			return after, before, err
		}
	}
	if !after.IsZero() && !before.IsZero() && !after.Before(before) {
		return after, before, shell.Usage("--since is not before --until", "Swap them: --since is the older one.")
	}
	return after, before, nil
}

// redeliverable are the ids of a part of the log that can be delivered again, oldest
// first. The list is complete before the first redelivery: new rows must not get in.
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

// redelivered is the result for one delivery, for programs.
type redelivered struct {
	RedeliveryOf string `json:"redelivery_of"`
	DryRun       bool   `json:"dry_run,omitempty"`
	client.Redelivered
}

func (w *WebhookShell) redeliver(ctx context.Context, c *client.Client, hook *client.Webhook, ids []string, dryRun bool) error {
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
				fmt.Fprintf(w.Err, "%s: %s\n", shell.Clean(id), shell.Clean(w.Explain(err).Message))
			}
			if ctx.Err() != nil {
				break
			}
			continue
		}
		done = append(done, redelivered{id, dryRun, *result})
		if w.Format == shell.FormatNDJSON {
			if err := w.Document(done[len(done)-1]); err != nil {
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
func (sh Commands) howFar(at, of int) {
	if sh.ErrWidth == 0 || sh.Env["TERM"] == "dumb" || of == 1 {
		return
	}
	if of == 0 {
		fmt.Fprint(sh.Err, "\r\x1b[K")
		return
	}
	fmt.Fprintf(sh.Err, "\r\x1b[K-- %d of %d", at+1, of)
}

func (w *WebhookShell) tellRedelivered(done []redelivered, asked int) error {
	if w.Format == shell.FormatNDJSON {
		return nil // each was reported when it was done
	}
	if !w.ForPeople() {
		return w.Document(map[string]any{"redeliveries": done})
	}
	if asked == 0 {
		fmt.Fprintln(w.Err, "-- nothing from that period can be delivered again")
		return nil
	}
	var rows [][]shell.Cell
	runs := 0
	for _, r := range done {
		if len(r.Outcomes) == 0 {
			rows = append(rows, shell.Cells(r.RedeliveryOf, "-", shell.Styled("not matched", shell.StyleDim), "-", ""))
		}
		for _, o := range r.Outcomes {
			if o.Result == "started" {
				runs++
			}
			rows = append(rows, shell.Cells(
				r.RedeliveryOf, shell.OrDash(o.AutomationName), shell.Styled(resultWords(o.Result, r.DryRun), outcomeStyle(o.Result)),
				shell.OrDash(o.RunID), o.Reason,
			))
		}
	}
	if len(rows) > 0 {
		w.Table([]string{"DELIVERY", "AUTOMATION", "RESULT", "RUN ID", "REASON"}, rows)
	}
	told := "-- %d of %d delivered again; runs started: %d\n"
	if len(done) > 0 && done[0].DryRun {
		told = "-- %d of %d tried; runs that would start: %d\n"
	}
	fmt.Fprintf(w.Err, told, len(done), asked, runs)
	return nil
}
