package app

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/blob"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/store"
)

// openBlobs makes what keeps files outside of the database; nil when nothing does.
func (a *App) openBlobs() (store.Blobs, error) {
	switch cfg := a.cfg; {
	case cfg.BlobDir != "":
		dir, err := blob.NewDir(cfg.BlobDir)
		if err != nil {
			return nil, fmt.Errorf("%w; check --blob-dir", err)
		}
		a.onStop(func(context.Context) error { return dir.Close() })
		return dir, nil
	case cfg.BlobURL != "":
		return openBucket(cfg)
	}
	return nil, nil
}

func openBucket(cfg config.Config) (store.Blobs, error) {
	bucket, err := blob.NewBucket(blob.BucketConfig{
		URL: cfg.BlobURL, Region: cfg.BlobRegion, KeyID: cfg.BlobKeyID, Secret: lineshaft.SecretText(cfg.BlobSecret.Reveal()),
	})
	if err != nil {
		return nil, fmt.Errorf("%w; check --blob-url, --blob-key-id and LINESHAFT_BLOB_SECRET", err)
	}
	return bucket, nil
}
