package store

import (
	"context"
)

// Tags are filters of which one run may have several values.
func metadataTag(key, value string) string { return "m:" + key + "=" + value }
func ancestorTag(runID string) string      { return "a:" + runID }
func artifactTag(kind string) string       { return "t:" + kind }

func runTags(n *NewRun) []string {
	var tags []string
	for key, value := range n.Body.Metadata {
		tags = append(tags, metadataTag(key, value))
	}
	for _, ancestor := range n.Ancestors {
		tags = append(tags, ancestorTag(ancestor))
	}
	return tags
}

func (tx *Tx) insertTags(ctx context.Context, runID string, updatedAt int64, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	var v values
	for _, tag := range tags {
		v.row(tag, runID, updatedAt)
	}
	return tx.do(ctx, "insert tags",
		"INSERT INTO run_tags (tag, run_id, updated_at) VALUES "+v.text.String()+" ON CONFLICT (tag, run_id) DO NOTHING", v.args...)
}

// IsAncestor says whether one run is above another.
func (r reader) IsAncestor(ctx context.Context, ancestor, runID string) (bool, error) {
	var one int
	err := r.one(ctx, "SELECT 1 FROM run_tags WHERE tag = $1 AND run_id = $2", []any{ancestorTag(ancestor), runID}, &one)
	if IsNoRows(err) {
		return false, nil
	}
	return err == nil, err
}
