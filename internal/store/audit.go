package store

import (
	"context"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// Audit appends entries in the transaction of the changes they record. Their ids and
// times are made here.
func (tx *Tx) Audit(ctx context.Context, entries ...lineshaft.AuditEntry) error {
	v := inserts{into: "audit_log (id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail)"}
	for _, e := range entries {
		detail, err := encode(e.Detail)
		if err != nil {
			return err
		}
		v.row(tx.newID(), e.Actor.UID, e.Actor.Type, e.Actor.DisplayName, e.KeyID, e.Action, e.TargetType, e.TargetID,
			e.RemoteAddr, e.RequestID, detail)
	}
	return tx.sendRows(ctx, &v)
}

// ListAudit reads entries that a filter selects and that are older than before ("" for
// the newest), newest first.
func (r reader) ListAudit(ctx context.Context, f lineshaft.AuditFilter, before string, limit int) ([]lineshaft.AuditEntry, error) {
	where, args := auditWhere(f, before)
	args = append(args, limit)
	return collect(ctx, r, "read audit log", `SELECT id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail
		FROM audit_log WHERE `+where+` ORDER BY id DESC LIMIT $`+strconv.Itoa(len(args)), args, func(scan rowScan) (*lineshaft.AuditEntry, error) {
		e := &lineshaft.AuditEntry{}
		err := scan(&e.ID, &e.Actor.UID, &e.Actor.Type, &e.Actor.DisplayName, &e.KeyID, &e.Action, &e.TargetType, &e.TargetID,
			&e.RemoteAddr, &e.RequestID, toJSON(&e.Detail))
		e.Time, _ = id.Time(e.ID)
		return e, err
	})
}

// auditWhere is a range of ids, which are in the order of time, and at most one column
// that has an index with them.
func auditWhere(f lineshaft.AuditFilter, before string) (string, []any) {
	if before == "" {
		before = "z" // above every id
	}
	if !f.Until.IsZero() {
		before = min(before, id.Floor(f.Until))
	}
	where, args := "id < $1", []any{before}
	and := func(condition string, value any) {
		args = append(args, value)
		where += " AND " + condition + strconv.Itoa(len(args))
	}
	if !f.Since.IsZero() {
		and("id >= $", id.Floor(f.Since))
	}
	switch {
	case f.Actor != "":
		and("actor_uid = $", f.Actor)
	case f.Action != "":
		and("action = $", f.Action)
	case f.Target != "":
		and("target_id = $", f.Target)
	}
	return where, args
}
