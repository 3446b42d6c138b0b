package secrets

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// EnvironmentSort is an order of environments.
type EnvironmentSort string

// The orders of environments.
const (
	// EnvironmentsByUpdate is newest first.
	EnvironmentsByUpdate EnvironmentSort = "last_updated"
	EnvironmentsByName   EnvironmentSort = "name"
)

// CreateEnvironment stores an environment.
func (s *Secrets) CreateEnvironment(ctx context.Context, c lineshaft.Caller, config lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	uid := id.Alphanumeric(lineshaft.EnvironmentIDLength)
	return s.putEnvironment(ctx, c, uid, config, "environment.create", func(context.Context, *store.Tx) (*lineshaft.Environment, error) {
		return &lineshaft.Environment{UID: uid, Creator: c.Principal.UID, CreatedAt: s.Store.Now()}, nil
	})
}

// UpdateEnvironment replaces the configuration of an environment. Runs that begin
// later get the new one.
func (s *Secrets) UpdateEnvironment(ctx context.Context, c lineshaft.Caller, uid string, config lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	return s.putEnvironment(ctx, c, uid, config, "environment.update", func(ctx context.Context, tx *store.Tx) (*lineshaft.Environment, error) {
		return lockEnvironment(ctx, tx, uid)
	})
}

// putEnvironment stores a configuration into what find gives.
func (s *Secrets) putEnvironment(ctx context.Context, c lineshaft.Caller, uid string, config lineshaft.EnvironmentConfig, action string,
	find func(context.Context, *store.Tx) (*lineshaft.Environment, error),
) (*lineshaft.EnvironmentDetail, error) {
	if err := base.TeamEnvironments(c); err != nil {
		return nil, err
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	var detail *lineshaft.EnvironmentDetail
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		e, err := find(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.checkEnvironmentSecrets(ctx, tx, config); err != nil {
			return err
		}
		e.Config, e.Editor, e.UpdatedAt = config, c.Principal.UID, s.Store.Now()
		most := store.Extent{Rows: lineshaft.MaxEnvironments, Bytes: lineshaft.MaxEnvironmentBytes}
		if err := base.PutWithin(ctx, "environments", most, tx.EnvironmentExtent, func() error { return tx.PutEnvironment(ctx, *e) }); err != nil {
			return err
		}
		if err := s.Audit(ctx, tx, c, action, "environment", uid, environmentDetail(config)); err != nil {
			return err
		}
		detail, err = tx.DescribeEnvironment(ctx, uid)
		return err
	})
	return detail, err
}

// environmentDetail is what the audit log keeps: which secrets it grants.
func environmentDetail(config lineshaft.EnvironmentConfig) map[string]string {
	detail := map[string]string{"name": config.Name}
	if len(config.Secrets) > 0 {
		detail["secrets"] = strings.Join(config.Secrets, " ")
	}
	if config.GitCredentials != "" {
		detail["git_credentials"] = config.GitCredentials
	}
	return detail
}

// checkEnvironmentSecrets is checkGrants for an environment, whose credentials for
// repositories are a secret like others.
func (s *Secrets) checkEnvironmentSecrets(ctx context.Context, tx *store.Tx, config lineshaft.EnvironmentConfig) error {
	names := slices.Clone(config.Secrets)
	if config.GitCredentials != "" && !slices.Contains(names, config.GitCredentials) {
		names = append(names, config.GitCredentials)
	}
	slices.Sort(names) // in one order with other changes, so that two cannot wait for each other
	for _, name := range names {
		field := "config.secrets"
		if !slices.Contains(config.Secrets, name) {
			field = "config.git_credentials"
		}
		if err := lockGrant(ctx, tx, field, name); err != nil {
			return err
		}
	}
	return nil
}

// GetEnvironment reads an environment.
func (s *Secrets) GetEnvironment(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.EnvironmentDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	if !validEnvironmentID(uid) {
		return nil, lineshaft.NotFound("environment", uid)
	}
	found, err := s.Store.DescribeEnvironment(ctx, uid)
	if err != nil {
		return nil, err
	}
	return found, s.hideLastRun(ctx, c, found)
}

// hideLastRun removes the newest run, and whether it could be set up, for a caller who
// may not see that run: environments are the whole team's, their runs are not.
func (s *Secrets) hideLastRun(ctx context.Context, c lineshaft.Caller, e *lineshaft.EnvironmentDetail) error {
	if e.LastRun == nil {
		return nil
	}
	visible, err := base.MaySee(ctx, s.Store, c, e.LastRun.ID, e.LastRun.FactoryUID)
	if err != nil || !visible {
		e.LastRun = nil
	}
	return err
}

// ListEnvironments reads all environments; the published clients do not page them.
func (s *Secrets) ListEnvironments(ctx context.Context, c lineshaft.Caller, by EnvironmentSort) ([]lineshaft.EnvironmentDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesRead); err != nil {
		return nil, err
	}
	list, err := s.Store.DescribeEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := s.hideLastRun(ctx, c, &list[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b lineshaft.EnvironmentDetail) int {
		if by == EnvironmentsByName {
			return cmp.Or(cmp.Compare(strings.ToLower(a.Config.Name), strings.ToLower(b.Config.Name)), cmp.Compare(a.Config.Name, b.Config.Name), cmp.Compare(a.UID, b.UID))
		}
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.UID, b.UID))
	})
	return list, nil
}

// DeleteEnvironment removes an environment that nothing uses.
func (s *Secrets) DeleteEnvironment(ctx context.Context, c lineshaft.Caller, uid string) error {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return err
	}
	if err := base.TeamEnvironments(c); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		e, err := lockEnvironment(ctx, tx, uid)
		if err != nil {
			return err
		}
		runID, err := tx.LiveRun(ctx, uid)
		if err != nil {
			return err
		}
		if runID != "" {
			return lineshaft.Conflict("environment %q is in use by run %s, which has not ended; wait for it, or cancel it", e.Config.Name, runID)
		}
		uses, err := environmentUses(ctx, tx, uid)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return lineshaft.Conflict("environment %q is in use by %s; change these first", e.Config.Name, NameUses(texts(uses)))
		}
		if err := tx.DeleteEnvironment(ctx, uid); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "environment.delete", "environment", uid, environmentDetail(e.Config))
	})
}

// lockEnvironment is tx.LockEnvironment for an id that anyone may have written.
func lockEnvironment(ctx context.Context, tx *store.Tx, uid string) (*lineshaft.Environment, error) {
	if !validEnvironmentID(uid) { // no database can be asked for every text
		return nil, lineshaft.NotFound("environment", uid)
	}
	return tx.LockEnvironment(ctx, uid)
}

func validEnvironmentID(uid string) bool {
	return len(uid) == lineshaft.EnvironmentIDLength && !strings.ContainsFunc(uid, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
