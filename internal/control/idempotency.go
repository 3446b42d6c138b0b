package control

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// answerLife is how long an answer is kept under its idempotency key (H-9).
const answerLife = 24 * time.Hour

// idempotently runs work inside tx at most once for a key and puts its result into
// answer. When an earlier call left an answer, that one is decoded instead and
// replayed is true. The key is taken in the same transaction as the work: if the
// work fails, nothing is kept.
func (s *Service) idempotently(ctx context.Context, tx *store.Tx, c lineshaft.Caller, key *Idempotency, answer any, work func() error) (replayed bool, err error) {
	if key == nil {
		return false, work()
	}
	name := store.Hash(fmt.Sprintf("%s\x00%s\x00%s\x00%s", c.Principal.UID, key.Method, key.Path, key.Key))
	body := hex.EncodeToString(key.BodyHash[:])
	kept, err := tx.ReserveKey(ctx, name, body, s.store.Now(), answerLife)
	if err != nil {
		return false, err
	}
	if kept != nil {
		if kept.BodyHash != body {
			return false, &lineshaft.Error{
				Code:    lineshaft.CodeIdempotencyMismatch,
				Message: "this Idempotency-Key was used with another body; use a new key for a new request",
			}
		}
		return true, json.Unmarshal([]byte(kept.Answer), answer)
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
