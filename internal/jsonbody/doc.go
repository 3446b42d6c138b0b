// Package jsonbody reads a request body and checks that it is what it claims to
// be: at most so many bytes, UTF-8, exactly one JSON value, not nested deeper
// than we follow, and without characters that a database text cannot hold.
//
// It does not decode: anyone who wants a value hands the checked bytes to
// encoding/json. It is used in front of every API operation and of the webhook
// ingress, and therefore reads strangers' bytes: with package jsontext.
package jsonbody
