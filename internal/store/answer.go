package store

import (
	"context"
	"fmt"
)

// BeginAsk notes that an execution asks something: earlier messages do not answer it,
// and the answer to the question before was used.
func (tx *Tx) BeginAsk(ctx context.Context, e *Execution, ask string) error {
	e.Ask = ask
	err := tx.one(ctx, "SELECT COALESCE(MAX(id), '') FROM followups WHERE run_id = $1", []any{e.RunID}, &e.AskAfter)
	if err != nil {
		return fmt.Errorf("read newest follow-up: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE executions SET ask = $2, ask_after = $3 WHERE id = $1", e.ID, e.Ask, e.AskAfter); err != nil {
		return fmt.Errorf("note question: %w", err)
	}
	return tx.do(ctx, "finish answer",
		"UPDATE followups SET state = 'done' WHERE run_id = $1 AND state <> 'done' AND state = 'taken' AND answers <> ''", e.RunID)
}

// TakeAnswer gives the follow-up that answers an execution's question: the one taken
// for it before, or the oldest that came after it. It is nil while there is none. The
// caller saves the head.
func (tx *Tx) TakeAnswer(ctx context.Context, h *RunHead, e *Execution) (*Followup, error) {
	f := Followup{RunID: h.ID}
	if h.Taken {
		err := tx.one(ctx, "SELECT id, message FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'taken' AND answers = $2 LIMIT 1",
			[]any{h.ID, e.Ask}, &f.ID, &f.Message)
		if err == nil || !IsNoRows(err) {
			return &f, err
		}
	}
	if h.Unread == 0 {
		return nil, nil // nobody has answered yet
	}
	err := tx.one(ctx, "SELECT id, message FROM followups WHERE run_id = $1 AND state <> 'done' AND state = 'pending' AND id > $2 ORDER BY id LIMIT 1",
		[]any{h.ID, e.AskAfter}, &f.ID, &f.Message)
	if IsNoRows(err) {
		return nil, nil // what waits was said before
	}
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE followups SET state = 'taken', execution_id = $2, answers = $3 WHERE id = $1", f.ID, e.ID, e.Ask); err != nil {
		return nil, fmt.Errorf("take answer: %w", err)
	}
	h.Unread, h.Taken = h.Unread-1, true
	return &f, nil
}

// ReturnAnswer makes an answer wait again that came too late to be used. The caller
// saves the head.
func (tx *Tx) ReturnAnswer(ctx context.Context, h *RunHead, ask string) error {
	if !h.Taken || ask == "" {
		return nil
	}
	n, err := tx.exec(ctx, `UPDATE followups SET state = 'pending', execution_id = '', answers = ''
		WHERE run_id = $1 AND state <> 'done' AND state = 'taken' AND answers = $2`, h.ID, ask)
	if err != nil {
		return fmt.Errorf("return answer: %w", err)
	}
	h.Unread += int(n)
	return nil
}
