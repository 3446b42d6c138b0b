package signature

// shopify has a second name for the header, for its newer events.
func shopify() Scheme {
	return Scheme{
		Name:       "shopify",
		Title:      "Shopify",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Shopify-Hmac-Sha256",
			Digest:   SHA256,
			Encoding: Base64,
			Signed:   "{body}",
		}, {
			Header:   "Shopify-Hmac-Sha256",
			Digest:   SHA256,
			Encoding: Base64,
			Signed:   "{body}",
		}},
		Identity: []Source{{Header: "X-Shopify-Webhook-Id"}},
	}
}
