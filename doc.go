// Package lineshaft holds the nouns and rules of Lineshaft, a control plane for
// cloud agents: runs and their states, agent configurations, events, follow-ups,
// executions, principals and the errors a caller may see.
//
// It is pure: the standard library only, no I/O and no clock. Times and ids come
// in as arguments. Everything else in the module (store, control, transports,
// workers) is built around these types and may import this package; this package
// imports none of them.
package lineshaft
