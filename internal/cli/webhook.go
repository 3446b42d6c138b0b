package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

// webhookShell is a shell together with the factory that --factory names.
type webhookShell struct {
	*shell
	factory string
}

func (sh *shell) webhookCommand() *cobra.Command {
	w := &webhookShell{shell: sh}
	cmd := &cobra.Command{
		Use:     "webhook",
		Aliases: []string{"webhooks", "hook"},
		Short:   "Manage the addresses that other systems send deliveries to, and try them",
		Example: example(
			"lineshaft webhook create ci --factory shop", "a new address with a token; both are shown",
			"lineshaft webhook create issues --scheme github", "for GitHub, in the only factory there is",
			"lineshaft webhook list", "what there is, and what is switched on",
		),
	}
	cmd.PersistentFlags().StringVar(&w.factory, "factory", "", "`FACTORY` by uid, alias or name (default: the only one there is)")
	cmd.AddCommand(
		w.createCommand(), w.listCommand(), w.getCommand(), w.updateCommand(), w.rotateCommand(),
		w.switchCommand("enable", "Let webhooks take deliveries, with the value that their secret has now", true),
		w.switchCommand("disable", "Switch webhooks off: their senders get 404 at once", false),
		w.deleteCommand(), w.sendCommand(), w.deliveriesCommand(), w.redeliverCommand(), w.testFilterCommand(),
	)
	group(cmd)
	return cmd
}

// oneWebhook is what commands about a webhook ask for.
const oneWebhook = "the name or uid of a webhook (`lineshaft webhook list` shows them)"

// open connects and finds the factory.
func (w *webhookShell) open(ctx context.Context) (*client.Client, string, error) {
	c, err := w.connect(ctx)
	if err != nil {
		return nil, "", err
	}
	uid, err := w.factoryUID(ctx, c, w.factory)
	return c, uid, err
}

// find reads a webhook by its name or uid.
func (w *webhookShell) find(ctx context.Context, ref string) (*client.Client, *client.Webhook, error) {
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
	return nil, nil, &hintError{
		code: exitNotFound, message: fmt.Sprintf("the factory has no webhook %q", ref),
		hint: didYouMean(ref, namesOf(list, func(w client.Webhook) string { return w.Name })) + "`lineshaft webhook list` shows them; --factory chooses the factory.",
	}
}

func (w *webhookShell) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the webhooks of a factory", Args: needs(0, 0, ""),
		Example: example("lineshaft webhook list --factory shop", "names, modes, addresses", "lineshaft webhook list -o json", "for programs"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, factory, err := w.open(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Webhooks.List(cmd.Context(), factory)
			return listing[client.Webhook]{
				key:  "webhooks",
				head: []string{"NAME", "STATE", "MODE", "URL"},
				row: func(hook *client.Webhook) []cell {
					return []cell{plain(oneLine(hook.Name)), webhookState(hook), plain(oneLine(webhookMode(hook))), plain(oneLine(hook.IngressURL))}
				},
			}.show(w.shell, list, err)
		},
	}
}

func webhookState(hook *client.Webhook) cell {
	switch {
	case hook.NeedsSecret:
		return cell{"needs secret", styleWait}
	case hook.Enabled:
		return cell{"enabled", styleGood}
	}
	return cell{"disabled", styleDim}
}

func webhookMode(hook *client.Webhook) string {
	if hook.SignatureScheme != "" {
		return hook.SignatureScheme
	}
	return hook.AuthMode
}

func (w *webhookShell) getCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get WEBHOOK", Short: "Show a webhook; its secret is not shown again", Args: needs(1, 1, oneWebhook),
		Example: example("lineshaft webhook get ci", "its address and settings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, hook, err := w.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return w.show(hook)
		},
	}
}

// show prints a webhook.
func (w *webhookShell) show(hook *client.Webhook) error {
	if !w.forPeople() {
		return w.document(hook)
	}
	rate := "no limit"
	if hook.RateLimit > 0 {
		rate = count(hook.RateLimit, "delivery") + " a minute"
	}
	guard := ""
	if hook.ReplayGuard {
		guard = "on"
	}
	w.pairs([][2]string{
		{"Name", oneLine(hook.Name)},
		{"UID", oneLine(hook.UID)},
		{"State", webhookState(hook).text},
		{"Mode", oneLine(hook.AuthMode)},
		{"Scheme", oneLine(hook.SignatureScheme)},
		{"URL", oneLine(hook.IngressURL)},
		{"Secret kept as", oneLine(hook.SecretName)},
		{"Old secret until", w.oldSecret(hook)},
		{"Delivery-ID header", oneLine(hook.DeliveryIDHeader)},
		{"Rate limit", rate},
		{"Body limit", strconv.Itoa(hook.MaxBodyBytes) + " bytes"},
		{"Replay guard", guard},
		{"HMAC", hmacLine(hook.HMAC)},
		{"Created", w.when(hook.CreatedAt)},
		{"Updated", w.when(hook.UpdatedAt)},
	})
	return nil
}

// oldSecret is when the secret of before the last rotation ends; empty if it has.
func (w *webhookShell) oldSecret(hook *client.Webhook) string {
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
			parts = append(parts, p[0]+" "+oneLine(p[1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (w *webhookShell) switchCommand(verb, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " WEBHOOK...", Short: short, Args: needs(1, -1, oneWebhook),
		Example: example("lineshaft webhook "+verb+" ci", "by name or uid"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.each(cmd.Context(), args, verb+"d", func(ctx context.Context, ref string) error {
				c, hook, err := w.find(ctx, ref)
				if err != nil {
					return err
				}
				_, err = c.Webhooks.Update(ctx, hook.FactoryUID, hook.UID, client.WebhookUpdate{Enabled: &on})
				return err
			})
		},
	}
}

func (w *webhookShell) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete WEBHOOK...", Short: "Delete webhooks: their senders get 404 at once", Args: needs(1, -1, oneWebhook),
		Example: example("lineshaft webhook delete ci", "the log of its deliveries stays for a while"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.each(cmd.Context(), args, "deleted", func(ctx context.Context, ref string) error {
				c, hook, err := w.find(ctx, ref)
				if err != nil {
					return err
				}
				return c.Webhooks.Delete(ctx, hook.FactoryUID, hook.UID)
			})
		},
	}
}
