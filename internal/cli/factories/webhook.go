package factories

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// WebhookShell is a shell together with the factory that --factory names.
type WebhookShell struct {
	Commands
	Factory string
}

func (sh Commands) webhookCommand() *cobra.Command {
	w := &WebhookShell{Commands: sh}
	cmd := &cobra.Command{
		Use:     "webhook",
		Aliases: []string{"webhooks", "hook"},
		Short:   "Manage the addresses that other systems send deliveries to, and try them",
	}
	cmd.PersistentFlags().StringVar(&w.Factory, "factory", "", "`FACTORY` by uid, alias or name (default: the only one there is)")
	of := shell.Noun[*client.Webhook]{
		Sh: w.Shell, Word: "webhook", Sample: "ci", Refs: oneWebhook,
		Open: func(context.Context) (shell.Find[*client.Webhook], error) { return w.Find, nil },
	}
	return shell.Group(cmd,
		w.createCommand(), w.listCommand(), w.updateCommand(), w.rotateCommand(),
		of.Get("Show a webhook; its secret is not shown again",
			func(_ context.Context, _ *client.Client, hook *client.Webhook) error { return w.show(hook) },
			"lineshaft webhook get ci", "its address and settings"),
		of.Each("enable", "enabled", "Enable webhooks, with the current value of their secret", "by name or uid", webhookSwitch(true)),
		of.Each("disable", "disabled", "Disable webhooks: their senders get 404 at once", "by name or uid", webhookSwitch(false)),
		of.Each("delete", "deleted", "Delete webhooks: their senders get 404 at once", "the log of its deliveries stays for a while",
			func(ctx context.Context, c *client.Client, hook *client.Webhook) error {
				return c.Webhooks.Delete(ctx, hook.FactoryUID, hook.UID)
			}),
		w.testCommand(), w.sendCommand(), w.deliveriesCommand(), w.redeliverCommand(), w.testFilterCommand(),
	)
}

// oneWebhook is what commands about a webhook ask for.
const oneWebhook = "the name or uid of a webhook (`lineshaft webhook list` shows them)"

func (w *WebhookShell) open(ctx context.Context) (*client.Client, string, error) {
	c, err := w.Connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := w.FactoryUID(ctx, c, w.Factory)
	return c, uid, err
}

// Find reads a webhook by its name or uid.
func (w *WebhookShell) Find(ctx context.Context, ref string) (*client.Client, *client.Webhook, error) {
	c, factory, err := w.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := c.Webhooks.List(ctx, factory)
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		if list[i].Name == ref || list[i].UID == ref {
			list[i].FactoryUID = factory
			return c, &list[i], nil
		}
	}
	return nil, nil, shell.NotFound(fmt.Sprintf("the factory has no webhook %q", ref),
		shell.DidYouMean(ref, shell.NamesOf(list, func(w client.Webhook) string { return w.Name }))+"`lineshaft webhook list` shows them; --factory chooses the factory.")
}

func (w *WebhookShell) listCommand() *cobra.Command {
	return shell.Listing[client.Webhook]{
		Key: "webhooks", Head: []string{"NAME", "STATE", "MODE", "URL"},
		Row: func(hook *client.Webhook) []shell.Cell {
			return shell.Cells(hook.Name, webhookState(hook), WebhookMode(hook), hook.IngressURL)
		},
	}.Command(w.Shell, "List the webhooks of a factory", func(ctx context.Context, c *client.Client) ([]client.Webhook, error) {
		factory, err := w.FactoryUID(ctx, c, w.Factory)
		if err != nil {
			return nil, err
		}
		return c.Webhooks.List(ctx, factory)
	}, "lineshaft webhook list --factory shop", "names, modes, addresses", "lineshaft webhook list -o json", "for programs")
}

func webhookState(hook *client.Webhook) shell.Cell {
	switch {
	case hook.NeedsSecret:
		return shell.Styled("needs secret", shell.StyleWait)
	case hook.Enabled:
		return shell.Styled("enabled", shell.StyleGood)
	}
	return shell.Styled("disabled", shell.StyleDim)
}

// WebhookMode is how senders prove themselves: the scheme where they sign.
func WebhookMode(hook *client.Webhook) string {
	if hook.SignatureScheme != "" {
		return hook.SignatureScheme
	}
	return hook.AuthMode
}

// show prints a webhook.
func (w *WebhookShell) show(hook *client.Webhook) error {
	return w.Show(hook, func() {
		rate := "no limit"
		if hook.RateLimit > 0 {
			rate = shell.Count(hook.RateLimit, "delivery") + " a minute"
		}
		guard := ""
		if hook.ReplayGuard {
			guard = "on"
		}
		w.Pairs([][2]string{
			{"Name", hook.Name},
			{"UID", hook.UID},
			{"State", webhookState(hook).Text},
			{"Mode", hook.AuthMode},
			{"Scheme", hook.SignatureScheme},
			{"URL", hook.IngressURL},
			{"Secret kept as", hook.SecretName},
			{"Old secret until", w.oldSecret(hook)},
			{"Delivery-ID header", hook.DeliveryIDHeader},
			{"Rate limit", rate},
			{"Body limit", strconv.Itoa(hook.MaxBodyBytes) + " bytes"},
			{"Replay guard", guard},
			{"HMAC", hmacLine(hook.HMAC)},
			{"Created", w.When(hook.CreatedAt)},
			{"Updated", w.When(hook.UpdatedAt)},
		})
	})
}

// oldSecret is when the secret from before the last rotation ends; empty if it has.
func (w *WebhookShell) oldSecret(hook *client.Webhook) string {
	if hook.OldSecretUntil == nil {
		return ""
	}
	return hook.OldSecretUntil.UTC().Format(time.RFC3339)
}

func hmacLine(h *client.WebhookHMAC) string {
	if h == nil {
		return ""
	}
	var parts []string
	for _, p := range [][2]string{
		{"header", h.Header},
		{"prefix", h.Prefix},
		{"digest", h.Digest},
		{"encoding", h.Encoding},
		{"template", h.Template},
		{"timestamp", h.TimestampHeader},
		{"id", h.IDHeader},
	} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+shell.OneLine(p[1]))
		}
	}
	return strings.Join(parts, ", ")
}

func webhookSwitch(on bool) func(context.Context, *client.Client, *client.Webhook) error {
	return func(ctx context.Context, c *client.Client, hook *client.Webhook) error {
		_, err := c.Webhooks.Update(ctx, hook.FactoryUID, hook.UID, client.WebhookUpdate{Enabled: &on})
		return err
	}
}

func (w *WebhookShell) updateCommand() *cobra.Command {
	var hmac client.WebhookHMAC
	var rate, bytes int
	var header, secretName string
	var guard bool
	cmd := &cobra.Command{
		Use:   "update WEBHOOK",
		Short: "Change the settings of a webhook",
		Args:  shell.Needs(1, 1, oneWebhook),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimits(cmd, rate, bytes); err != nil {
				return err
			}
			var change client.WebhookUpdate
			shell.IfChanged(cmd, "rate-limit", &change.RateLimit, rate)
			shell.IfChanged(cmd, "max-body-bytes", &change.MaxBodyBytes, bytes)
			shell.IfChanged(cmd, "delivery-id-header", &change.DeliveryIDHeader, header)
			shell.IfChanged(cmd, "secret-name", &change.SecretName, secretName)
			shell.IfChanged(cmd, "replay-guard", &change.ReplayGuard, guard)
			if change == (client.WebhookUpdate{}) && hmacOrNil(hmac) == nil {
				return shell.Usage("nothing to change", "Say what, such as --rate-limit 120; see `lineshaft webhook update --help`.")
			}
			c, hook, err := w.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			change.HMAC = changedHMAC(cmd, hook.HMAC, hmac)
			return shell.Shown(w.show)(c.Webhooks.Update(cmd.Context(), hook.FactoryUID, hook.UID, change))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&rate, "rate-limit", 0, "`NUMBER` of deliveries per minute; 0 means no limit")
	flags.IntVar(&bytes, "max-body-bytes", 0, "largest body, as a `NUMBER` of bytes")
	flags.StringVar(&header, "delivery-id-header", "", "`HEADER` that identifies a delivery; empty removes it")
	flags.StringVar(&secretName, "secret-name", "", "`NAME` of another managed secret to use")
	flags.BoolVar(&guard, "replay-guard", false, "treat a body that was seen before as a duplicate; --replay-guard=false turns this off")
	hmacFlags(flags, &hmac)
	flags.SortFlags = false
	return cmd
}

// changedHMAC merges the given values into the existing settings: the server
// replaces them as a whole.
func changedHMAC(cmd *cobra.Command, is *client.WebhookHMAC, given client.WebhookHMAC) *client.WebhookHMAC {
	var all client.WebhookHMAC
	if is != nil {
		all = *is
	}
	if !shell.SetTexts(cmd, map[string]struct{ To, From *string }{
		"hmac-header": {&all.Header, &given.Header}, "hmac-prefix": {&all.Prefix, &given.Prefix}, "hmac-digest": {&all.Digest, &given.Digest},
		"hmac-encoding": {&all.Encoding, &given.Encoding}, "hmac-template": {&all.Template, &given.Template},
		"hmac-timestamp-header": {&all.TimestampHeader, &given.TimestampHeader}, "hmac-id-header": {&all.IDHeader, &given.IDHeader},
	}) {
		return nil
	}
	return &all
}

func (w *WebhookShell) rotateCommand() *cobra.Command {
	var secretFile, overlap string
	cmd := &cobra.Command{
		Use:   "rotate WEBHOOK",
		Short: "Replace the secret of a webhook, or set the one from its provider",
		Args:  shell.Needs(1, 1, oneWebhook),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req client.WebhookRotation
			var err error
			if req.OverlapSeconds, err = shell.OverlapSeconds(overlap); err != nil {
				return err
			}
			if req.Secret, err = w.SecretFrom(cmd.Context(), secretFile); err != nil {
				return err
			}
			c, hook, err := w.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			rotated, err := c.Webhooks.Rotate(cmd.Context(), hook.FactoryUID, hook.UID, req)
			if err != nil {
				return err
			}
			return w.Issued(rotated, cmp.Or(w.Factory, hook.FactoryUID))
		},
	}
	cmd.Flags().StringVar(&secretFile, "secret-file", "", "`FILE` with the new secret, or - for standard input (default: one is generated)")
	cmd.Flags().StringVar(&overlap, "overlap", "", "how long the old secret stays valid, as a `TIME` such as 1h, at most 3d (default: it ends at once)")
	return cmd
}
