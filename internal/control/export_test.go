package control

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// What other parts of this package call, for the tests outside it.

func InsertSecret(ctx context.Context, s *Service, tx *store.Tx, c lineshaft.Caller, secret lineshaft.Secret, value string) error {
	return s.insertSecret(ctx, tx, c, secret, value)
}

func ReplaceSecretValue(ctx context.Context, s *Service, tx *store.Tx, c lineshaft.Caller, name, value string) error {
	return s.replaceSecretValue(ctx, tx, c, name, value)
}

func SecretValue(ctx context.Context, s *Service, tx *store.Tx, name string) (string, lineshaft.Secret, error) {
	return s.secretValue(ctx, tx, name)
}

func CheckGrants(ctx context.Context, s *Service, tx *store.Tx, names []string) error {
	return s.checkGrants(ctx, tx, names)
}

func SealCredential(s *Service, uid, value string) (string, error) {
	return s.seal(webhookSeal(uid), []byte(value))
}

func OpenCredential(s *Service, uid, sealed string) ([]byte, error) {
	return s.open(webhookSeal(uid), sealed)
}

// AcceptTogether takes deliveries in one batch, in this order.
func AcceptTogether(ctx context.Context, s *Service, list ...Received) ([]Receipt, []error) {
	var batch []*acceptance
	for _, r := range list {
		batch = append(batch, newAcceptance(r))
	}
	s.acceptBatch(ctx, batch)
	receipts, errs := make([]Receipt, len(list)), make([]error, len(list))
	for i, a := range batch {
		receipts[i], errs[i] = a.receipt, a.err
	}
	return receipts, errs
}

// LoadHook makes a webhook ready from the store, whatever its state.
func LoadHook(ctx context.Context, s *Service, factoryUID, uid string) (*Hook, error) {
	return s.loadHook(ctx, factoryUID, uid)
}

// Weight is what a delivery takes of a batch.
func Weight(r Received) int { return newAcceptance(r).weight() }
