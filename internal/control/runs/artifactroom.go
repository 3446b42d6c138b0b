package runs

import (
	"context"
	"errors"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

func (s *Runs) ownArtifactRoom(ctx context.Context, tx *store.Tx, runID string) (int64, error) {
	artifacts, bytes, err := tx.CountArtifacts(ctx, runID)
	if err != nil {
		return 0, err
	}
	if artifacts >= lineshaft.MaxRunArtifacts {
		return 0, lineshaft.Conflict("run %s has %d artifacts already; pack several files into one", runID, artifacts)
	}
	return max(s.Cfg.ArtifactBytes-bytes, 0), nil
}

// artifactRoom is how many bytes of artifacts a run may add: as many as its own
// bound leaves, and that of the whole tree, for a run can start any number of others.
func (s *Runs) artifactRoom(ctx context.Context, tx *store.Tx, runID string) (int64, error) {
	own, err := s.ownArtifactRoom(ctx, tx, runID)
	if err != nil {
		return 0, err
	}
	all, bytes, err := tx.CountTreeArtifacts(ctx, runID)
	if err != nil {
		return 0, err
	}
	if all >= lineshaft.MaxTreeArtifacts {
		return 0, lineshaft.Conflict("run %s and those it belongs to have %d artifacts already; pack several files into one", runID, all)
	}
	return max(min(own, s.Cfg.ArtifactTreeBytes-bytes), 0), nil
}

func (s *Runs) errArtifactsFull(runID string) error {
	return lineshaft.Conflict("the artifacts of run %s may have %d bytes in total, or %d with those of the runs that it belongs to; leave out what you do not need",
		runID, s.Cfg.ArtifactBytes, s.Cfg.ArtifactTreeBytes)
}

// uploadRoom is artifactRoom for a worker. To it a conflict means that the run is
// not its own any more; a file that is one too many has another code.
func (s *Runs) uploadRoom(ctx context.Context, tx *store.Tx, runID string) (int64, error) {
	left, err := s.artifactRoom(ctx, tx, runID)
	if err == nil && left == 0 {
		return 0, s.errTooLarge(runID)
	}
	return left, asTooLarge(err)
}

func (s *Runs) errTooLarge(runID string) error { return asTooLarge(s.errArtifactsFull(runID)) }

func asTooLarge(err error) error {
	if full, ok := errors.AsType[*lineshaft.Error](err); ok && full.Code == lineshaft.CodeConflict {
		return &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: full.Message}
	}
	return err
}
