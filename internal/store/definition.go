package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lineshaft/lineshaft"
)

const revisionColumns = "factory_uid, number, source, actor_uid, actor_type, actor_name, comment, commit_id, files, created_at"

// InsertRevision records a state of a factory's definition, given as texts by path. A
// text that an earlier state has is not stored again; those of last, the state before
// or nil, are known to exist. It returns the revision with the digests of the texts.
func (tx *Tx) InsertRevision(ctx context.Context, last *lineshaft.Revision, r lineshaft.Revision, texts map[string]string) (lineshaft.Revision, error) {
	rows := inserts{into: "definition_files (factory_uid, digest, body)", suffix: " ON CONFLICT (factory_uid, digest) DO NOTHING"}
	r.Files = make(map[string]string, len(texts))
	written := map[string]bool{}
	if last != nil {
		for _, digest := range last.Files {
			written[digest] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		digest := textDigest(texts[path])
		r.Files[path] = digest
		if !written[digest] {
			written[digest] = true
			rows.row(r.FactoryUID, digest, texts[path])
		}
	}
	if err := tx.insert(ctx, &rows); err != nil {
		return r, err
	}
	files, err := encode(r.Files)
	if err != nil {
		return r, err
	}
	_, err = tx.exec(ctx, "INSERT INTO definition_revisions ("+revisionColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		r.FactoryUID, r.Number, r.Source, r.Actor.UID, r.Actor.Type, r.Actor.DisplayName, r.Comment, r.Commit, files, micros(r.CreatedAt))
	if err != nil {
		return r, fmt.Errorf("insert revision: %w", err)
	}
	return r, nil
}

// textDigest names a text of a definition.
func textDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// GetRevision reads one state of a factory's definition.
func (r reader) GetRevision(ctx context.Context, factoryUID string, number int64) (*lineshaft.Revision, error) {
	return only(r.revisionRows(ctx, "WHERE factory_uid = $1 AND number = $2", factoryUID, number)).orNotFound("revision", fmt.Sprint(number))
}

// LastRevision reads the newest state of a factory's definition; nil when none was
// recorded yet.
func (r reader) LastRevision(ctx context.Context, factoryUID string) (*lineshaft.Revision, error) {
	found, err := r.ListRevisions(ctx, factoryUID, 0, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// ListRevisions reads the states of a factory's definition, newest first, from
// before a number on (0 for the newest).
func (r reader) ListRevisions(ctx context.Context, factoryUID string, before int64, limit int) ([]lineshaft.Revision, error) {
	before = cmp.Or(before, math.MaxInt64)
	return r.revisionRows(ctx, "WHERE factory_uid = $1 AND number < $2 ORDER BY number DESC LIMIT $3", factoryUID, before, limit)
}

func (r reader) revisionRows(ctx context.Context, where string, args ...any) ([]lineshaft.Revision, error) {
	return collect(ctx, r, "read revisions",
		"SELECT "+revisionColumns+" FROM definition_revisions "+where, args, func(scan rowScan) (*lineshaft.Revision, error) {
			v := &lineshaft.Revision{}
			return v, scan(&v.FactoryUID, &v.Number, &v.Source, &v.Actor.UID, &v.Actor.Type, &v.Actor.DisplayName, &v.Comment, &v.Commit,
				toJSON(&v.Files), toTime(&v.CreatedAt))
		})
}

// textBatch is how many texts of a definition are read at once.
const textBatch = 200

// RevisionTexts reads the texts of a revision by path.
func (r reader) RevisionTexts(ctx context.Context, v *lineshaft.Revision) (map[string]string, error) {
	bodies := make(map[string]string, len(v.Files))
	digests := slices.Compact(slices.Sorted(maps.Values(v.Files)))
	for batch := range slices.Chunk(digests, textBatch) {
		args := []any{v.FactoryUID}
		query := "SELECT digest, body FROM definition_files WHERE factory_uid = $1 AND digest IN " + list(&args, batch)
		err := r.each(ctx, query, args, func(scan rowScan) error {
			var digest, body string
			err := scan(&digest, &body)
			bodies[digest] = body
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read texts of revision: %w", err)
		}
	}
	texts := make(map[string]string, len(v.Files))
	for path, digest := range v.Files {
		body, ok := bodies[digest]
		if !ok { // the factory was deleted between the two reads
			return nil, lineshaft.NotFound("revision", fmt.Sprint(v.Number))
		}
		texts[path] = body
	}
	return texts, nil
}
