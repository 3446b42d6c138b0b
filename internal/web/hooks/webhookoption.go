package hooks

import (
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
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

func readOptions(r *page.Request) hookOptions {
	return hookOptions{
		DeliveryIDHeader: r.Text("delivery_id_header"), RateLimit: r.Text("rate_limit"), MaxBodyBytes: r.Text("max_body_bytes"),
		ReplayGuard: r.PostFormValue("replay_guard") != "",
		HMAC: lineshaft.WebhookHMAC{
			// A prefix may end in a space, a template may begin with one.
			Header: r.Text("hmac_header"), Prefix: r.PostFormValue("hmac_prefix"), Digest: r.Text("hmac_digest"), Encoding: r.Text("hmac_encoding"),
			Template: r.PostFormValue("hmac_template"), TimestampHeader: r.Text("hmac_timestamp_header"), IDHeader: r.Text("hmac_id_header"),
		},
	}
}

// change is the form as a change; the settings of the scheme hmac go with that alone.
func (o hookOptions) change(scheme string) (factories.WebhookChange, error) {
	change := factories.WebhookChange{DeliveryIDHeader: &o.DeliveryIDHeader, ReplayGuard: &o.ReplayGuard}
	var err error
	if change.RateLimit, err = page.OptionalNumber("rate_limit", o.RateLimit); err != nil {
		return change, err
	}
	if change.MaxBodyBytes, err = page.OptionalNumber("max_body_bytes", o.MaxBodyBytes); err != nil {
		return change, err
	}
	if scheme == "hmac" {
		change.HMAC = &o.HMAC
	}
	return change, nil
}
