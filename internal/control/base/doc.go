// Package base is what the rooms of the control plane share: the settings, the audit log,
// idempotency, pages and cursors, gathered transactions, the place in the log of state
// changes, spans, health, and who may see what. It knows no use case.
package base
