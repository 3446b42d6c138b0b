package signature

import (
	"bytes"
	"time"
)

// grafana signs the body, or a time and the body if a header for the time is
// configured. Grafana lets people name both headers; these are the default and the
// name that goes with it. For other names there is the scheme hmac.
func grafana() Scheme {
	return Scheme{
		Name:       "grafana",
		Title:      "Grafana Alerting",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "X-Grafana-Alerting-Signature",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{timestamp}:{body}",
			Stamp:    Stamp{Header: "X-Grafana-Alerting-Timestamp", Unit: time.Second, Window: window},
		}, {
			Header:   "X-Grafana-Alerting-Signature",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
			guard:    noLeadingTime,
		}},
	}
}

// noLeadingTime refuses a body that is a time and another body, which would turn an
// old request that had a time into one that has none.
func noLeadingTime(r *Request) error {
	rest := bytes.TrimLeft(r.Body, "0123456789")
	if len(rest) < len(r.Body) && len(rest) > 0 && rest[0] == ':' {
		return errBorder
	}
	return nil
}
