package signature

// pagerduty sends one signature for each secret that is live.
// The header with the id stays the same for every attempt.
func pagerduty() Scheme {
	return Scheme{
		Name:       "pagerduty",
		Title:      "PagerDuty",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-PagerDuty-Signature",
			List:     ",",
			Prefix:   "v1=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Header: "X-Webhook-Id"}, {Body: "event.id"}},
	}
}
