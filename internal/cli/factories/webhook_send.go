package factories

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
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
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

// Delivery is a test delivery as the flags describe it.
type Delivery struct {
	URL        string
	Mode       string
	Scheme     string
	HMAC       client.WebhookHMAC
	secretFile string
	Data       string
	headers    []string
	ID         string
	IDHeader   string
}

func (w *WebhookShell) sendCommand() *cobra.Command {
	var d Delivery
	cmd := &cobra.Command{
		Use:   "send URL|WEBHOOK",
		Short: "Send a test delivery, signed as its sender would",
		Args:  shell.Needs(1, 1, "an address, or the name or uid of a webhook"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.secretFile == "-" && d.Data == "-" {
				return shell.Usage("secret and body cannot both come from standard input", "Put one of them into a file.")
			}
			// The secret first: what pipes it in may be making the webhook just now.
			secret, err := w.SecretFrom(cmd.Context(), d.secretFile)
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
	flags.StringVar(&d.Mode, "mode", "", "`MODE` of an address: token (default), url_token or signature")
	flags.StringVar(&d.Scheme, "scheme", "", "`SCHEME` to sign with, such as github; implies --mode signature")
	flags.StringVar(&d.secretFile, "secret-file", "", "`FILE` with the secret, or - for standard input")
	flags.StringVar(&d.Data, "data", "", "`JSON` to send, @FILE, or - for standard input (default: a test object)")
	flags.StringArrayVar(&d.headers, "header", nil, "further `HEADER`, written as 'Name: value'; repeatable")
	flags.StringVar(&d.ID, "id", "", "`ID` of the delivery; the same id twice is a duplicate (default: a new one). If the scheme has an id in the body, that one counts")
	hmacFlags(flags, &d.HMAC)
	flags.SortFlags = false
	shell.CompleteWords(cmd, "mode", authModes()...)
	shell.CompleteWords(cmd, "scheme", SchemeNames()...)
	return cmd
}

// target finds out where the delivery goes and how its sender proves itself.
func (w *WebhookShell) target(ctx context.Context, d *Delivery, to string) error {
	if strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "https://") {
		d.URL = to
		switch {
		case d.Mode != "":
		case d.Scheme != "":
			d.Mode = "signature"
		case strings.Contains(to, tokenMark) || d.secretFile == "":
			d.Mode = "url_token" // the address has its token, or gets it
		default:
			d.Mode = "token"
		}
		if d.Mode == "signature" && d.Scheme == "" {
			return shell.Usage("--mode signature needs a scheme", "Add --scheme, such as github or standard_webhooks.")
		}
		return errors.Join(shell.OneOf("mode", d.Mode, authModes()), shell.OneOf("scheme", d.Scheme, SchemeNames()), checkHMAC(d.Scheme, d.HMAC))
	}
	if d.Mode != "" || d.Scheme != "" || hmacOrNil(d.HMAC) != nil {
		return shell.Usage("--mode, --scheme and --hmac-… are for addresses; a webhook has its own",
			"Leave them out, or give the address.")
	}
	_, hook, err := w.Find(ctx, to)
	if err != nil {
		return err
	}
	if hook.NeedsSecret {
		return shell.NotFound(fmt.Sprintf("webhook %q does not accept deliveries yet: it is waiting for its provider's secret", hook.Name),
			fmt.Sprintf("Set it: lineshaft webhook rotate %s --secret-file FILE", w.again(hook)))
	}
	d.URL, d.Mode, d.Scheme, d.IDHeader = hook.IngressURL, hook.AuthMode, hook.SignatureScheme, hook.DeliveryIDHeader
	if hook.HMAC != nil {
		d.HMAC = *hook.HMAC
	}
	return nil
}

func (w *WebhookShell) deliver(ctx context.Context, d Delivery, secret string) error {
	r, err := w.Signed(&d, secret)
	if err != nil {
		return err
	}
	answer, err := Send(ctx, *r)
	if err != nil {
		return err
	}
	if answer.Code == http.StatusUnauthorized && d.outdated(*r, secret) {
		return shell.Denied(nil, "401: the time in the body is missing or too far from now; the secret may be right",
			fmt.Sprintf("Set %s in --data to the current time in milliseconds, or leave --data out.", signature.BodyTime(d.Scheme)))
	}
	return w.TellDelivery(answer, d.ID)
}

// outdated says whether a delivery that is signed with its own secret is refused for the time in
// its body. The server does not say why it refuses (W-6), but this is known here.
func (d Delivery) outdated(r signature.Request, secret string) bool {
	if d.Mode != "signature" || signature.BodyTime(d.Scheme) == "" {
		return false
	}
	own, err := signature.New(d.Scheme, signature.HMAC(d.HMAC), secret)
	return err == nil && own.Verify(r) != nil
}

// Signed is the delivery as its sender would send it; it gets an id if it has none.
func (w *WebhookShell) Signed(d *Delivery, secret string) (*signature.Request, error) {
	chosen := d.ID != ""
	if !chosen {
		d.ID = "test_" + rand.Text()
	}
	if err := d.checkID(); err != nil {
		return nil, err
	}
	body, err := w.deliveryBody(*d)
	if err != nil {
		return nil, err
	}
	if place := d.otherID(body); chosen && place != "" {
		fmt.Fprintf(w.Err, "-- the sender's id is %s in the body, so --id has no effect\n", shell.OneLine(place))
	}
	r := signature.Request{Method: http.MethodPost, URL: d.URL, Header: http.Header{"User-Agent": {"lineshaft-cli/" + w.Version}}, Body: body, Now: w.Now()}
	if err := d.addHeaders(r.Header); err != nil {
		return nil, err
	}
	if err := d.authenticate(&r, secret); err != nil {
		return nil, err
	}
	return &r, nil
}

func (d Delivery) addHeaders(header http.Header) error {
	header.Set("Content-Type", "application/json")
	for _, line := range d.headers {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name+value, "\r\n") {
			return shell.Usage(fmt.Sprintf("--header %q is not a header", line), "Write --header 'Name: value'.")
		}
		header.Set(name, strings.TrimSpace(value))
	}
	for _, name := range []string{d.IDHeader, deliveryIDHeader} {
		if name != "" && header.Get(name) == "" {
			header.Set(name, d.ID)
		}
	}
	return nil
}

// authenticate adds the sender's proof to the request.
func (d Delivery) authenticate(r *signature.Request, secret string) error {
	if secret == "" && (d.Mode != "url_token" || strings.Contains(d.URL, tokenMark)) {
		return shell.Usage("the secret is missing", "Put it into a file and add --secret-file FILE, or --secret-file - for standard input.")
	}
	if d.Mode != "signature" && strings.ContainsFunc(secret, unicode.IsControl) {
		return shell.Usage("the secret has several lines, but a token is one word",
			"Check that --secret-file names the file with the token alone.")
	}
	switch d.Mode {
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
		if err := signature.Sign(d.Scheme, signature.HMAC(d.HMAC), secret, r, d.ID); err != nil {
			return shell.Usage("cannot sign: "+Blame(err), "See the table of schemes in docs/webhooks.md.")
		}
	}
	return nil
}

// Blame is an error of a scheme in the words of the flags.
func Blame(err error) string {
	text := strings.TrimPrefix(err.Error(), "invalid_request: ")
	if field, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(field, "hmac.") {
		return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(field) + ": " + rest
	}
	return text
}

// deliveryAnswer is what a webhook said.
type deliveryAnswer struct {
	Code               int
	status, retryAfter string
	Body               []byte
}

// Send sends the request and reads what comes back. Redirects are not followed: a
// delivery is for the address that was signed.
func Send(ctx context.Context, r signature.Request) (*deliveryAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, shell.Usage("the address is not well formed", "Write a full URL, such as https://lineshaft.example/webhooks/w/UID.")
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
		return nil, shell.Failure(err, fmt.Sprintf("no answer to the delivery: %v", err), "Check the address, and that the server is running.")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, shell.MaxStdin))
	if err != nil {
		return nil, shell.Failure(err, fmt.Sprintf("cannot read the answer: %v", err), "The delivery may have arrived: check its log.")
	}
	return &deliveryAnswer{resp.StatusCode, resp.Status, resp.Header.Get("Retry-After"), body}, nil
}

// TellDelivery prints the result of a delivery; a refused one fails.
func (w *WebhookShell) TellDelivery(answer *deliveryAnswer, id string) error {
	var body struct {
		DeliveryID string `json:"delivery_id"`
		Detail     string `json:"detail"`
	}
	_ = json.Unmarshal(answer.Body, &body) // handshakes answer with other things
	handshake := ""
	if answer.Code < http.StatusMultipleChoices && body.DeliveryID == "" {
		handshake = string(answer.Body)
	}
	if !w.ForPeople() {
		told := map[string]any{"status": answer.Code, "delivery_id": body.DeliveryID, "sent_id": id}
		if handshake != "" {
			told["answer"] = handshake
		}
		err := w.Document(told)
		if err != nil || answer.Code < http.StatusMultipleChoices {
			return err
		}
	}
	switch {
	case answer.Code < http.StatusMultipleChoices:
		fmt.Fprintf(w.Err, "-- %s\n", shell.OneLine(answer.status))
		if text := body.DeliveryID + handshake; text != "" {
			fmt.Fprintln(w.Out, shell.OneLine(text))
		}
		return nil
	case answer.Code == http.StatusUnauthorized:
		return shell.Denied(nil, "401: the webhook does not accept this secret",
			"Check --secret-file; `lineshaft webhook rotate` creates a new one.")
	case answer.Code == http.StatusNotFound:
		return shell.NotFound("404: there is no such webhook, or it is disabled",
			"`lineshaft webhook list` shows them; `lineshaft webhook enable` enables one.")
	case answer.Code == http.StatusTooManyRequests:
		return shell.Failure(nil, "429: "+cmp.Or(shell.OneLine(body.Detail), "too many deliveries"),
			fmt.Sprintf("Try again in %s seconds.", shell.OneLine(answer.retryAfter)))
	}
	return shell.Failure(nil, strings.TrimSpace(shell.OneLine(answer.status+": "+body.Detail)),
		"See docs/webhooks.md for what each status means.")
}

// maxDeliveryID is the longest id that the server accepts.
const maxDeliveryID = 256

func (d Delivery) checkID() error {
	if len(d.ID) <= maxDeliveryID && strings.TrimSpace(d.ID) == d.ID && !strings.ContainsFunc(d.ID, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil
	}
	return shell.Usage("--id is not an id",
		fmt.Sprintf("It has at most %d printable ASCII characters, without spaces around them.", maxDeliveryID))
}

// BodyIDs are the places in the body where the scheme looks for an id; none if it has
// a header for it, which comes first.
func (d Delivery) BodyIDs() []string {
	scheme, _ := signature.Find(d.Scheme)
	var places []string
	for _, source := range scheme.Identity {
		if source.Header != "" {
			return nil
		}
		places = append(places, source.Body)
	}
	return places
}

// otherID is where a body has an id of its own that counts before the one of --id.
func (d Delivery) otherID(body []byte) string {
	if d.IDHeader != "" {
		return ""
	}
	for _, place := range d.BodyIDs() {
		if id := textAt(body, place); id != "" && id != d.ID {
			return place
		}
	}
	return ""
}

// textAt finds the text at a path such as event.id; empty if there is none.
func textAt(body json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil {
			return ""
		}
		body = members[name]
	}
	var text string
	_ = json.Unmarshal(body, &text) // what is not text is not an id
	return text
}

// testObject has what schemes look for.
func (d Delivery) testObject(millis int64) map[string]any {
	object := map[string]any{"id": d.ID, "test": true, "webhookTimestamp": millis}
	for _, place := range d.BodyIDs() {
		at, names := object, strings.Split(place, ".")
		for _, name := range names[:len(names)-1] {
			below := map[string]any{}
			at[name], at = below, below
		}
		at[names[len(names)-1]] = d.ID
	}
	return object
}

func (sh Commands) deliveryBody(d Delivery) ([]byte, error) {
	if d.Data == "" {
		return json.Marshal(d.testObject(sh.Now().UnixMilli()))
	}
	return sh.payload("body", "data", d.Data)
}

// payload reads what a flag holds: itself, or @ and a file with it, or - for standard input.
func (sh Commands) payload(what, flag, text string) ([]byte, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile && text != "-" {
		return []byte(text), nil
	}
	in := sh.In
	if isFile {
		file, err := os.Open(name)
		if err != nil {
			return nil, shell.Usage(fmt.Sprintf("cannot read the %s: %v", what, err),
				fmt.Sprintf("Check the name given with --%s @FILE.", flag))
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxDelivery+1))
	if err != nil {
		return nil, shell.Failure(err, fmt.Sprintf("cannot read the %s: %v", what, err), "Check what --"+flag+" names.")
	}
	if len(data) > maxDelivery {
		return nil, shell.Usage(fmt.Sprintf("the %s has more than %d bytes", what, maxDelivery), "No webhook takes that much.")
	}
	return data, nil
}
