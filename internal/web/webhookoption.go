package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// hookOptions are the settings of a webhook as a form has them.
type hookOptions struct {
	DeliveryIDHeader string
	RateLimit        string
	MaxBodyBytes     string
	ReplayGuard      bool
	HMAC             lineshaft.WebhookHMAC
}

func defaultOptions() hookOptions {
	return hookOptions{
		RateLimit: strconv.Itoa(lineshaft.DefaultWebhookRate), MaxBodyBytes: strconv.Itoa(lineshaft.DefaultWebhookBytes),
		HMAC: lineshaft.WebhookHMAC{Header: "X-Signature", Digest: "sha256", Encoding: "hex", Template: "{body}"},
	}
}

// optionsOf fills the form with what is.
func optionsOf(w lineshaft.Webhook) hookOptions {
	return hookOptions{
		DeliveryIDHeader: w.DeliveryIDHeader, RateLimit: strconv.Itoa(w.RateLimit), MaxBodyBytes: strconv.Itoa(w.MaxBodyBytes),
		ReplayGuard: w.ReplayGuard, HMAC: w.HMAC,
	}
}

func readOptions(r *http.Request) hookOptions {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	return hookOptions{
		DeliveryIDHeader: text("delivery_id_header"), RateLimit: text("rate_limit"), MaxBodyBytes: text("max_body_bytes"),
		ReplayGuard: r.PostFormValue("replay_guard") != "",
		HMAC: lineshaft.WebhookHMAC{
			// A prefix may end in a space, a template may begin with one.
			Header: text("hmac_header"), Prefix: r.PostFormValue("hmac_prefix"), Digest: text("hmac_digest"), Encoding: text("hmac_encoding"),
			Template: r.PostFormValue("hmac_template"), TimestampHeader: text("hmac_timestamp_header"), IDHeader: text("hmac_id_header"),
		},
	}
}

// change is the form as a change; the settings of the scheme hmac go with that alone.
func (o hookOptions) change(scheme string) (factories.WebhookChange, error) {
	change := factories.WebhookChange{DeliveryIDHeader: &o.DeliveryIDHeader, ReplayGuard: &o.ReplayGuard}
	var err error
	if change.RateLimit, err = optionalNumber("rate_limit", o.RateLimit); err != nil {
		return change, err
	}
	if change.MaxBodyBytes, err = optionalNumber("max_body_bytes", o.MaxBodyBytes); err != nil {
		return change, err
	}
	if scheme == "hmac" {
		change.HMAC = &o.HMAC
	}
	return change, nil
}

// optionalNumber reads a field that may be left empty.
func optionalNumber(field, text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, lineshaft.Invalid(field, "write a whole number, or leave it empty")
	}
	return &n, nil
}
