// Package remote is the control plane as a self-hosted worker reaches it: over plain
// HTTP requests that the worker makes, never the other way. It meets worker.Control.
package remote
