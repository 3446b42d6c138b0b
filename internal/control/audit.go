package control

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// audit records what caller did, in the transaction of the change.
func (s *Service) audit(ctx context.Context, tx *store.Tx, c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) error {
	return tx.Audit(ctx, auditEntry(c, action, targetType, targetID, detail))
}

func auditEntry(c lineshaft.Caller, action, targetType, targetID string, detail map[string]string) lineshaft.AuditEntry {
	return lineshaft.AuditEntry{
		Actor: c.Principal, KeyID: c.KeyID, Action: action, TargetType: targetType, TargetID: targetID,
		RemoteAddr: c.RemoteAddr, RequestID: c.RequestID, Detail: detail,
	}
}

// runCaller is the actor of what is done for a run when it is claimed.
func runCaller(job *lineshaft.Job) lineshaft.Caller {
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: runPrincipalPrefix + job.RunID, Type: lineshaft.ServiceAccount, DisplayName: job.Title}, KeyID: job.ExecutionID,
	}
}
