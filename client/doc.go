// Package client talks to a Lineshaft server: it starts, lists, follows, continues
// and cancels agent runs, and has a method for every other operation of the API.
//
// It is a library for other programs; the lineshaft command and remote workers also use
// it. It has its own types for the wire and imports nothing else of the module, so
// that a program which only wants to call a server does not pull one in. It does not
// cache, and it does not interpret what agents say.
//
// A Client is safe for use by many goroutines. Calls that the server can be asked
// again without harm are retried with growing, jittered pauses; a call that starts
// something carries an Idempotency-Key made for that call, so that a retry cannot
// start it twice. Every call ends when its context does. Stream delivers each event
// of a run exactly once and in order, over as many connections as it takes.
package client
