// Package store holds every SQL statement of Lineshaft, one file per noun and one
// text for both engines: SQLite (one machine) and PostgreSQL (many nodes). What
// differs between the engines is in dialect.go, each with its reason.
//
// Reads are methods of Store and may run at the same time. Writes happen in
// Store.Write: on SQLite the callers' work is gathered into one transaction by a
// single writer (groupcommit.go), on PostgreSQL each call is a transaction of its
// own. When Write returns nil the work is durable; topics given to Tx.Wake are
// announced only after that.
//
// The package knows nothing of permissions or HTTP; control does the first and
// package problem the second. Nothing else may import a database driver.
package store
