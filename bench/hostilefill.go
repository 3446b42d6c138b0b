package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// hostileRuns have a prompt and a base prompt of hostileText each.
	hostileRuns = 120
	hostileText = 1 << 20
	// hostilePieces of hostilePiece are the log of the loud run: 100 MB.
	hostilePieces = 1600
	hostilePiece  = 64_000
	// hostileCalls are the tool calls that the busy run opened and never ended.
	hostileCalls = 40_000
	hostileBatch = 100
)

// fillHostile writes what a member with bad intentions can make runs write.
func (s *session) fillHostile(ctx context.Context, db *database) (f hostileFill, err error) {
	st, err := store.Open(ctx, store.Options{Database: db.url})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	long := strings.Repeat("malice ", hostileText/7)
	for range s.opts.count(hostileRuns, 5) {
		if f.long, err = hostileRun(ctx, st, long); err != nil {
			return f, err
		}
	}
	if f.loud, err = hostileRun(ctx, st, "loud"); err != nil {
		return f, err
	}
	if f.busy, err = hostileRun(ctx, st, "busy"); err != nil {
		return f, err
	}
	text := strings.Repeat("x", hostilePiece)
	err = hostileLog(ctx, st, f.loud, s.opts.count(hostilePieces, 20), func(int) (lineshaft.EventType, any) {
		return lineshaft.EventOutput, lineshaft.OutputData{Stream: "stdout", Text: text}
	})
	if err != nil {
		return f, err
	}
	return f, hostileLog(ctx, st, f.busy, s.opts.count(hostileCalls, 200), func(i int) (lineshaft.EventType, any) {
		return lineshaft.EventToolCall, lineshaft.ToolCallData{ID: fmt.Sprint("call-", i), Category: "command", Name: "run_command", Input: map[string]any{"command": "true"}}
	})
}

// hostileRun writes a run that has been cancelled.
func hostileRun(ctx context.Context, st *store.Store, prompt string) (string, error) {
	runID, now := st.NewID()
	config := lineshaft.AgentConfig{BasePrompt: prompt, WorkerHost: lineshaft.HostedWorker}
	run := &store.NewRun{
		Head: store.RunHead{RunLife: lineshaft.RunLife{
			ID: runID, State: lineshaft.Cancelled, WorkerHost: lineshaft.HostedWorker, CreatorUID: "user_bench", UpdatedAt: now, FinishedAt: now, MaxAttempts: 1,
		}},
		Body:  store.RunBody{Prompt: prompt, Submitted: prompt, Config: config, Request: config},
		Title: "malice", Source: lineshaft.SourceAPI, ConversationID: runID, SessionID: runID, RootRunID: runID, CreatedAt: now,
	}
	err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertRun(ctx, run, []lineshaft.Draft{lineshaft.NewDraft(lineshaft.EventState, now, lineshaft.StateData{To: lineshaft.Cancelled})})
	})
	if err != nil {
		return "", fmt.Errorf("insert run: %w", err)
	}
	return runID, nil
}

// hostileLog adds events to a run.
func hostileLog(ctx context.Context, st *store.Store, runID string, events int, event func(i int) (lineshaft.EventType, any)) error {
	for from := 0; from < events; from += hostileBatch {
		var drafts []lineshaft.Draft
		for i := from; i < min(from+hostileBatch, events); i++ {
			kind, data := event(i)
			drafts = append(drafts, lineshaft.NewDraft(kind, time.Now(), data))
		}
		err := st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			head, err := tx.LockRun(ctx, runID)
			if err != nil {
				return err
			}
			return tx.SaveRun(ctx, head, drafts...)
		})
		if err != nil {
			return fmt.Errorf("add to log: %w", err)
		}
	}
	return nil
}
