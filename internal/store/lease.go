package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// leasePrefix begins the names of settings that are leases: until when, and whose.
const leasePrefix = "lease/"

// TakeLease gives a name to one holder at a time, across all nodes, and extends what
// the holder already has. A killed holder loses it when the lease is over, by the
// database's clock.
func (tx *Tx) TakeLease(ctx context.Context, name, holder string, lease time.Duration) (taken bool, err error) {
	name = leasePrefix + name
	var now int64
	if err := tx.one(ctx, "SELECT "+tx.d.now, nil, &now); err != nil {
		return false, fmt.Errorf("take lease: %w", err)
	}
	mine := strconv.FormatInt(now+lease.Microseconds(), 10) + " " + holder
	stored, err := tx.EnsureSetting(ctx, name, mine)
	if err != nil || stored == mine {
		return err == nil, err
	}
	if until, by := readLease(stored); by != holder && until > now {
		return false, nil
	}
	if err := tx.ReplaceSetting(ctx, name, stored, mine); err != nil {
		return false, err
	}
	stored, err = tx.GetSetting(ctx, name)
	return stored == mine, err
}

// EndLease gives a name back, unless someone else has it by now.
func (tx *Tx) EndLease(ctx context.Context, name, holder string) error {
	name = leasePrefix + name
	stored, err := tx.GetSetting(ctx, name)
	if _, by := readLease(stored); err != nil || by != holder {
		return err
	}
	return tx.do(ctx, "end lease", "DELETE FROM settings WHERE name = $1 AND value = $2", name, stored)
}

// readLease parses a stored lease; one that makes no sense is over.
func readLease(stored string) (until int64, holder string) {
	text, holder, _ := strings.Cut(stored, " ")
	until, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, ""
	}
	return until, holder
}
