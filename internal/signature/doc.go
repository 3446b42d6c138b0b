// Package signature checks whether a delivery really comes from the sender that a
// webhook was made for. Every sender signs in its own way; each way is a scheme, a
// row of the table that Schemes returns.
//
// It is not for routing, rates, storage or JSON: it gets the bytes that arrived
// and answers yes or no, which delivery this is, and what a handshake wants to
// hear. It knows no HTTP but the shape of headers and does no I/O.
//
// What all schemes have in common:
//
//   - The table binds digest, encoding and key to the scheme. Nothing that a sender
//     writes in a header chooses another one.
//   - What is compared is text: our digest is written the way the sender would
//     write it, and both are compared in constant time. So there is one spelling of
//     each signature: lower-case hex, padded base64, no more and no fewer characters. (The scheme
//     hmac also takes hex that is upper case throughout.)
//   - A header that takes part may be sent once. A second copy is not authentic,
//     even an equal one: two readers of such a request could see different things.
//   - A signed time stamp may be 300 whole seconds away from now, before or after;
//     it is written in digits without leading zeros.
//
// A Verifier may be used by many goroutines at a time.
package signature
