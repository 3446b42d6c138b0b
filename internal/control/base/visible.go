package base

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// VisibleFactory reads a factory if the caller's key reaches it; otherwise it does
// not exist.
func (s *Base) VisibleFactory(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Factory, error) {
	if !c.MaySeeFactory(uid) {
		return nil, lineshaft.NotFound("factory", uid)
	}
	return s.Store.GetFactory(ctx, uid)
}

// SeesAgent says whether a caller's key reaches an agent. A run's own token reaches
// those that its run may give work to: the agents of its factory.
func SeesAgent(c lineshaft.Caller, a lineshaft.Agent) bool {
	return c.MaySeeFactory(a.FactoryUID) && (c.Role != lineshaft.RoleRun || a.FactoryUID != "")
}

// CheckReach requires the factories of an endpoint to exist and to be the caller's:
// otherwise a key that is limited to some would be notified of others.
func CheckReach(ctx context.Context, tx *store.Tx, c lineshaft.Caller, factoryUIDs []string) error {
	if len(c.FactoryUIDs) > 0 && len(factoryUIDs) == 0 {
		return lineshaft.Denied("your key is limited to factories; name some of them in factory_uids, or use another key")
	}
	for i, uid := range factoryUIDs {
		_, err := tx.GetFactory(ctx, uid)
		if IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || !c.MaySeeFactory(uid) { // the same answer for both
			return lineshaft.Invalid(fmt.Sprintf("factory_uids[%d]", i), "there is no factory %s that your key may see", strconv.Quote(lineshaft.Clip(uid, 100)))
		}
	}
	return nil
}

// TeamEnvironments says whether a caller may change environments: they are the whole
// team's, and runs of any factory may use them.
func TeamEnvironments(c lineshaft.Caller) error {
	if len(c.FactoryUIDs) > 0 {
		return lineshaft.Denied("environments belong to the whole team, and your key is limited to some factories; use another key")
	}
	return nil
}

// MaySee says whether a caller's key reaches a run: any of its factories, or for a
// run's own token its run and what is below it.
func MaySee(ctx context.Context, r ancestry, c lineshaft.Caller, runID, factoryUID string) (bool, error) {
	if c.Role == lineshaft.RoleRun {
		if runID == c.RunID {
			return true, nil
		}
		return r.IsAncestor(ctx, c.RunID, runID)
	}
	return c.MaySeeFactory(factoryUID), nil
}

// ancestry is met by the store and by a transaction.
type ancestry interface {
	IsAncestor(ctx context.Context, ancestor, runID string) (bool, error)
}
