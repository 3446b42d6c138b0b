package store

import (
	"context"
	"database/sql"
	"time"
)

// SQLite brings the log of writes (WAL) into the file at the end of a commit, once the log has a
// thousand pages: everybody then waits for it, and pages that every commit changes are written
// a second time for each. Here most of it is done beside the writer, and less often. The writer
// only does the rest, so that the log begins again from its start.
const (
	// checkpointEvery and checkpointCommits are how long and how much is waited for: both.
	checkpointEvery   = 250 * time.Millisecond
	checkpointCommits = 16
	// logPages is from which length on the writer does the rest.
	logPages = 4096
	// mostLogPages is when SQLite does it in a commit after all: the work beside it is behind.
	mostLogPages = 16384
)

// checkpoint brings the log of writes into the file whenever the writer has asked for it, until
// that has ended. It has a connection of its own: no reader can hold it up.
func (g *groupCommit) checkpoint(ctx context.Context, conn *sql.Conn) {
	defer close(g.checkpointed)
	defer func() { _ = conn.Close() }()
	failed := false
	for range g.ripe {
		var busy, pages, done int
		err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
		switch {
		case err != nil && !failed: // a full disk may stay so for long
			g.store.log.WarnContext(ctx, "the log of writes grows, the database file cannot be written: check disk space and permissions", "err", err)
		case err == nil && failed:
			g.store.log.InfoContext(ctx, "the database file can be written again")
		}
		failed = err != nil
		g.long.Store(pages > logPages)
	}
}

// shorten asks for a checkpoint after a commit, and does the rest of one if the log is long.
func (g *groupCommit) shorten(ctx context.Context) {
	if g.long.Swap(false) {
		_ = g.control(ctx, "PRAGMA wal_checkpoint(PASSIVE)") // of what it cannot do, the next one does more
	}
	if g.commits++; g.commits < checkpointCommits || time.Since(g.asked) < checkpointEvery {
		return
	}
	select {
	case g.ripe <- struct{}{}:
		g.commits, g.asked = 0, time.Now()
	default: // the one before is at it
	}
}
