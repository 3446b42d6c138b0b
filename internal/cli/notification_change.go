package cli

import (
	"context"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
)

// notificationFlags say which changes an endpoint hears of.
type notificationFlags struct {
	name, description, runName string
	states, factories          []string
}

func (f *notificationFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the endpoint (default: host and port of the URL)")
	flags.StringVar(&f.description, "description", "", "`TEXT` for people")
	flags.StringArrayVar(&f.states, "state", nil, "hear only of runs that come to `STATE`; repeatable, or several with commas")
	flags.StringArrayVar(&f.factories, "factory", nil, "hear only of runs of `FACTORY` by uid, alias or name; may be given several times")
	flags.StringVar(&f.runName, "run-name", "", "hear only of runs of this `NAME`")
	flags.SortFlags = false
	var words []string
	for _, state := range client.RunStates() {
		words = append(words, string(state))
	}
	completeWords(cmd, "state", words...)
}

// chosen reads the states and finds the factories.
func (f *notificationFlags) chosen(ctx context.Context, sh *shell, c *client.Client) (states []client.RunState, factories []string, err error) {
	if states, err = parseStates(f.states); err != nil {
		return nil, nil, err
	}
	factories, err = sh.factoryUIDs(ctx, c, f.factories)
	return states, factories, err
}

func (sh *shell) notificationCreateCommand() *cobra.Command {
	var f notificationFlags
	var secretFile string
	cmd := &cobra.Command{
		Use:   "create URL",
		Short: "Create an endpoint; its signing secret is shown once",
		Long: "Create an endpoint. It gets a signed POST (Standard Webhooks) whenever a run that it hears of comes to another\n" +
			"state; what fails is tried again for three days. Verify the signature with the secret, which is shown once.",
		Args: needs(1, 1, "the URL to send to"),
		Example: example(
			"lineshaft notification create https://example.com/hook", "every state change of every run",
			"lineshaft notification create https://example.com/hook --factory shop --state failed", "failed runs of one factory",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := parseStates(f.states); err != nil {
				return err
			}
			secret, err := sh.secretFrom(cmd.Context(), secretFile)
			if err != nil {
				return err
			}
			c, err := sh.connect(cmd.Context())
			if err != nil {
				return err
			}
			req := client.NotificationRequest{URL: args[0], Name: f.name, Description: f.description, RunName: f.runName, Secret: secret}
			if req.States, req.FactoryUIDs, err = f.chosen(cmd.Context(), sh, c); err != nil {
				return err
			}
			made, err := c.Notifications.Create(cmd.Context(), req)
			if err != nil {
				return err
			}
			return sh.issuedNotification(made)
		},
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the secret, whsec_ and base64, or - for standard input (default: one is generated)")
	return cmd
}

// issuedNotification shows an endpoint that has just got a secret.
func (sh *shell) issuedNotification(n *client.Notification) error {
	if err := sh.showNotification(n); err != nil || !sh.forPeople() {
		return err
	}
	if n.Secret != "" {
		fmt.Fprintln(sh.err, "-- copy the secret now: it is not shown again")
	}
	if n.Enabled {
		fmt.Fprintf(sh.err, "-- to try it, run\nlineshaft notification test %s\n", oneLine(n.ID))
	}
	return nil
}

func (sh *shell) notificationUpdateCommand() *cobra.Command {
	var f notificationFlags
	var url string
	cmd := &cobra.Command{
		Use:   "update NOTIFICATION",
		Short: "Change what an endpoint hears of, its name or its URL",
		Args:  needs(1, 1, notificationRefs),
		Example: example(
			"lineshaft notification update example.com --state failed --state error", "instead of the states it had",
			"lineshaft notification update example.com --state ''", "every state",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := f.change(cmd, url)
			if err != nil {
				return err
			}
			if reflect.ValueOf(change).IsZero() && !cmd.Flags().Changed("factory") {
				return usage("nothing to change", "Say what, such as --state failed; see `lineshaft notification update --help`.")
			}
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("factory") {
				if change.AllFactories = onlyEmpty(f.factories); !change.AllFactories {
					uids, err := sh.factoryUIDs(cmd.Context(), c, f.factories)
					if err != nil {
						return err
					}
					change.FactoryUIDs = &uids
				}
			}
			changed, err := c.Notifications.Update(cmd.Context(), found.ID, change)
			if err != nil {
				return err
			}
			return sh.showNotification(changed)
		},
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&url, "to", "", "`URL` to send to from now on")
	return cmd
}

// change is what the flags say but for factories, which need a server to be found.
func (f *notificationFlags) change(cmd *cobra.Command, url string) (client.NotificationUpdate, error) {
	var change client.NotificationUpdate
	ifChanged(cmd, "to", &change.URL, url)
	ifChanged(cmd, "name", &change.Name, f.name)
	ifChanged(cmd, "description", &change.Description, f.description)
	ifChanged(cmd, "run-name", &change.RunName, f.runName)
	if cmd.Flags().Changed("state") {
		states := []client.RunState{}
		if !onlyEmpty(f.states) {
			var err error
			if states, err = parseStates(f.states); err != nil {
				return change, err
			}
		}
		change.States = &states
	}
	return change, nil
}

// onlyEmpty says that a list was given to be emptied.
func onlyEmpty(words []string) bool { return len(words) == 1 && words[0] == "" }

func (sh *shell) notificationRotateCommand() *cobra.Command {
	var secretFile, overlap string
	cmd := &cobra.Command{
		Use:   "rotate NOTIFICATION",
		Short: "Replace the signing secret of an endpoint",
		Long:  "Replace the signing secret of an endpoint. During --overlap callbacks carry the signatures of both secrets, so that\nthe receiver can be changed without losing one.",
		Args:  needs(1, 1, notificationRefs),
		Example: example(
			"lineshaft notification rotate example.com --overlap 24h", "both secrets sign for a day",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req client.NotificationRotation
			var err error
			if req.OverlapSeconds, err = overlapSeconds(overlap); err != nil {
				return err
			}
			if req.Secret, err = sh.secretFrom(cmd.Context(), secretFile); err != nil {
				return err
			}
			c, found, err := sh.findNotification(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			rotated, err := c.Notifications.Rotate(cmd.Context(), found.ID, req)
			if err != nil {
				return err
			}
			return sh.issuedNotification(rotated)
		},
	}
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the new secret, or - for standard input (default: one is generated)")
	cmd.Flags().StringVar(&overlap, "overlap", "", "`TIME` that the old secret signs, too, such as 1h, at most 3d (default: it ends at once)")
	return cmd
}

// overlapSeconds reads how long an old secret stays.
func overlapSeconds(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usage("--overlap "+text+" is not a time", "Write --overlap 30m, 12h or 3d.")
	}
	if d > lineshaft.MaxOverlap {
		return 0, usage("--overlap "+text+" is more than 3d", "An old secret stays valid for three days at most.")
	}
	return int(d.Seconds()), nil
}
