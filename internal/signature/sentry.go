package signature

// sentry is the integration platform. Its time stamp is not signed and is not
// looked at; its Request-ID is new for each attempt, so it is no identity.
func sentry() Scheme {
	return Scheme{
		Name:       "sentry",
		Title:      "Sentry",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "Sentry-Hook-Signature",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
	}
}
