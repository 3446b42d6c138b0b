package team

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

func (sh Commands) notificationCommand() *cobra.Command {
	of := shell.Noun[*client.Notification]{
		Sh: sh.Shell, Word: "notification", Sample: "example.com", Refs: notificationRefs,
		Open: func(context.Context) (shell.Find[*client.Notification], error) { return sh.findNotification, nil },
	}
	return shell.Group(&cobra.Command{
		Use:     "notification",
		Aliases: []string{"notifications", "callback", "callbacks"},
		Short:   "Manage the endpoints that are notified of runs, and read what was sent to them",
	},
		sh.notificationCreateCommand(), sh.notificationListCommand(), sh.notificationUpdateCommand(), sh.notificationRotateCommand(),
		of.Get("Show an endpoint; its secret is not shown again",
			func(_ context.Context, _ *client.Client, n *client.Notification) error { return sh.showNotification(n) },
			"lineshaft notification get example.com", "by name or id"),
		of.Each("enable", "enabled", "Send to endpoints again, including those that were given up", "what waits is sent", notificationSwitch(true)),
		of.Each("disable", "disabled", "Send nothing to endpoints until they are enabled", "what waits is kept", notificationSwitch(false)),
		of.Each("delete", "deleted", "Delete endpoints: nothing more is sent to them", "what waits for it is not sent",
			func(ctx context.Context, c *client.Client, n *client.Notification) error {
				return c.Notifications.Delete(ctx, n.ID)
			}),
		sh.notificationTestCommand(), sh.notificationDeliveriesCommand(), sh.notificationReplayCommand(),
	)
}

const notificationRefs = "a notification by name or id (`lineshaft notification list` shows them)"

// findNotification connects and finds an endpoint by id, or by a name that only one has.
func (sh Commands) findNotification(ctx context.Context, ref string) (*client.Client, *client.Notification, error) {
	c, err := sh.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if shell.LooksLikeUID(ref) {
		found, err := c.Notifications.Get(ctx, ref)
		return c, found, err
	}
	list, err := c.Notifications.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := shell.Pick(list, ref, func(n *client.Notification) string { return n.Name },
		"there is no notification named %q", "`lineshaft notification list` shows them.", func(found []*client.Notification) error {
			ids := shell.NamesOf(found, func(n *client.Notification) string { return shell.OneLine(n.ID) })
			return shell.Usage(fmt.Sprintf("%d notifications are named %q", len(found), ref),
				"Give the id of one: "+strings.Join(ids, ", "))
		})
	return c, found, err
}

func (sh Commands) notificationListCommand() *cobra.Command {
	return shell.Listing[client.Notification]{
		Key: "notifications", None: "no notifications; create one: lineshaft notification create URL",
		Head: []string{"NAME", "STATE", "EVENTS", "ID", "URL"},
		Row: func(n *client.Notification) []shell.Cell {
			return shell.Cells(n.Name, notificationState(n), heardStates(n), n.ID, n.URL)
		},
	}.Command(sh.Shell, "List the endpoints that get callbacks, the oldest first",
		func(ctx context.Context, c *client.Client) ([]client.Notification, error) {
			return c.Notifications.List(ctx)
		},
		"lineshaft notification list", "states and addresses", "lineshaft notification list -o ndjson", "one line for each")
}

func notificationState(n *client.Notification) shell.Cell {
	switch {
	case !n.Enabled && n.DisabledReason != "":
		return shell.Styled("given up", shell.StyleBad)
	case !n.Enabled:
		return shell.Styled("disabled", shell.StyleDim)
	case n.LastFailureAt != nil && (n.LastSuccessAt == nil || n.LastSuccessAt.Before(*n.LastFailureAt)):
		return shell.Styled("failing", shell.StyleWait)
	}
	return shell.Styled("enabled", shell.StyleGood)
}

func heardStates(n *client.Notification) string {
	if len(n.States) == 0 {
		return "every state"
	}
	var words []string
	for _, state := range n.States {
		words = append(words, strings.ToLower(shell.OneLine(string(state))))
	}
	return strings.Join(words, ", ")
}

func (sh Commands) showNotification(n *client.Notification) error {
	return sh.Show(n, func() {
		state := notificationState(n)
		sh.Pairs([][2]string{
			{"Notification", n.ID},
			{"Name", n.Name},
			{"URL", n.URL},
			{"Secret", n.Secret},
			{"Description", n.Description},
			{"State", state.Text},
			{"Why", n.DisabledReason},
			{"Events", heardStates(n)},
			{"Factories", strings.Join(n.FactoryUIDs, ", ")},
			{"Runs named", n.RunName},
			{"Old secret until", sh.WhenSet(n.OldSecretUntil)},
			{"Last success", sh.WhenSet(n.LastSuccessAt)},
			{"Last failure", sh.WhenSet(n.LastFailureAt)},
			{"Created", sh.When(n.CreatedAt)},
			{"Updated", sh.When(n.UpdatedAt)},
		}, shell.Styled("State", state.Style))
	})
}

// notificationSwitch enables endpoints, or disables them.
func notificationSwitch(on bool) func(context.Context, *client.Client, *client.Notification) error {
	return func(ctx context.Context, c *client.Client, n *client.Notification) error {
		_, err := c.Notifications.Update(ctx, n.ID, client.NotificationUpdate{Enabled: &on})
		return err
	}
}

// notificationFlags say which changes an endpoint watches.
type notificationFlags struct {
	name, description, runName string
	states, factories          []string
}

func (f *notificationFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the endpoint (default: host and port of the URL)")
	flags.StringVar(&f.description, "description", "", "`TEXT` for people")
	flags.StringArrayVar(&f.states, "state", nil, "only runs that reach `STATE`; repeatable, or several with commas")
	flags.StringArrayVar(&f.factories, "factory", nil, "only runs of `FACTORY`, by uid, alias or name; repeatable")
	flags.StringVar(&f.runName, "run-name", "", "only runs of this `NAME`")
	flags.SortFlags = false
	var words []string
	for _, state := range client.RunStates() {
		words = append(words, string(state))
	}
	shell.CompleteWords(cmd, "state", words...)
}

// chosen reads the states and finds the factories.
func (f *notificationFlags) chosen(ctx context.Context, sh Commands, c *client.Client) (states []client.RunState, factories []string, err error) {
	if states, err = shell.ParseStates(f.states); err != nil {
		return nil, nil, err
	}
	factories, err = sh.FactoryUIDs(ctx, c, f.factories)
	return states, factories, err
}

func (sh Commands) notificationCreateCommand() *cobra.Command {
	var f notificationFlags
	var secretFile string
	cmd := &cobra.Command{
		Use:   "create URL",
		Short: "Create an endpoint; its signing secret is shown once",
		Args:  shell.Needs(1, 1, "the URL to send to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := shell.ParseStates(f.states); err != nil {
				return err
			}
			secret, err := sh.SecretFrom(cmd.Context(), secretFile)
			if err != nil {
				return err
			}
			c, err := sh.Connect(cmd.Context())
			if err != nil {
				return err
			}
			req := client.NotificationRequest{URL: args[0], Name: f.name, Description: f.description, RunName: f.runName, Secret: secret}
			if req.States, req.FactoryUIDs, err = f.chosen(cmd.Context(), sh, c); err != nil {
				return err
			}
			return shell.Shown(sh.issuedNotification)(c.Notifications.Create(cmd.Context(), req))
		},
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the secret, whsec_ and base64, or - for standard input (default: one is generated)")
	return cmd
}

// issuedNotification shows an endpoint that has just got a secret.
func (sh Commands) issuedNotification(n *client.Notification) error {
	if err := sh.showNotification(n); err != nil || !sh.ForPeople() {
		return err
	}
	if n.Secret != "" {
		fmt.Fprintln(sh.Err, "-- copy the secret now: it is not shown again")
	}
	if n.Enabled {
		fmt.Fprintf(sh.Err, "-- to try it, run\nlineshaft notification test %s\n", shell.OneLine(n.ID))
	}
	return nil
}

func (sh Commands) notificationUpdateCommand() *cobra.Command {
	var f notificationFlags
	var url string
	cmd := &cobra.Command{
		Use:   "update NOTIFICATION",
		Short: "Change an endpoint's events, name or URL",
		Args:  shell.Needs(1, 1, notificationRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := f.change(cmd, url)
			if err != nil {
				return err
			}
			if reflect.ValueOf(change).IsZero() && !cmd.Flags().Changed("factory") {
				return shell.Usage("nothing to change", "Say what, such as --state failed; see `lineshaft notification update --help`.")
			}
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("factory") {
				if change.AllFactories = onlyEmpty(f.factories); !change.AllFactories {
					uids, err := sh.FactoryUIDs(cmd.Context(), c, f.factories)
					if err != nil {
						return err
					}
					change.FactoryUIDs = &uids
				}
			}
			return shell.Shown(sh.showNotification)(c.Notifications.Update(cmd.Context(), found.ID, change))
		},
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&url, "to", "", "`URL` to send to from now on")
	return cmd
}

// change is what the flags say but for factories, which need a server to be found.
func (f *notificationFlags) change(cmd *cobra.Command, url string) (client.NotificationUpdate, error) {
	var change client.NotificationUpdate
	shell.IfChanged(cmd, "to", &change.URL, url)
	shell.IfChanged(cmd, "name", &change.Name, f.name)
	shell.IfChanged(cmd, "description", &change.Description, f.description)
	shell.IfChanged(cmd, "run-name", &change.RunName, f.runName)
	if cmd.Flags().Changed("state") {
		states := []client.RunState{}
		if !onlyEmpty(f.states) {
			var err error
			if states, err = shell.ParseStates(f.states); err != nil {
				return change, err
			}
		}
		change.States = &states
	}
	return change, nil
}

func onlyEmpty(words []string) bool { return len(words) == 1 && words[0] == "" }

func (sh Commands) notificationRotateCommand() *cobra.Command {
	var secretFile, overlap string
	cmd := &cobra.Command{
		Use:   "rotate NOTIFICATION",
		Short: "Replace the signing secret of an endpoint",
		Args:  shell.Needs(1, 1, notificationRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req client.NotificationRotation
			var err error
			if req.OverlapSeconds, err = shell.OverlapSeconds(overlap); err != nil {
				return err
			}
			if req.Secret, err = sh.SecretFrom(cmd.Context(), secretFile); err != nil {
				return err
			}
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return shell.Shown(sh.issuedNotification)(c.Notifications.Rotate(cmd.Context(), found.ID, req))
		},
	}
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the new secret, or - for standard input (default: one is generated)")
	cmd.Flags().StringVar(&overlap, "overlap", "", "how long the old secret also signs, as a `TIME` such as 1h, at most 3d (default: it ends at once)")
	return cmd
}

func deliveryStatuses() []string { return []string{"pending", "delivered", "failed"} }

func (sh Commands) notificationDeliveriesCommand() *cobra.Command {
	var q client.NotificationDeliveryQuery
	var all bool
	cmd := &cobra.Command{
		Use:   "deliveries NOTIFICATION [DELIVERY_ID]",
		Short: "Read what was sent to an endpoint, or one delivery with its attempts and payload",
		Args:  shell.Needs(1, 2, notificationRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shell.OneOf("status", q.Status, deliveryStatuses()); err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > 500 {
				return shell.Usage(fmt.Sprintf("--limit %d is not between 1 and 500", q.Limit), "Use --all for all deliveries.")
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
	shell.PageFlags(cmd, "deliveries", &q.Limit, &q.Cursor, &all)
	shell.CompleteWords(cmd, "status", deliveryStatuses()...)
	return cmd
}

func (sh Commands) notificationDeliveries(
	ctx context.Context, c *client.Client, id string, q client.NotificationDeliveryQuery, all bool,
) (err error) {
	page := &client.NotificationDeliveryPage{}
	if all {
		page.Deliveries, err = shell.Collect(c.Notifications.AllDeliveries(ctx, id, q))
	} else {
		page, err = c.Notifications.Deliveries(ctx, id, q)
	}
	if err != nil {
		return err
	}
	err = shell.Listing[client.NotificationDelivery]{
		Whole: page, Head: []string{"ID", "STATUS", "TRIES", "MADE", "NEXT", "WHAT"},
		Row: func(d *client.NotificationDelivery) []shell.Cell {
			return shell.Cells(d.ID, deliveryStatus(d), d.AttemptCount, sh.When(d.CreatedAt), shell.OrDash(sh.WhenSet(d.NextAttemptAt)), deliveryWhat(d))
		},
	}.Show(sh.Shell, page.Deliveries, nil)
	if sh.ForPeople() && page.PageInfo.HasNextPage {
		fmt.Fprintf(sh.Err, "-- more: --all, or --cursor %s\n", shell.OneLine(page.PageInfo.NextCursor))
	}
	return err
}

func deliveryStatus(d *client.NotificationDelivery) shell.Cell {
	styles := map[string]shell.Style{"delivered": shell.StyleGood, "failed": shell.StyleBad, "pending": shell.StyleWait}
	return shell.Styled(shell.OneLine(d.Status), styles[d.Status])
}

func deliveryWhat(d *client.NotificationDelivery) string {
	what := shell.OneLine(d.Type)
	if d.RunID != "" {
		what = "run " + shell.OneLine(d.RunID) + " " + shell.OneLine(string(d.State))
	}
	if d.LastError != "" && d.Status != "delivered" {
		what += ": " + shell.OneLine(d.LastError)
	}
	return what
}

func (sh Commands) notificationDelivery(ctx context.Context, c *client.Client, id, deliveryID string) error {
	return shell.Shown(sh.showNotificationDelivery)(c.Notifications.Delivery(ctx, id, deliveryID))
}

func (sh Commands) showNotificationDelivery(d *client.NotificationDelivery) error {
	return sh.Show(d, func() {
		status := deliveryStatus(d)
		list := [][2]string{
			{"Delivery", d.ID},
			{"Event", d.EventID},
			{"Type", d.Type},
			{"Run", d.RunID},
			{"State", string(d.State)},
			{"Status", status.Text},
			{"Next attempt", sh.WhenSet(d.NextAttemptAt)},
			{"Last error", d.LastError},
			{"Made", sh.When(d.CreatedAt)},
			{"Ended", sh.WhenSet(d.FinishedAt)},
		}
		for _, a := range d.Attempts {
			outcome := shell.OneLine(a.Error)
			if a.StatusCode != 0 {
				outcome = "status " + strconv.Itoa(a.StatusCode)
			}
			list = append(list, [2]string{"Attempt " + strconv.Itoa(a.Number), fmt.Sprintf("%s, %s, %d ms", sh.When(a.Time), outcome, a.DurationMS)})
		}
		sh.Pairs(list, shell.Styled("Status", status.Style))
		if text := string(d.Payload); text != "" && text != "null" { // null: its run was deleted
			fmt.Fprintf(sh.Out, "\n%s\n", shell.Clean(text))
		}
	})
}

func (sh Commands) notificationReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use: "replay NOTIFICATION DELIVERY_ID...", Short: "Send deliveries again, with the same id and payload", Args: shell.Needs(2, -1, "a notification and the ids of deliveries"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.Each(cmd.Context(), args[1:], "replayed", func(ctx context.Context, deliveryID string) error {
				_, err := c.Notifications.Replay(ctx, found.ID, deliveryID)
				return err
			})
		},
	}
}

func (sh Commands) notificationTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NOTIFICATION", Short: "Send a test callback to an endpoint", Args: shell.Needs(1, 1, notificationRefs),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := c.Notifications.Test(cmd.Context(), found.ID)
			if err != nil {
				return err
			}
			if err := sh.showNotificationDelivery(d); err != nil || !sh.ForPeople() {
				return err
			}
			fmt.Fprintf(sh.Err, "-- to see the result, run\nlineshaft notification deliveries %s %s\n", shell.OneLine(found.ID), shell.OneLine(d.ID))
			return nil
		},
	}
}
