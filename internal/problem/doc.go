// Package problem turns a domain error into an HTTP answer: an RFC 9457 problem
// document with its status, its headers and a page that explains it. It is the
// only place that knows which status belongs to which code.
//
// It decides nothing about the domain and reads nothing but the error. Every
// transport (api, ingress, web, mcpserver) answers failures through it, so that
// an internal cause can reach a log but never a caller.
package problem
