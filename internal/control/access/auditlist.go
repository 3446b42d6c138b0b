package access

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// AuditQuery is one page of the audit log.
type AuditQuery struct {
	Filter lineshaft.AuditFilter
	Limit  int
	// Cursor comes from the page before; empty for the newest entries.
	Cursor string
}

// AuditPage is a page of the audit log, newest first.
type AuditPage struct {
	Entries []lineshaft.AuditEntry
	Next    string
}

// ListAudit reads a page of the audit log, newest first.
func (s *Access) ListAudit(ctx context.Context, c lineshaft.Caller, q AuditQuery) (AuditPage, error) {
	if err := c.Need(lineshaft.PermissionAudit); err != nil {
		return AuditPage{}, err
	}
	if len(c.FactoryUIDs) > 0 {
		return AuditPage{}, lineshaft.Denied("the audit log tells of all factories; your key is limited to some")
	}
	if err := q.Filter.Validate(); err != nil {
		return AuditPage{}, err
	}
	raw, err := json.Marshal(q.Filter) //nolint:musttag // only hashed, never read back
	if err != nil {
		return AuditPage{}, fmt.Errorf("fingerprint list: %w", err)
	}
	list, before := base.Fingerprint("audit\x00"+string(raw)), ""
	if q.Cursor != "" {
		key, err := base.DecodeCursor[string](list, q.Cursor)
		if err != nil {
			return AuditPage{}, err
		}
		before = *key
	}
	entries, err := s.Store.ListAudit(ctx, q.Filter, before, q.Limit+1)
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Entries: entries}
	if len(entries) > q.Limit {
		page.Entries = entries[:q.Limit]
		if page.Next, err = base.EncodeCursor(list, entries[q.Limit-1].ID); err != nil {
			return AuditPage{}, fmt.Errorf("encode cursor: %w", err)
		}
	}
	return page, nil
}
