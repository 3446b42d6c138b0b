package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/signature"
)

const (
	// maxDelivery is more than any webhook takes, so that its limit can be tried.
	maxDelivery     = 4 << 20
	deliveryTimeout = 30 * time.Second
	tokenMark       = "{token}"
	// deliveryIDHeader tells deliveries apart where neither the webhook nor the scheme
	// has a place of its own for the id.
	deliveryIDHeader = "X-Lineshaft-Delivery-Id"
)

// delivery is a test delivery as the flags describe it.
type delivery struct {
	url        string
	mode       string
	scheme     string
	hmac       client.WebhookHMAC
	secretFile string
	data       string
	headers    []string
	id         string
	idHeader   string
}

func (w *webhookShell) sendCommand() *cobra.Command {
	var d delivery
	cmd := &cobra.Command{
		Use:   "send URL|WEBHOOK",
		Short: "Send a test delivery, signed as its sender would",
		Long: "Send a test delivery to a webhook of this server, by name or uid, or to any address. Of a\n" +
			"webhook the mode and scheme are known; for an address say them with --mode or --scheme.\n" +
			"For schemes with public keys the file holds the private one.",
		Args: needs(1, 1, "an address, or the name or uid of a webhook"),
		Example: example(
			"lineshaft webhook send ci --secret-file token.txt --data '{\"ok\": true}'", "as the sender of ci",
			"lineshaft webhook send issues --secret-file key.txt --data @issue.json --header 'X-GitHub-Event: issues'", "as GitHub, with a body from a file",
			"lineshaft webhook send https://lineshaft.example/webhooks/w/UID --scheme stripe --secret-file key.txt", "any address",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.secretFile == "-" && d.data == "-" {
				return usage("secret and body cannot both come from standard input", "Put one of them into a file.")
			}
			// The secret first: what pipes it in may be making the webhook just now.
			secret, err := w.secretFrom(cmd.Context(), d.secretFile)
			if err != nil {
				return err
			}
			if err := w.target(cmd.Context(), &d, args[0]); err != nil {
				return err
			}
			return w.deliver(cmd.Context(), d, secret)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.mode, "mode", "", "`MODE` of an address: token (default), url_token or signature")
	flags.StringVar(&d.scheme, "scheme", "", "`SCHEME` to sign with, such as github; implies --mode signature")
	flags.StringVar(&d.secretFile, "secret-file", "", "`FILE` with the secret, or - for standard input")
	flags.StringVar(&d.data, "data", "", "`JSON` to send, @FILE, or - for standard input (default: a test object)")
	flags.StringArrayVar(&d.headers, "header", nil, "further `HEADER`, written as 'Name: value'; repeatable")
	flags.StringVar(&d.id, "id", "", "`ID` of the delivery; the same twice is a duplicate (default: a new one). An id that the scheme has in the body wins")
	hmacFlags(flags, &d.hmac)
	flags.SortFlags = false
	completeWords(cmd, "mode", authModes()...)
	completeWords(cmd, "scheme", schemeNames()...)
	return cmd
}

// target finds out where the delivery goes and how its sender proves itself.
func (w *webhookShell) target(ctx context.Context, d *delivery, to string) error {
	if strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "https://") {
		d.url = to
		switch {
		case d.mode != "":
		case d.scheme != "":
			d.mode = "signature"
		case strings.Contains(to, tokenMark) || d.secretFile == "":
			d.mode = "url_token" // the address has its token, or gets it
		default:
			d.mode = "token"
		}
		if d.mode == "signature" && d.scheme == "" {
			return usage("--mode signature needs a scheme", "Add --scheme, such as github or standard_webhooks.")
		}
		return errors.Join(oneOf("mode", d.mode, authModes()), oneOf("scheme", d.scheme, schemeNames()), checkHMAC(d.scheme, d.hmac))
	}
	if d.mode != "" || d.scheme != "" || hmacOrNil(d.hmac) != nil {
		return usage("--mode, --scheme and --hmac-… are for addresses; those of a webhook are known", "Leave them out, or give the address.")
	}
	_, hook, err := w.find(ctx, to)
	if err != nil {
		return err
	}
	if hook.NeedsSecret {
		return &hintError{
			code: exitNotFound, message: fmt.Sprintf("webhook %q takes nothing yet: it waits for its provider's secret", hook.Name),
			hint: fmt.Sprintf("Hand it in: lineshaft webhook rotate %s --secret-file FILE", w.again(hook)),
		}
	}
	d.url, d.mode, d.scheme, d.idHeader = hook.IngressURL, hook.AuthMode, hook.SignatureScheme, hook.DeliveryIDHeader
	if hook.HMAC != nil {
		d.hmac = *hook.HMAC
	}
	return nil
}

func (w *webhookShell) deliver(ctx context.Context, d delivery, secret string) error {
	r, err := w.signed(&d, secret)
	if err != nil {
		return err
	}
	answer, err := send(ctx, *r)
	if err != nil {
		return err
	}
	if answer.code == http.StatusUnauthorized && d.outdated(*r, secret) {
		return &hintError{
			code: exitDenied, message: "401: the time in the body is missing or too far from now; the secret may be right",
			hint: fmt.Sprintf("Set %s in --data to the time of now in milliseconds, or leave --data out.", signature.BodyTime(d.scheme)),
		}
	}
	return w.tellDelivery(answer, d.id)
}

// outdated says whether a delivery that its own secret signed is refused for the time that
// its body has. The server does not say why it refuses (W-6), but this is known here.
func (d delivery) outdated(r signature.Request, secret string) bool {
	if d.mode != "signature" || signature.BodyTime(d.scheme) == "" {
		return false
	}
	own, err := signature.New(d.scheme, signature.HMAC(d.hmac), secret)
	return err == nil && own.Verify(r) != nil
}

// signed is the delivery as its sender would send it; it gets an id if it has none.
func (w *webhookShell) signed(d *delivery, secret string) (*signature.Request, error) {
	chosen := d.id != ""
	if !chosen {
		d.id = "test_" + rand.Text()
	}
	if err := d.checkID(); err != nil {
		return nil, err
	}
	body, err := w.deliveryBody(*d)
	if err != nil {
		return nil, err
	}
	if place := d.otherID(body); chosen && place != "" {
		fmt.Fprintf(w.err, "-- the sender's id is %s of the body, so --id does not count\n", oneLine(place))
	}
	r := signature.Request{Method: http.MethodPost, URL: d.url, Header: http.Header{}, Body: body, Now: w.now()}
	if err := d.addHeaders(r.Header); err != nil {
		return nil, err
	}
	if err := d.authenticate(&r, secret); err != nil {
		return nil, err
	}
	return &r, nil
}

func (d delivery) addHeaders(header http.Header) error {
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "lineshaft-cli/"+version)
	for _, line := range d.headers {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name+value, "\r\n") {
			return usage(fmt.Sprintf("--header %q is not a header", line), "Write --header 'Name: value'.")
		}
		header.Set(name, strings.TrimSpace(value))
	}
	for _, name := range []string{d.idHeader, deliveryIDHeader} {
		if name != "" && header.Get(name) == "" {
			header.Set(name, d.id)
		}
	}
	return nil
}

// authenticate adds the sender's proof to the request.
func (d delivery) authenticate(r *signature.Request, secret string) error {
	if secret == "" && (d.mode != "url_token" || strings.Contains(d.url, tokenMark)) {
		return usage("the secret is missing", "Put it into a file and add --secret-file FILE, or --secret-file - for standard input.")
	}
	if d.mode != "signature" && strings.ContainsFunc(secret, unicode.IsControl) {
		return usage("the secret has several lines, but a token is one word", "Check that --secret-file names the file with the token alone.")
	}
	switch d.mode {
	case "token":
		r.Header.Set("Authorization", "Bearer "+secret)
	case "url_token":
		if secret == "" {
			return nil // it is in the address already
		}
		if !strings.Contains(r.URL, tokenMark) {
			r.URL = strings.TrimRight(r.URL, "/") + "/" + tokenMark
		}
		r.URL = strings.ReplaceAll(r.URL, tokenMark, url.PathEscape(secret))
	default:
		if err := signature.Sign(d.scheme, signature.HMAC(d.hmac), secret, r, d.id); err != nil {
			return usage("cannot sign: "+blame(err), "See the table of schemes in docs/webhooks.md.")
		}
	}
	return nil
}

// blame is an error of a scheme in the words of the flags.
func blame(err error) string {
	text := strings.TrimPrefix(err.Error(), "invalid_request: ")
	if field, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(field, "hmac.") {
		return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(field) + ": " + rest
	}
	return text
}

// deliveryAnswer is what a webhook said.
type deliveryAnswer struct {
	code               int
	status, retryAfter string
	body               []byte
}

// send sends the request and reads what comes back. Redirects are not followed: a
// delivery is for the address that was signed.
func send(ctx context.Context, r signature.Request) (*deliveryAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, usage("the address is not well formed", "Write a whole URL, such as https://lineshaft.example/webhooks/w/UID.")
	}
	req.Header = r.Header
	sender := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := sender.Do(req)
	if err != nil {
		// The error of net/http quotes the address, which may hold the secret.
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return nil, failure(err, fmt.Sprintf("the delivery got no answer: %v", err), "Check the address, and that the server runs.")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStdin))
	if err != nil {
		return nil, failure(err, fmt.Sprintf("cannot read the answer: %v", err), "The delivery may have arrived: look at its log.")
	}
	return &deliveryAnswer{resp.StatusCode, resp.Status, resp.Header.Get("Retry-After"), body}, nil
}

// tellDelivery prints what became of a delivery; a refused one fails.
func (w *webhookShell) tellDelivery(answer *deliveryAnswer, id string) error {
	var body struct {
		DeliveryID string `json:"delivery_id"`
		Detail     string `json:"detail"`
	}
	_ = json.Unmarshal(answer.body, &body) // handshakes answer with other things
	handshake := ""
	if answer.code < http.StatusMultipleChoices && body.DeliveryID == "" {
		handshake = string(answer.body)
	}
	if !w.forPeople() {
		told := map[string]any{"status": answer.code, "delivery_id": body.DeliveryID, "sent_id": id}
		if handshake != "" {
			told["answer"] = handshake
		}
		err := w.document(told)
		if err != nil || answer.code < http.StatusMultipleChoices {
			return err
		}
	}
	switch {
	case answer.code < http.StatusMultipleChoices:
		fmt.Fprintf(w.err, "-- %s\n", oneLine(answer.status))
		if text := body.DeliveryID + handshake; text != "" {
			fmt.Fprintln(w.out, oneLine(text))
		}
		return nil
	case answer.code == http.StatusUnauthorized:
		return &hintError{code: exitDenied, message: "401: the webhook does not accept this secret", hint: "Check --secret-file; `lineshaft webhook rotate` makes a new secret."}
	case answer.code == http.StatusNotFound:
		return &hintError{code: exitNotFound, message: "404: there is no such webhook, or it is disabled", hint: "`lineshaft webhook list` shows them; `lineshaft webhook enable` switches one on."}
	case answer.code == http.StatusTooManyRequests:
		return &hintError{code: exitFailed, message: "429: " + cmp.Or(oneLine(body.Detail), "too many deliveries"), hint: fmt.Sprintf("Try again in %s seconds.", oneLine(answer.retryAfter))}
	}
	return &hintError{code: exitFailed, message: strings.TrimSpace(oneLine(answer.status + ": " + body.Detail)), hint: "docs/webhooks.md tells what each status means."}
}
