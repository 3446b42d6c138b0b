package factories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// SamplePayload is what the command lines that we print send.
const SamplePayload = `{"hello": "world"}`

func authModes() []string { return []string{"token", "url_token", "signature"} }

// SchemeNames are the ways in which senders sign.
func SchemeNames() []string {
	var names []string
	for _, scheme := range signature.Schemes() {
		names = append(names, scheme.Name)
	}
	return names
}

// asksAddress says that the provider makes the secret, and accepts an address only if
// it gets an answer there, which a webhook without its secret cannot give.
func asksAddress(scheme signature.Scheme) bool {
	return scheme.SecretFrom == signature.Issued && scheme.Handshake != ""
}

// asksFirst names the providers of which asksAddress is true.
func asksFirst() string {
	var titles []string
	for _, scheme := range signature.Schemes() {
		if asksAddress(scheme) {
			titles = append(titles, scheme.Title)
		}
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], ", ") + " and " + titles[last]
}

// hmacFlags adds the settings of the scheme hmac.
func hmacFlags(flags *pflag.FlagSet, h *client.WebhookHMAC) {
	for _, f := range []struct {
		name, help string
		at         *string
	}{
		{"hmac-header", "scheme hmac: `HEADER` that carries the signature", &h.Header},
		{"hmac-prefix", "scheme hmac: `TEXT` before the signature, such as sha256=", &h.Prefix},
		{"hmac-digest", "scheme hmac: `DIGEST` sha256 (default), sha1, sha384 or sha512", &h.Digest},
		{"hmac-encoding", "scheme hmac: `ENCODING` hex (default) or base64", &h.Encoding},
		{"hmac-template", "scheme hmac: `TEXT` that is signed, such as {timestamp}.{body} (default {body})", &h.Template},
		{"hmac-timestamp-header", "scheme hmac: `HEADER` that carries {timestamp}", &h.TimestampHeader},
		{"hmac-id-header", "scheme hmac: `HEADER` that carries {id}", &h.IDHeader},
	} {
		flags.StringVar(f.at, f.name, "", f.help)
	}
}

func hmacOrNil(h client.WebhookHMAC) *client.WebhookHMAC {
	if h == (client.WebhookHMAC{}) {
		return nil
	}
	return &h
}

func (w *WebhookShell) createCommand() *cobra.Command {
	var req client.WebhookRequest
	var hmac client.WebhookHMAC
	var secretFile string
	var rate, bytes int
	var disabled bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a webhook; a generated secret is shown once",
		Long: "Create a webhook. Its address goes to standard output, and its secret, once, if the server\ngenerated it.\n\n" +
			"Modes: token (Authorization: Bearer), url_token (the secret ends the URL), signature (--scheme).\n" +
			"If the provider makes the secret, leave it out, give the provider the address, then set the\n" +
			"secret with `lineshaft webhook rotate`. " + asksFirst() + " send a request to the address\nwhen you enter it: for these, " +
			"get the secret from the provider first and pass it with --secret-file.",
		Args: shell.Needs(1, 1, "a name for the webhook"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name, req.HMAC = args[0], hmacOrNil(hmac)
			if req.AuthMode == "" && req.SignatureScheme != "" {
				req.AuthMode = "signature"
			}
			if err := errors.Join(shell.OneOf("mode", req.AuthMode, authModes()), shell.OneOf("scheme", req.SignatureScheme, SchemeNames())); err != nil {
				return err
			}
			if err := errors.Join(checkHMAC(req.SignatureScheme, hmac), checkLimits(cmd, rate, bytes)); err != nil {
				return err
			}
			shell.IfChanged(cmd, "rate-limit", &req.RateLimit, rate)
			shell.IfChanged(cmd, "max-body-bytes", &req.MaxBodyBytes, bytes)
			if disabled {
				req.Enabled = new(false)
			}
			var err error
			if req.Secret, err = w.SecretFrom(cmd.Context(), secretFile); err != nil {
				return err
			}
			return w.create(cmd.Context(), req)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.AuthMode, "mode", "", "`MODE`: token (default), url_token or signature")
	flags.StringVar(&req.SignatureScheme, "scheme", "", "`SCHEME` that the sender signs with, such as github; implies --mode signature")
	flags.StringVar(&secretFile, "secret-file", "", "`FILE` with the secret to use, or - for standard input")
	flags.StringVar(&req.SecretName, "secret-name", "", "`NAME` of the managed secret to use or create")
	flags.StringVar(&req.DeliveryIDHeader, "delivery-id-header", "", "`HEADER` that identifies a delivery")
	flags.IntVar(&rate, "rate-limit", 60, "`NUMBER` of deliveries per minute; 0 means no limit")
	flags.IntVar(&bytes, "max-body-bytes", 262_144, "largest body, as a `NUMBER` of bytes")
	flags.BoolVar(&req.ReplayGuard, "replay-guard", false, "treat a body that was seen before as a duplicate, whatever its id")
	flags.BoolVar(&disabled, "disabled", false, "create it disabled")
	hmacFlags(flags, &hmac)
	flags.SortFlags = false
	shell.CompleteWords(cmd, "mode", authModes()...)
	shell.CompleteWords(cmd, "scheme", SchemeNames()...)
	return cmd
}

func checkLimits(cmd *cobra.Command, rate, bytes int) error {
	for _, limit := range []struct {
		flag               string
		value, least, most int
	}{{"rate-limit", rate, 0, lineshaft.MaxWebhookRate}, {"max-body-bytes", bytes, 1, lineshaft.MaxWebhookBytes}} {
		if cmd.Flags().Changed(limit.flag) && (limit.value < limit.least || limit.value > limit.most) {
			return shell.Usage(fmt.Sprintf("--%s %d is not between %d and %d", limit.flag, limit.value, limit.least, limit.most),
				"Give a number in that range.")
		}
	}
	return nil
}

// checkHMAC wants the one setting of the scheme hmac that has no default.
func checkHMAC(scheme string, h client.WebhookHMAC) error {
	switch {
	case scheme == "hmac" && h.Header == "":
		return shell.Usage("--scheme hmac needs the header that carries the signature",
			"Add --hmac-header HEADER, such as --hmac-header X-Signature.")
	case scheme != "hmac" && hmacOrNil(h) != nil:
		return shell.Usage("the --hmac-… flags need --scheme hmac", "Leave them out, or add --scheme hmac.")
	}
	return errors.Join(shell.OneOf("hmac-digest", h.Digest, []string{"sha256", "sha1", "sha384", "sha512"}), shell.OneOf("hmac-encoding", h.Encoding, []string{"hex", "base64"}))
}

func (w *WebhookShell) create(ctx context.Context, req client.WebhookRequest) error {
	c, factory, err := w.open(ctx)
	if err != nil {
		return err
	}
	hook, err := c.Webhooks.Create(ctx, factory, req)
	if err != nil {
		return err
	}
	return w.Issued(hook, cmp.Or(w.Factory, factory))
}

// Issued shows a webhook that has just got a secret, and how to try it.
func (w *WebhookShell) Issued(hook *client.Webhook, factory string) error {
	return w.Show(hook, func() {
		w.Pairs([][2]string{{"URL", hook.IngressURL}, {"Secret", hook.Secret}, {"Old secret until", w.oldSecret(hook)}})
		if hook.Secret != "" {
			fmt.Fprintln(w.Err, "-- copy the secret now: it is not shown again")
		}
		switch again := fmt.Sprintf("%s --factory %s", shell.ShellWord(hook.Name), shell.ShellWord(factory)); {
		case hook.NeedsSecret:
			order := "give this URL to the provider, then run"
			if scheme, _ := signature.Find(hook.SignatureScheme); asksAddress(scheme) {
				order = fmt.Sprintf("%s sends a request to the URL when you enter it.\n-- So get the secret from %s first, run this, and then enter the URL", scheme.Title, scheme.Title)
			}
			fmt.Fprintf(w.Err, "-- it is disabled until it has its secret: %s\nlineshaft webhook rotate %s --secret-file FILE\n", order, again)
		case !hook.Enabled:
			fmt.Fprintf(w.Err, "-- it is disabled; to enable it, run\nlineshaft webhook enable %s\n", again)
		default:
			told := *hook
			if w.ErrWidth == 0 {
				told.Secret = "" // standard error of a program ends in logs
			}
			data := SamplePayload
			if hook.SignatureScheme == "linear" {
				data = "" // which wants the time in the body: send makes one
			}
			fmt.Fprintf(w.Err, "-- to try it, run\n%s\n", TryLine(&told, again, data))
		}
	})
}

// TryLine is a command that sends a delivery with that body; none is a test object.
func TryLine(hook *client.Webhook, again, data string) string {
	with := ""
	if data != "" {
		with = " --data " + shell.ShellWord(shell.Clean(data))
	}
	curl := "curl -X POST " + shell.ShellWord(shell.OneLine(hook.IngressURL))
	// A fresh id each time: without one, the same body is a duplicate.
	body := " -H " + shell.ShellWord(cmp.Or(shell.OneLine(hook.DeliveryIDHeader), deliveryIDHeader)+":") + "$(date +%s%N) -d " + shell.ShellWord(shell.Clean(data))
	switch {
	case hook.AuthMode == "token" && hook.Secret != "":
		return curl + " -H " + shell.ShellWord("Authorization: Bearer "+shell.OneLine(hook.Secret)) + body
	case hook.AuthMode == "url_token" && hook.Secret != "":
		return curl + body
	case hook.Secret != "":
		return fmt.Sprintf("echo %s | lineshaft webhook send %s --secret-file -", shell.ShellWord(shell.OneLine(hook.Secret)), again) + with
	}
	return fmt.Sprintf("lineshaft webhook send %s --secret-file FILE", again) + with
}
