// Package control holds the use cases of Lineshaft: starting, continuing, ending
// and reading runs, giving them to workers and taking their reports, API keys and
// the audit log. Every transport (HTTP, dashboard, MCP) and every worker, in process
// or remote, goes through it; it decides who may do what and which writes belong
// into one transaction.
//
// It knows nothing of HTTP. All methods are safe for concurrent use, also by
// several nodes on one PostgreSQL database; when a method that changes something
// returns without error, the change is durable.
package control
