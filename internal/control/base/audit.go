package base

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Audit records what caller did, in the transaction of the change.
func (s *Base) Audit(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) error {
	return tx.Audit(ctx, AuditEntry(c, action, targetType, targetID, detail))
}

// AuditEntry is what a caller did, for the audit log.
func AuditEntry(c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) lineshaft.AuditEntry {
	return lineshaft.AuditEntry{
		Actor: c.Principal, KeyID: c.KeyID, Action: action, TargetType: targetType, TargetID: targetID,
		RemoteAddr: c.RemoteAddr, RequestID: c.RequestID, Detail: detail,
	}
}

// RunCaller is the actor of what is done for a run when it is claimed.
func RunCaller(job *lineshaft.Job) lineshaft.Caller {
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: RunPrincipalPrefix + job.RunID, Type: lineshaft.ServiceAccount, DisplayName: job.Title}, KeyID: job.ExecutionID,
	}
}
