package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

const repositoryColumns = "factory_uid, url, branch, path, seen, applied, problems, fault, checked_at, applied_at"

// PutRepository makes a factory follow a repository from its beginning; it is checked
// next.
func (tx *Tx) PutRepository(ctx context.Context, factoryUID string, source lineshaft.GitSource) error {
	return tx.do(ctx, "put repository",
		`INSERT INTO factory_repositories (`+repositoryColumns+`, claim, next_at) VALUES ($1, $2, $3, $4, '', '', '[]', '', 0, 0, '', 0)
		ON CONFLICT (factory_uid) DO UPDATE SET url = excluded.url, branch = excluded.branch, path = excluded.path, seen = '', applied = '',
		problems = '[]', fault = '', checked_at = 0, applied_at = 0, claim = '', next_at = 0`, factoryUID, source.URL, source.Branch, source.Path)
}

// DeleteRepository makes a factory follow none.
func (tx *Tx) DeleteRepository(ctx context.Context, factoryUID string) error {
	return tx.do(ctx, "delete repository", "DELETE FROM factory_repositories WHERE factory_uid = $1", factoryUID)
}

// Repositories reads what factories follow, by their uids; those that follow nothing
// are left out.
func (r reader) Repositories(ctx context.Context, factoryUIDs ...string) (map[string]lineshaft.GitStatus, error) {
	found := map[string]lineshaft.GitStatus{}
	if len(factoryUIDs) == 0 {
		return found, nil
	}
	var args []any
	query := "SELECT " + repositoryColumns + " FROM factory_repositories WHERE factory_uid IN " + list(&args, factoryUIDs)
	err := r.repositories(ctx, query, args, func(s lineshaft.GitStatus) { found[s.FactoryUID] = s })
	return found, err
}

func (r reader) repositories(ctx context.Context, query string, args []any, each func(lineshaft.GitStatus)) error {
	err := r.each(ctx, query, args, func(scan rowScan) error {
		var s lineshaft.GitStatus
		err := scan(&s.FactoryUID, &s.Source.URL, &s.Source.Branch, &s.Source.Path, &s.Seen, &s.Applied, toJSON(&s.Problems), &s.Fault,
			toTime(&s.CheckedAt), toTime(&s.AppliedAt))
		if err == nil {
			each(s)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read repository: %w", err)
	}
	return nil
}

// RepositoryDue says whether a repository is due for a check.
func (r reader) RepositoryDue(ctx context.Context) (bool, error) {
	return r.exists(ctx, "look for a due repository", "SELECT 1 FROM factory_repositories WHERE next_at <= "+r.d.now+" LIMIT 1")
}

// ClaimRepository takes a repository that is due, for as long as the lease; nil when
// there is none. A claim that nobody extends is over with the lease.
func (tx *Tx) ClaimRepository(ctx context.Context, claim string, lease time.Duration) (*lineshaft.GitStatus, error) {
	return tx.takeRepository(ctx, "(SELECT factory_uid FROM factory_repositories WHERE next_at <= "+tx.d.now+" ORDER BY next_at LIMIT 1"+tx.d.skipLocked+")", claim, lease)
}

// TakeRepository takes the repository of a factory, even during another check; nil when
// the factory follows none.
func (tx *Tx) TakeRepository(ctx context.Context, factoryUID, claim string, lease time.Duration) (*lineshaft.GitStatus, error) {
	return tx.takeRepository(ctx, "$2", claim, lease, factoryUID)
}

func (tx *Tx) takeRepository(ctx context.Context, which, claim string, lease time.Duration, args ...any) (*lineshaft.GitStatus, error) {
	var taken *lineshaft.GitStatus
	query := "UPDATE factory_repositories SET claim = $1, next_at = " + tx.d.now + " + " + fmt.Sprint(lease.Microseconds()) +
		" WHERE factory_uid = " + which + " RETURNING " + repositoryColumns
	err := tx.repositories(ctx, query, append([]any{claim}, args...), func(s lineshaft.GitStatus) { taken = &s })
	if err != nil {
		return nil, fmt.Errorf("claim repository: %w", err)
	}
	return taken, nil
}

// HoldRepository says whether a claim is in force, and keeps it so until the end of
// the transaction.
func (tx *Tx) HoldRepository(ctx context.Context, factoryUID, claim string) (bool, error) {
	return tx.exists(ctx, "lock claim of repository", "SELECT 1 FROM factory_repositories WHERE factory_uid = $1 AND claim = $2"+tx.d.forUpdate, factoryUID, claim)
}

// ExtendRepository gives a claim another lease, if it is still in force.
func (tx *Tx) ExtendRepository(ctx context.Context, factoryUID, claim string, lease time.Duration) (bool, error) {
	n, err := tx.exec(ctx, "UPDATE factory_repositories SET next_at = "+tx.d.now+" + "+fmt.Sprint(lease.Microseconds())+" WHERE factory_uid = $1 AND claim = $2",
		factoryUID, claim)
	if err != nil {
		return false, fmt.Errorf("extend claim of repository: %w", err)
	}
	return n > 0, nil
}

// NoteRepository ends a claim with what was seen; the next check is after the pause. It
// says false, and writes nothing, when the claim is no longer in force.
func (tx *Tx) NoteRepository(ctx context.Context, claim string, s lineshaft.GitStatus, pause time.Duration) (bool, error) {
	if s.Problems == nil {
		s.Problems = []lineshaft.FileProblem{}
	}
	problems, err := encode(s.Problems)
	if err != nil {
		return false, err
	}
	n, err := tx.exec(ctx, `UPDATE factory_repositories SET seen = $3, applied = $4, problems = $5, fault = $6, checked_at = $7, applied_at = $8,
		claim = '', next_at = `+tx.d.now+" + "+fmt.Sprint(pause.Microseconds())+" WHERE factory_uid = $1 AND claim = $2",
		s.FactoryUID, claim, s.Seen, s.Applied, problems, s.Fault, micros(s.CheckedAt), micros(s.AppliedAt))
	if err != nil {
		return false, fmt.Errorf("note repository: %w", err)
	}
	return n > 0, nil
}

// ReleaseRepository gives a claim back: someone else can check at once.
func (tx *Tx) ReleaseRepository(ctx context.Context, factoryUID, claim string) error {
	return tx.do(ctx, "release repository",
		"UPDATE factory_repositories SET claim = '', next_at = 0 WHERE factory_uid = $1 AND claim = $2", factoryUID, claim)
}

// DueRepository says that a repository has changed: it is due now, and a check that has
// already begun was too early.
func (tx *Tx) DueRepository(ctx context.Context, factoryUID string) error {
	return tx.do(ctx, "repository is due", "UPDATE factory_repositories SET claim = '', next_at = 0 WHERE factory_uid = $1", factoryUID)
}

// SetFactoryMode says where a factory is edited.
func (tx *Tx) SetFactoryMode(ctx context.Context, factoryUID string, mode lineshaft.FactoryMode) error {
	return tx.do(ctx, "set mode of factory", "UPDATE factories SET mode = $2 WHERE uid = $1", factoryUID, mode)
}
