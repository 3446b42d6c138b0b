package store

import (
	"context"
)

// Tags are filters of which one run may have several values.
func metadataTag(key, value string) string { return "m:" + key + "=" + value }
func ancestorTag(runID string) string      { return "a:" + runID }
func artifactTag(kind string) string       { return "t:" + kind }

// IsAncestor says whether one run is above another.
func (r reader) IsAncestor(ctx context.Context, ancestor, runID string) (bool, error) {
	var one int
	return r.look(ctx, "look for an ancestor", "SELECT 1 FROM run_tags WHERE tag = $1 AND run_id = $2", []any{ancestorTag(ancestor), runID}, &one)
}
