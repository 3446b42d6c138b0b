// Package jsontext reads JSON that strangers send (RFC 8259), in one pass, without
// recursion and held to MaxDepth. There are three ways to read with the one scanner:
// Check says whether a text is one value, Parse makes a Doc of it, and a Cursor walks
// over it; only Parse allocates, 24 bytes for each value.
//
// It is not for decoding into Go values: encoding/json does that. Errors say what is
// wrong and where, and never quote the text. Documents do not change once made and may
// be used by many goroutines at once.
package jsontext
