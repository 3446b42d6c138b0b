package base

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// AnswerLife is how long an answer is kept under its idempotency key (H-9).
const AnswerLife = 24 * time.Hour

// Idempotently runs work inside tx at most once for a key and puts its result into
// answer. When an earlier call left an answer, that one is decoded instead and replayed
// is true. The key is claimed in the same transaction as the work: if the work fails,
// nothing is kept.
func (s *Base) Idempotently(ctx context.Context, tx *store.Tx, c lineshaft.Caller, key *Idempotency, answer any, work func() error) (replayed bool, err error) {
	if key == nil {
		return false, work()
	}
	name, body := key.names(c)
	kept, err := tx.ReserveKey(ctx, name, body, s.Store.Now(), AnswerLife)
	if err != nil {
		return false, err
	}
	if kept != nil {
		return true, decodeKept(kept, body, answer)
	}
	if err := work(); err != nil {
		return false, err
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return false, fmt.Errorf("encode answer: %w", err)
	}
	return false, tx.KeepAnswer(ctx, name, string(raw))
}

// names are what a key and the body it came with are stored under. Keys of one
// principal share answers when they reach the same: a key limited to factories does not
// see what another was answered. Only a run itself has its uid.
func (k *Idempotency) names(c lineshaft.Caller) (name, body string) {
	name = fmt.Sprintf("%s\x00%s\x00%s\x00%s", c.Principal.UID, k.Method, k.Path, k.Key)
	if c.Role != lineshaft.RoleRun && len(c.FactoryUIDs) > 0 {
		reach := slices.Compact(slices.Sorted(slices.Values(c.FactoryUIDs)))
		name += "\x00" + strings.Join(reach, "\x00")
	}
	return store.Hash(name), hex.EncodeToString(k.BodyHash[:])
}

func decodeKept(kept *store.Kept, body string, answer any) error {
	if kept.BodyHash != body {
		return &lineshaft.Error{
			Code:    lineshaft.CodeIdempotencyMismatch,
			Message: "this Idempotency-Key was used with another body; use a new key for a new request",
		}
	}
	return json.Unmarshal([]byte(kept.Answer), answer)
}

// Replay looks for a kept answer first: the call may name things that are gone by now
// but existed when it was answered.
func (s *Base) Replay(ctx context.Context, c lineshaft.Caller, key *Idempotency, answer any) (bool, error) {
	if key == nil {
		return false, nil
	}
	name, body := key.names(c)
	kept, err := s.Store.FindAnswer(ctx, name, s.Store.Now().Add(-AnswerLife))
	if err != nil || kept == nil {
		return false, err
	}
	return true, decodeKept(kept, body, answer)
}

// Idempotency identifies a call that a client may send again (H-9). A nil
// pointer means the client gave no key.
type Idempotency struct {
	Key string
	// Method and Path scope the key together with the calling principal.
	Method string
	Path   string
	// BodyHash is the SHA-256 of the raw request body.
	BodyHash [32]byte
}
