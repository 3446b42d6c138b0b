package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

// exportBatch is how many entries of an export are in memory at once.
const exportBatch = 500

// exportedEntry is an entry as the API tells it.
type exportedEntry struct {
	ID         string            `json:"id"`
	Time       time.Time         `json:"time"`
	Actor      exportedActor     `json:"actor"`
	KeyID      string            `json:"key_id,omitempty"`
	Action     string            `json:"action"`
	TargetType string            `json:"target_type,omitempty"`
	TargetID   string            `json:"target_id,omitempty"`
	RemoteAddr string            `json:"remote_addr,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Detail     map[string]string `json:"detail,omitempty"`
}

type exportedActor struct {
	Type        string `json:"type,omitempty"`
	UID         string `json:"uid,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
}

// exportAudit sends all that a filter selects, a batch at a time, newest first.
func (s *server) exportAudit(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	filter, err := readAuditForm(r).filter()
	if err != nil {
		return err
	}
	query := access.AuditQuery{Filter: filter, Limit: exportBatch}
	batch, err := s.Control.ListAudit(r.Context(), c, query)
	if err != nil {
		return err
	}
	asAttachment(w, "application/x-ndjson", "lineshaft-audit.ndjson")
	out := http.NewResponseController(w)
	for {
		_ = out.SetWriteDeadline(time.Now().Add(writeWithin)) // of each batch, not of the whole
		if writeEntries(w, batch.Entries) != nil || out.Flush() != nil {
			return nil //nolint:nilerr // the reader has gone
		}
		if batch.Next == "" {
			return nil
		}
		query.Cursor = batch.Next
		if batch, err = s.Control.ListAudit(r.Context(), c, query); err == nil {
			err = s.Control.Recheck(r.Context(), c)
		}
		if err != nil {
			// The status is sent already: whoever reads the file must see that it is not whole.
			s.Logger.ErrorContext(r.Context(), "export of the audit log broke off", "err", err)
			_, _ = io.WriteString(w, `{"error":"the export broke off here; ask again"}`+"\n")
			return nil
		}
	}
}

func writeEntries(w io.Writer, entries []lineshaft.AuditEntry) error {
	encoder := json.NewEncoder(w)
	for _, e := range entries {
		if err := encoder.Encode(exportedEntry{
			ID: e.ID, Time: e.Time, Actor: exportedActor{string(e.Actor.Type), e.Actor.UID, e.Actor.DisplayName}, KeyID: e.KeyID, Action: e.Action,
			TargetType: e.TargetType, TargetID: e.TargetID, RemoteAddr: e.RemoteAddr, RequestID: e.RequestID, Detail: e.Detail,
		}); err != nil {
			return fmt.Errorf("write entry: %w", err)
		}
	}
	return nil
}
