package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

const artifactColumns = "uid, run_id, type, blob_id, file_name, file_path, mime_type, size, url, branch, title, description"

func scanArtifact(scan rowScan) (*lineshaft.Artifact, error) {
	a := &lineshaft.Artifact{}
	err := scan(&a.UID, &a.RunID, &a.Type, &a.BlobID, &a.FileName, &a.FilePath, &a.MimeType, &a.SizeBytes, &a.URL, &a.Branch, &a.Title, &a.Description)
	if err != nil {
		return a, fmt.Errorf("scan artifact: %w", err)
	}
	a.CreatedAt, _ = id.Time(a.UID)
	return a, nil
}

// InsertArtifact stores an artifact. The run's row lock is held.
func (tx *Tx) InsertArtifact(ctx context.Context, h *RunHead, a lineshaft.Artifact) error {
	return tx.do(ctx, "insert artifact", "INSERT INTO artifacts ("+artifactColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
		a.UID, h.ID, a.Type, a.BlobID, a.FileName, a.FilePath, a.MimeType, a.SizeBytes, a.URL, a.Branch, a.Title, a.Description)
}

// GetArtifact reads one artifact.
func (r reader) GetArtifact(ctx context.Context, uid string) (*lineshaft.Artifact, error) {
	return find(ctx, r, "artifact", uid, "SELECT "+artifactColumns+" FROM artifacts WHERE uid = $1", []any{uid}, scanArtifact)
}

// HasArtifactURL says whether a run already reported this address.
func (tx *Tx) HasArtifactURL(ctx context.Context, runID, url string) (bool, error) {
	return tx.exists(ctx, "look for artifact", "SELECT 1 FROM artifacts WHERE url <> '' AND url = $1 AND run_id = $2 LIMIT 1", url, runID)
}

// CountArtifacts says how many artifacts a run has, and how large they are together.
func (r reader) CountArtifacts(ctx context.Context, runID string) (n int, bytes int64, err error) {
	err = r.one(ctx, "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM artifacts WHERE run_id = $1", []any{runID}, &n, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count artifacts: %w", err)
	}
	return n, bytes, nil
}

// CountTreeArtifacts is CountArtifacts of a run's root and all runs below that. It locks the
// tree first, so a caller can count and add an artifact before anyone else counts.
func (tx *Tx) CountTreeArtifacts(ctx context.Context, runID string) (n int, bytes int64, err error) {
	// The oldest above it is the top; see control.growTree.
	above, err := tx.ancestorsOf(ctx, []string{runID})
	if err != nil {
		return 0, 0, err
	}
	root := slices.Min(append(above[runID], runID))
	// Without a row there is nobody below, and a run's artifacts are added under its own lock.
	if _, err := tx.texts(ctx, "SELECT run_id FROM run_trees WHERE run_id = $1"+tx.d.forUpdate, root); err != nil {
		return 0, 0, fmt.Errorf("lock tree: %w", err)
	}
	if n, bytes, err = tx.CountArtifacts(ctx, root); err != nil {
		return 0, 0, err
	}
	var below int
	var belowBytes int64
	err = tx.one(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(a.size), 0) AS BIGINT) FROM run_tags t
		JOIN artifacts a ON a.run_id = t.run_id WHERE t.tag = $1`, []any{ancestorTag(root)}, &below, &belowBytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count artifacts of runs below: %w", err)
	}
	return n + below, bytes + belowBytes, nil
}

// RunByURL finds the newest run that reported an artifact at this address.
func (r reader) RunByURL(ctx context.Context, url string) (string, error) {
	var runID string
	err := r.one(ctx, "SELECT run_id FROM artifacts WHERE url <> '' AND url = $1 ORDER BY run_id DESC LIMIT 1", []any{url}, &runID)
	if errors.Is(err, errNoRows) {
		return "", lineshaft.NotFound("reference", url)
	}
	return runID, err
}

// artifactsOf reads the first artifacts of each run; agents make thousands.
func (r reader) artifactsOf(ctx context.Context, runIDs []string, most int) ([]lineshaft.Artifact, error) {
	args := []any{most - 1}
	// A uid begins with a digit or a letter up to f.
	query := "SELECT a." + strings.ReplaceAll(artifactColumns, ", ", ", a.") + ` FROM runs r JOIN artifacts a ON a.run_id = r.id
		AND a.uid <= COALESCE((SELECT uid FROM artifacts WHERE run_id = r.id ORDER BY uid LIMIT 1 OFFSET $1), 'g')
		WHERE r.id IN ` + list(&args, runIDs) + " ORDER BY a.run_id, a.uid"
	return collect(ctx, r, "read artifacts", query, args, scanArtifact)
}
