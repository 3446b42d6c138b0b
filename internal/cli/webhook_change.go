package cli

import (
	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (w *webhookShell) updateCommand() *cobra.Command {
	var hmac client.WebhookHMAC
	var rate, bytes int
	var header, secretName string
	var guard bool
	cmd := &cobra.Command{
		Use:   "update WEBHOOK",
		Short: "Change the settings of a webhook",
		Long:  "Change the settings of a webhook. Its name, mode and scheme stay: for others make a second\nwebhook, move the sender to it, then delete the first.",
		Args:  needs(1, 1, oneWebhook),
		Example: example(
			"lineshaft webhook update ci --rate-limit 0", "no limit",
			"lineshaft webhook update ci --secret-name CI_TOKEN", "use a secret that people manage",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimits(cmd, rate, bytes); err != nil {
				return err
			}
			var change client.WebhookUpdate
			ifChanged(cmd, "rate-limit", &change.RateLimit, rate)
			ifChanged(cmd, "max-body-bytes", &change.MaxBodyBytes, bytes)
			ifChanged(cmd, "delivery-id-header", &change.DeliveryIDHeader, header)
			ifChanged(cmd, "secret-name", &change.SecretName, secretName)
			ifChanged(cmd, "replay-guard", &change.ReplayGuard, guard)
			if change == (client.WebhookUpdate{}) && hmacOrNil(hmac) == nil {
				return usage("nothing to change", "Say what, such as --rate-limit 120; see `lineshaft webhook update --help`.")
			}
			c, hook, err := w.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			change.HMAC = changedHMAC(cmd, hook.HMAC, hmac)
			changed, err := c.Webhooks.Update(cmd.Context(), hook.FactoryUID, hook.UID, change)
			if err != nil {
				return err
			}
			return w.show(changed)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&rate, "rate-limit", 0, "`NUMBER` of deliveries in a minute; 0 is no limit")
	flags.IntVar(&bytes, "max-body-bytes", 0, "`NUMBER` of bytes that a body may have")
	flags.StringVar(&header, "delivery-id-header", "", "`HEADER` that tells deliveries apart; empty takes it away")
	flags.StringVar(&secretName, "secret-name", "", "`NAME` of another managed secret to use")
	flags.BoolVar(&guard, "replay-guard", false, "treat a body that came before as a duplicate; --replay-guard=false does not")
	hmacFlags(flags, &hmac)
	flags.SortFlags = false
	return cmd
}

// changedHMAC writes what was given over the settings that there are: the server
// replaces them as a whole.
func changedHMAC(cmd *cobra.Command, is *client.WebhookHMAC, given client.WebhookHMAC) *client.WebhookHMAC {
	var all client.WebhookHMAC
	if is != nil {
		all = *is
	}
	changed := false
	for flag, field := range map[string]struct{ to, from *string }{
		"hmac-header": {&all.Header, &given.Header}, "hmac-prefix": {&all.Prefix, &given.Prefix}, "hmac-digest": {&all.Digest, &given.Digest},
		"hmac-encoding": {&all.Encoding, &given.Encoding}, "hmac-template": {&all.Template, &given.Template},
		"hmac-timestamp-header": {&all.TimestampHeader, &given.TimestampHeader}, "hmac-id-header": {&all.IDHeader, &given.IDHeader},
	} {
		if cmd.Flags().Changed(flag) {
			*field.to, changed = *field.from, true
		}
	}
	if !changed {
		return nil
	}
	return &all
}

func (w *webhookShell) rotateCommand() *cobra.Command {
	var secretFile, overlap string
	cmd := &cobra.Command{
		Use:   "rotate WEBHOOK",
		Short: "Replace the secret of a webhook, or give it the one it waits for",
		Long: "Replace the secret of a webhook. The old one ends at once, unless --overlap lets it live on\n" +
			"while the sender is changed. A webhook that waits for its provider's secret is enabled with it.",
		Args: needs(1, 1, oneWebhook),
		Example: example(
			"lineshaft webhook rotate ci --overlap 1h", "a generated secret; the old one works for an hour more",
			"lineshaft webhook rotate pay --secret-file stripe.txt", "the secret that the provider shows",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req client.WebhookRotation
			var err error
			if req.OverlapSeconds, err = overlapSeconds(overlap); err != nil {
				return err
			}
			if req.Secret, err = w.secretFrom(cmd.Context(), secretFile); err != nil {
				return err
			}
			c, hook, err := w.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			rotated, err := c.Webhooks.Rotate(cmd.Context(), hook.FactoryUID, hook.UID, req)
			if err != nil {
				return err
			}
			return w.issued(rotated, hook.FactoryUID)
		},
	}
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the new secret, or - for standard input (default: one is generated)")
	cmd.Flags().StringVar(&overlap, "overlap", "", "`TIME` that the old secret stays valid, such as 1h, at most 3d (default: it ends at once)")
	return cmd
}
