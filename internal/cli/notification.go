package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) notificationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "notification",
		Aliases: []string{"notifications", "callback", "callbacks"},
		Short:   "Manage the addresses that hear how runs go, and read what was sent there",
		Example: example(
			"lineshaft notification create https://example.com/hook --state failed --state error", "hear of what went wrong",
			"lineshaft notification list", "what there is, and whether it answers",
			"lineshaft notification deliveries example.com", "what was sent, and what is tried again",
		),
	}
	cmd.AddCommand(
		sh.notificationCreateCommand(), sh.notificationListCommand(), sh.notificationGetCommand(), sh.notificationUpdateCommand(),
		sh.notificationRotateCommand(), sh.notificationSwitchCommand(true), sh.notificationSwitchCommand(false), sh.notificationDeleteCommand(),
		sh.notificationTestCommand(), sh.notificationDeliveriesCommand(), sh.notificationReplayCommand(),
	)
	group(cmd)
	return cmd
}

const notificationRefs = "a notification by name or id (`lineshaft notification list` shows them)"

// findNotification connects and finds an endpoint by id, or by a name that only one has.
func (sh *shell) findNotification(ctx context.Context, ref string) (*client.Client, *client.Notification, error) {
	c, err := sh.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if looksLikeUID(ref) {
		found, err := c.Notifications.Get(ctx, ref)
		return c, found, err
	}
	list, err := c.Notifications.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	var found []*client.Notification
	var ids []string
	for i := range list {
		if list[i].Name == ref {
			found, ids = append(found, &list[i]), append(ids, oneLine(list[i].ID))
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, &hintError{code: exitNotFound, message: fmt.Sprintf("there is no notification named %q", ref), hint: didYouMean(ref, namesOf(list, func(n client.Notification) string { return n.Name })) + "`lineshaft notification list` shows them."}
	case 1:
		return c, found[0], nil
	}
	return nil, nil, usage(fmt.Sprintf("%d notifications are named %q", len(found), ref), "Give the id of one: "+strings.Join(ids, ", "))
}

func (sh *shell) notificationListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the endpoints that get callbacks, the oldest first", Args: needs(0, 0, ""),
		Example: example("lineshaft notification list", "states and addresses", "lineshaft notification list -o ndjson", "one line for each"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, _ []string) error {
			list, err := c.Notifications.List(cmd.Context())
			return listing[client.Notification]{
				key: "notifications", none: "no notifications; make one: lineshaft notification create URL",
				head: []string{"NAME", "STATE", "HEARS OF", "ID", "URL"},
				row: func(n *client.Notification) []cell {
					return []cell{plain(oneLine(n.Name)), notificationState(n), plain(heardStates(n)), plain(oneLine(n.ID)), plain(oneLine(n.URL))}
				},
			}.show(sh, list, err)
		}),
	}
}

func notificationState(n *client.Notification) cell {
	switch {
	case !n.Enabled && n.DisabledReason != "":
		return cell{"given up", styleBad}
	case !n.Enabled:
		return cell{"disabled", styleDim}
	case n.LastFailureAt != nil && (n.LastSuccessAt == nil || n.LastSuccessAt.Before(*n.LastFailureAt)):
		return cell{"failing", styleWait}
	}
	return cell{"enabled", styleGood}
}

func heardStates(n *client.Notification) string {
	if len(n.States) == 0 {
		return "every state"
	}
	var words []string
	for _, state := range n.States {
		words = append(words, strings.ToLower(oneLine(string(state))))
	}
	return strings.Join(words, ", ")
}

func (sh *shell) notificationGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get NOTIFICATION", Short: "Show an endpoint; its secret is not shown again", Args: needs(1, 1, notificationRefs),
		Example: example("lineshaft notification get example.com", "by name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.showNotification(found)
		},
	}
}

func (sh *shell) showNotification(n *client.Notification) error {
	if !sh.forPeople() {
		return sh.document(n)
	}
	state := notificationState(n)
	sh.pairs([][2]string{
		{"Notification", oneLine(n.ID)},
		{"Name", oneLine(n.Name)},
		{"URL", oneLine(n.URL)},
		{"Secret", oneLine(n.Secret)},
		{"Description", oneLine(n.Description)},
		{"State", sh.paint(sh.outWidth, state.style, state.text)},
		{"Why", oneLine(n.DisabledReason)},
		{"Hears of", heardStates(n)},
		{"Factories", oneLine(strings.Join(n.FactoryUIDs, ", "))},
		{"Runs named", oneLine(n.RunName)},
		{"Old secret until", sh.whenSet(n.OldSecretUntil)},
		{"Last success", sh.whenSet(n.LastSuccessAt)},
		{"Last failure", sh.whenSet(n.LastFailureAt)},
		{"Created", sh.when(n.CreatedAt)},
		{"Updated", sh.when(n.UpdatedAt)},
	})
	return nil
}

func (sh *shell) notificationSwitchCommand(on bool) *cobra.Command {
	verb, short, why := "disable", "Send nothing to endpoints until they are enabled", "what waits is kept"
	if on {
		verb, short, why = "enable", "Send to endpoints again, also to those that were given up", "what waits is sent"
	}
	return &cobra.Command{
		Use: verb + " NOTIFICATION...", Short: short, Args: needs(1, -1, notificationRefs),
		Example: example("lineshaft notification "+verb+" example.com", why),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sh.each(cmd.Context(), args, verb+"d", func(ctx context.Context, ref string) error {
				c, found, err := sh.findNotification(ctx, ref)
				if err != nil {
					return err
				}
				_, err = c.Notifications.Update(ctx, found.ID, client.NotificationUpdate{Enabled: &on})
				return err
			})
		},
	}
}

func (sh *shell) notificationDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NOTIFICATION...", Short: "Delete endpoints: nothing more is sent to them", Args: needs(1, -1, notificationRefs),
		Example: example("lineshaft notification delete example.com", "what waits for it is not sent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sh.each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				c, found, err := sh.findNotification(ctx, ref)
				if err != nil {
					return err
				}
				return c.Notifications.Delete(ctx, found.ID)
			})
		},
	}
}
