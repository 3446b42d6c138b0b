package factories

import (
	"context"
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// changeFactory makes one change to a factory or a part of it, in one transaction
// with the factory locked. Every node hears of it, and no delivery is accepted on
// what was before once it has returned. What it does to the definition is a revision.
func (s *Factories) changeFactory(ctx context.Context, c lineshaft.Caller, uid string, change func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error) error {
	if !c.MaySeeFactory(uid) {
		return lineshaft.NotFound("factory", uid)
	}
	ahead, err := readFolder(ctx, s.Store, uid)
	if err != nil {
		return err
	}
	return s.lockedFactory(ctx, c, uid, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		if err := managed(ctx, tx, f); err != nil {
			return err
		}
		if err := change(ctx, tx, f); err != nil {
			return err
		}
		return s.recordEdit(ctx, tx, c, uid, ahead)
	})
}

// managed refuses to change a factory that is edited in a repository, and names that.
func managed(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
	if f.Mode == lineshaft.ModeManaged {
		return nil
	}
	found, err := tx.Repositories(ctx, f.UID)
	if err != nil {
		return err
	}
	return lineshaft.Conflict("factory %q follows %s; change it there and push, or make it managed first with PATCH {\"repository\": null}", f.Name, sourceText(found[f.UID].Source))
}

// lockedFactory is changeFactory for factories of any mode, without a record of what
// was done. errUnchanged from change takes everything back and is no error.
func (s *Factories) lockedFactory(ctx context.Context, c lineshaft.Caller, uid string, change func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error) error {
	if !c.MaySeeFactory(uid) {
		return lineshaft.NotFound("factory", uid)
	}
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.LockFactory(ctx, uid, s.Store.Now())
		if err != nil {
			return err
		}
		tx.Wake(stream.FactoriesTopic)
		if err := change(ctx, tx, f); err != nil {
			return err
		}
		return s.trigger.SyncTimers(ctx, tx, uid)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	// Whoever made a webhook may use it at once, on this node at least.
	if err := s.trigger.RefreshHooks(ctx); err != nil {
		s.Log.WarnContext(ctx, "refresh webhooks", "err", err)
	}
	return nil
}
