package signature_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/signature"
)

func TestW2CheckKnowsTheSchemes(t *testing.T) {
	t.Parallel()
	signed := func(scheme, header string) lineshaft.Webhook {
		return lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: scheme, DeliveryIDHeader: header}
	}
	generic := func(h lineshaft.WebhookHMAC, header string) lineshaft.Webhook {
		w := signed("hmac", header)
		w.HMAC = h
		return w
	}
	stamped := lineshaft.WebhookHMAC{Header: "X-S", Template: "{timestamp}.{body}", TimestampHeader: "X-T"}
	for name, c := range map[string]struct {
		webhook lineshaft.Webhook
		field   string
	}{
		"token":               {lineshaft.Webhook{AuthMode: lineshaft.AuthToken, SignatureScheme: "none"}, ""},
		"github":              {signed("github", "X-Id"), ""},
		"unknown":             {signed("githup", ""), "signature_scheme"},
		"signature as id":     {signed("github", "x-hub-signature-256"), "delivery_id_header"},
		"hmac":                {generic(stamped, "X-Id"), ""},
		"hmac without any":    {generic(lineshaft.WebhookHMAC{}, ""), "hmac.header"},
		"its header as id":    {generic(stamped, "x-s"), "delivery_id_header"},
		"its time as id":      {generic(stamped, "X-T"), "delivery_id_header"},
		"github's with hmac":  {generic(stamped, "X-Hub-Signature-256"), "delivery_id_header"},
		"stripe's with token": {lineshaft.Webhook{AuthMode: lineshaft.AuthToken, DeliveryIDHeader: "stripe-signature"}, "delivery_id_header"},
		"an id with token":    {lineshaft.Webhook{AuthMode: lineshaft.AuthToken, DeliveryIDHeader: "Webhook-Id"}, ""},
	} {
		err := signature.Check(c.webhook)
		pub, ok := errors.AsType[*lineshaft.Error](err)
		if ok != (c.field != "") || ok && pub.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names := signature.Names(); !slices.IsSorted(names) || !slices.Contains(names, "github") || len(names) != len(signature.Schemes()) {
		t.Errorf("names are %v", names)
	}
}
