package control

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// visibleFactory reads a factory if the caller's key reaches it; otherwise it does
// not exist.
func (s *Service) visibleFactory(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Factory, error) {
	if !c.MaySeeFactory(uid) {
		return nil, lineshaft.NotFound("factory", uid)
	}
	return s.store.GetFactory(ctx, uid)
}

// changeFactory makes one change to a factory or a part of it, in one transaction
// with the factory locked. Every node hears of it, and no delivery is accepted on
// what was before once it has returned.
func (s *Service) changeFactory(ctx context.Context, c lineshaft.Caller, uid string, change func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error) error {
	if !c.MaySeeFactory(uid) {
		return lineshaft.NotFound("factory", uid)
	}
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.LockFactory(ctx, uid, s.store.Now())
		if err != nil {
			return err
		}
		if f.Mode != lineshaft.ModeManaged {
			return lineshaft.Conflict("factory %q follows a repository; change it there", f.Name)
		}
		tx.Wake(stream.FactoriesTopic)
		return change(ctx, tx, f)
	})
	if err != nil {
		return err
	}
	// Whoever made a webhook may use it at once, on this node at least.
	if err := s.RefreshHooks(ctx); err != nil {
		s.log.WarnContext(ctx, "refresh webhooks", "err", err)
	}
	return nil
}
