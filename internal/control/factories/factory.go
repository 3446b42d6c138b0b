package factories

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// NewFactory asks for a factory.
type NewFactory struct {
	Name        string
	Alias       string
	Description string
	// Repository is what it follows; nil makes a managed one.
	Repository *lineshaft.GitSource
}

// FactoryChange says what to change of a factory: nil keeps, an empty alias or
// description clears.
type FactoryChange struct {
	Name        *string
	Alias       *string
	Description *string
	Paused      *bool
	// DailyBudget is the whole new one; the zero value removes it.
	DailyBudget *lineshaft.Budget
	// Repository is what the factory will follow; Unlink makes it a managed one. Either
	// comes alone, or with the brakes.
	Repository *lineshaft.GitSource
	Unlink     bool
}

// FactoryQuery selects a page of factories.
type FactoryQuery struct {
	// Search is a part of the name or alias, whatever its case.
	Search string
	Limit  int
	Cursor string
}

// FactoryPage is a page of factories in the order of their making.
type FactoryPage struct {
	Factories []lineshaft.Factory
	Next      string
}

// CreateFactory makes a factory with its foreman. What a repository says is put in
// force when it has been read.
func (s *Factories) CreateFactory(ctx context.Context, c lineshaft.Caller, n NewFactory) (*lineshaft.Factory, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	if err := seesNewFactory(c); err != nil {
		return nil, err
	}
	uid, at := s.Store.NewID()
	agentUID, _ := s.Store.NewID()
	made := lineshaft.Factory{
		UID: uid, Name: n.Name, Alias: n.Alias, Description: n.Description, Mode: lineshaft.ModeManaged,
		Foreman: lineshaft.ForemanName, CreatedAt: at, UpdatedAt: at,
	}
	if err := made.Validate(); err != nil {
		return nil, err
	}
	if n.Repository != nil {
		if err := s.checkSource(c, *n.Repository); err != nil {
			return nil, err
		}
		made.Repository = &lineshaft.GitStatus{Source: *n.Repository}
	}
	foreman := lineshaft.Agent{
		UID: agentUID, FactoryUID: uid, Name: lineshaft.ForemanName, Type: lineshaft.AgentForeman,
		Description: "Takes the work that names no agent.", CreatedAt: at, UpdatedAt: at,
	}
	var stored *lineshaft.Factory
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := checkAlias(ctx, tx, made); err != nil {
			return err
		}
		tx.Wake(stream.FactoriesTopic)
		if err := tx.InsertFactory(ctx, made); err != nil {
			return aliasConflict(err, made.Alias)
		}
		if err := tx.PutAgent(ctx, foreman); err != nil {
			return err
		}
		if err := s.Audit(ctx, tx, c, "factory.create", "factory", uid, factoryDetail(made)); err != nil {
			return err
		}
		if err := s.recordEdit(ctx, tx, c, uid, noFolder()); err != nil {
			return err
		}
		var err error
		if stored, err = tx.GetFactory(ctx, uid); err == nil && n.Repository != nil {
			err = linked(ctx, tx, stored, *n.Repository)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	stored.SpentToday = &lineshaft.Spending{}
	return stored, nil
}

func seesNewFactory(c lineshaft.Caller) error {
	if len(c.FactoryUIDs) > 0 {
		return lineshaft.Denied("your key is limited to factories, so it could not see a new one; use a key without such a limit")
	}
	return nil
}

func factoryDetail(f lineshaft.Factory) map[string]string {
	detail := map[string]string{"name": f.Name}
	if f.Alias != "" {
		detail["alias"] = f.Alias
	}
	if f.Repository != nil {
		maps.Copy(detail, sourceDetail(&f.Repository.Source))
	}
	return detail
}

// checkAlias finds an alias that another factory has.
func checkAlias(ctx context.Context, tx *store.Tx, f lineshaft.Factory) error {
	if f.Alias == "" {
		return nil
	}
	taken, err := tx.AliasTaken(ctx, f.Alias, f.UID)
	if err != nil {
		return fmt.Errorf("check alias: %w", err)
	}
	if taken {
		return errAliasTaken(f.Alias, nil)
	}
	return nil
}

// aliasConflict explains the database's error when two writers took an alias at the
// same time: nothing else of a factory is unique.
func aliasConflict(err error, alias string) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		return errAliasTaken(alias, err)
	}
	return err
}

func errAliasTaken(alias string, cause error) error {
	taken := lineshaft.Conflict("another factory has the alias %q, in this or another case; choose another", alias)
	taken.Field, taken.Cause = "alias", cause
	return taken
}

// GetFactory reads a factory.
func (s *Factories) GetFactory(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Factory, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	// Before the factory itself: once the commit is reported as in force, what it
	// changed must be visible.
	status, err := s.Store.Repositories(ctx, uid)
	if err != nil {
		return nil, err
	}
	f, err := s.VisibleFactory(ctx, c, uid)
	if err != nil {
		return nil, err
	}
	if found, ok := status[uid]; ok && f.Mode == lineshaft.ModeRepository {
		f.Repository = &found
	}
	return f, s.withSpending(ctx, f)
}

func (s *Factories) withSpending(ctx context.Context, f *lineshaft.Factory) error {
	spent, err := s.Store.Spending(ctx, f.UID, s.Store.Now())
	f.SpentToday = &spent
	return err
}

// ListFactories reads a page of the factories that the caller's key reaches. The
// search is done here: the engines do not agree on what differs only in case.
func (s *Factories) ListFactories(ctx context.Context, c lineshaft.Caller, q FactoryQuery) (FactoryPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return FactoryPage{}, err
	}
	list, after := base.Fingerprint("factories\x00"+q.Search), ""
	if q.Cursor != "" {
		key, err := base.DecodeCursor[string](list, q.Cursor)
		if err != nil {
			return FactoryPage{}, err
		}
		after = *key
	}
	var page FactoryPage
	for {
		batch, err := s.Store.ListFactories(ctx, after, base.FactoryBatch)
		if err != nil {
			return FactoryPage{}, err
		}
		for _, f := range batch {
			after = f.UID
			if !c.MaySeeFactory(f.UID) || !factoryMatches(f, q.Search) {
				continue
			}
			if len(page.Factories) == q.Limit {
				page.Next, err = base.EncodeCursor(list, page.Factories[q.Limit-1].UID)
				if err != nil {
					return page, err
				}
				return page, s.WithRepositories(ctx, page.each()...)
			}
			page.Factories = append(page.Factories, f)
		}
		if len(batch) < base.FactoryBatch {
			return page, s.WithRepositories(ctx, page.each()...)
		}
	}
}

func (p FactoryPage) each() []*lineshaft.Factory {
	all := make([]*lineshaft.Factory, len(p.Factories))
	for i := range p.Factories {
		all[i] = &p.Factories[i]
	}
	return all
}

// PartCounts is how many parts a factory has.
type PartCounts = store.PartCounts

// CountParts counts the parts of the factories that the caller's key reaches.
func (s *Factories) CountParts(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string]PartCounts, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	return s.Store.CountParts(ctx, reached(c, factories)...)
}

// SpentToday reports what the runs of factories consumed today, which is a day of UTC.
func (s *Factories) SpentToday(ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory) (map[string]lineshaft.Spending, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	spent := map[string]lineshaft.Spending{}
	uids := reached(c, factories)
	if len(uids) == 0 {
		return spent, nil
	}
	days, err := s.Store.ListSpending(ctx, uids, s.Store.Now())
	for key, consumed := range days {
		spent[key[1]] = consumed
	}
	return spent, err
}

// MaxRunCount is how far CountRuns counts: from there on it is more.
const MaxRunCount = 100

// CountRuns counts the runs that a filter selects in each factory that the caller's key reaches.
func (s *Factories) CountRuns(
	ctx context.Context, c lineshaft.Caller, factories []lineshaft.Factory, f lineshaft.RunFilter,
) (map[string]int, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	return s.Store.CountRuns(ctx, reached(c, factories), f, MaxRunCount)
}

func factoryMatches(f lineshaft.Factory, search string) bool {
	if search == "" {
		return true
	}
	search = lineshaft.FoldCase(search)
	return strings.Contains(lineshaft.FoldCase(f.Name), search) || strings.Contains(lineshaft.FoldCase(f.Alias), search)
}

// UpdateFactory changes a factory's name, alias or description, its brakes, or the
// repository that it follows.
func (s *Factories) UpdateFactory(ctx context.Context, c lineshaft.Caller, uid string, change FactoryChange) (*lineshaft.Factory, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	if err := s.checkChange(c, change); err != nil {
		return nil, err
	}
	// What a definition says is changed where that is kept; the rest may always be.
	within := s.lockedFactory
	if change.edits() {
		within = s.changeFactory
	}
	var changed *lineshaft.Factory
	err := within(ctx, c, uid, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		detail := change.apply(f)
		if changed = f; len(detail) == 0 && change.Repository == nil && !change.Unlink {
			changed = nil // the lock raised its revision
			return errUnchanged
		}
		if err := f.Validate(); err != nil {
			return err
		}
		if err := checkAlias(ctx, tx, *f); err != nil {
			return err
		}
		if err := tx.UpdateFactory(ctx, *f); err != nil {
			return aliasConflict(err, f.Alias)
		}
		if err := change.link(ctx, tx, f, detail); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "factory.update", "factory", uid, detail)
	})
	if err != nil {
		return nil, err
	}
	if changed == nil {
		return s.GetFactory(ctx, c, uid)
	}
	if err := s.WithRepositories(ctx, changed); err != nil {
		return changed, err
	}
	return changed, s.withSpending(ctx, changed)
}

// edits says whether a change is one of the definition. A change of nothing is: it
// reports whether the factory may be edited here.
func (change FactoryChange) edits() bool {
	return change.Name != nil || change.Alias != nil || change.Description != nil ||
		change.Paused == nil && change.DailyBudget == nil && change.Repository == nil && !change.Unlink
}

func (s *Factories) checkChange(c lineshaft.Caller, change FactoryChange) error {
	if (change.Repository != nil || change.Unlink) && change.edits() {
		return lineshaft.Invalid("repository", "change only this: name, alias and description come from the repository")
	}
	if change.Repository != nil {
		return s.checkSource(c, *change.Repository)
	}
	return nil
}

// link follows another repository, or none.
func (change FactoryChange) link(ctx context.Context, tx *store.Tx, f *lineshaft.Factory, detail map[string]string) error {
	switch {
	case change.Repository != nil:
		maps.Copy(detail, sourceDetail(change.Repository))
		return linked(ctx, tx, f, *change.Repository)
	case change.Unlink:
		maps.Copy(detail, sourceDetail(nil))
		return unlinked(ctx, tx, f)
	}
	return nil
}

// apply writes the change into f and says what it is, for the audit log.
func (change FactoryChange) apply(f *lineshaft.Factory) map[string]string {
	detail := map[string]string{}
	for field, text := range map[string]struct{ to, from *string }{
		"name": {&f.Name, change.Name}, "alias": {&f.Alias, change.Alias}, "description": {&f.Description, change.Description},
	} {
		if text.from != nil {
			*text.to = *text.from
			if field != "description" { // too long for a log
				detail[field] = *text.from
			} else {
				detail[field] = "changed"
			}
		}
	}
	if change.Paused != nil {
		f.Paused = *change.Paused
		detail["paused"] = strconv.FormatBool(f.Paused)
	}
	if change.DailyBudget != nil {
		f.DailyBudget = *change.DailyBudget
		detail["daily_tokens"], detail["daily_cost_micros"] = strconv.FormatInt(f.DailyBudget.MaxTokens, 10), strconv.FormatInt(f.DailyBudget.MaxCostMicros, 10)
	}
	return detail
}

// DeleteFactory removes a factory with its agents, automations and webhooks, and
// the secrets that were made for those webhooks. Its runs stay.
func (s *Factories) DeleteFactory(ctx context.Context, c lineshaft.Caller, uid string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	return s.lockedFactory(ctx, c, uid, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		webhooks, err := tx.ListWebhooks(ctx, uid)
		if err != nil {
			return err
		}
		for i := range webhooks {
			if err := s.dropOwnedSecret(ctx, tx, c, &webhooks[i]); err != nil {
				return err
			}
			if err := s.auditWebhook(ctx, tx, c, "webhook.delete", &webhooks[i], nil); err != nil {
				return err
			}
		}
		if err := tx.DeleteFactory(ctx, uid, s.Store.Now()); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "factory.delete", "factory", uid, factoryDetail(*f))
	})
}

// changeFactory makes one change to a factory or a part of it, in one transaction with
// the factory locked. Every node is notified, and once it has returned no delivery is
// accepted by the old state. What it does to the definition is a revision.
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

// lockedFactory is changeFactory for factories of any mode, without a record of what was
// done. errUnchanged from change takes everything back and does not count as an error.
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
