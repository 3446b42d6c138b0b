// Package oidc signs people in at an identity provider that speaks OpenID Connect:
// the authorization code flow with PKCE, a state that is bound to the browser, and a
// nonce that is bound to the token. It says who somebody is and which role their
// claims map to; what they may do with it is not its business.
//
// Nothing here puts a token, a code or a secret into an error or a log.
package oidc
