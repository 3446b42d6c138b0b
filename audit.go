package lineshaft

import (
	"time"
)

// AuditEntry is one row of the audit log: who did what to which thing, from where.
type AuditEntry struct {
	ID         string
	Time       time.Time
	Actor      Principal
	KeyID      string
	Action     string
	TargetType string
	TargetID   string
	RemoteAddr string
	RequestID  string
	Detail     map[string]string
}

// AuditFilter selects entries of the audit log. An index serves one of Actor, Action
// and Target at a time, beside a span of time; zero values do not filter.
type AuditFilter struct {
	// Actor is the uid of a principal.
	Actor  string
	Action string
	// Target is the id of what something was done to.
	Target string
	Since  time.Time // inclusive
	Until  time.Time // exclusive
}

// Validate refuses what no index serves.
func (f AuditFilter) Validate() error {
	given := 0
	for _, text := range []string{f.Actor, f.Action, f.Target} {
		if text != "" {
			given++
		}
		if len(text) > 512 {
			return Invalid("filter", "longer than 512 bytes; nothing in the log is")
		}
		if err := checkText("filter", text); err != nil {
			return err
		}
	}
	if given > 1 {
		return Invalid("filter", "give one of actor, action and target, with a span of time if needed")
	}
	return nil
}
