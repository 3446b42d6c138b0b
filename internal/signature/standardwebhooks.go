package signature

import "time"

// standardWebhooks is the common format of many senders. Svix writes its own name
// before the headers. A set of three headers must be complete; headers of the two
// sets are never mixed.
func standardWebhooks() Scheme {
	return Scheme{
		Name:       "standard_webhooks",
		Title:      "Standard Webhooks",
		SecretFrom: Generated,
		Rules: []Rule{
			standardRule("webhook", SHA256),
			standardRule("webhook", Ed25519),
			standardRule("svix", SHA256),
			standardRule("svix", Ed25519),
		},
		Identity: []Source{ // of the set that was verified
			{Header: "webhook-id", with: "webhook-signature"},
			{Header: "svix-id", with: "svix-signature"},
		},
		read: readStandard,
	}
}

// standardRule is one kind of signature under one set of headers. The version is
// bound to the kind of the key: v1 is never tried with a public key.
func standardRule(set string, digest Digest) Rule {
	rule := Rule{
		Header:   set + "-signature",
		List:     " ",
		Prefix:   "v1,",
		Digest:   digest,
		Encoding: Base64,
		Signed:   "{id}.{timestamp}.{body}", // so an id with a dot is refused
		Stamp:    Stamp{Header: set + "-timestamp", Unit: time.Second, Window: window},
		ID:       set + "-id",
		key:      keyShared,
	}
	if digest == Ed25519 {
		rule.Prefix, rule.key = "v1a,", keyPublic
	}
	return rule
}
