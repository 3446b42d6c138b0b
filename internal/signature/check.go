package signature

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Check looks at a webhook's settings as the table of schemes knows them. Those of
// the token modes have none of it.
func Check(w lineshaft.Webhook) error {
	if w.AuthMode != lineshaft.AuthSignature {
		return nil
	}
	scheme, ok := Find(w.SignatureScheme)
	if !ok {
		return lineshaft.Invalid("signature_scheme", "there is no such scheme; use one of %s", strings.Join(Names(), ", "))
	}
	headers := scheme.Headers
	if scheme.Name == "hmac" {
		if err := HMAC(w.HMAC).Validate(); err != nil {
			return err
		}
		headers = []string{w.HMAC.Header, w.HMAC.TimestampHeader}
	}
	name := textproto.CanonicalMIMEHeaderKey(w.DeliveryIDHeader)
	if name != "" && slices.ContainsFunc(headers, func(h string) bool { return textproto.CanonicalMIMEHeaderKey(h) == name }) {
		return lineshaft.Invalid("delivery_id_header", "%s carries the signature of scheme %s or its time and cannot be a delivery id", name, scheme.Name)
	}
	return nil
}

// Names lists the names of all schemes.
func Names() []string {
	names := make([]string, len(table))
	for i, scheme := range table {
		names[i] = scheme.Name
	}
	return names
}
