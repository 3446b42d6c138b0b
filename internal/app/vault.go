package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/blob"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/vault"
)

func keySource(cfg config.Config) vault.Source {
	source := vault.Source{File: cfg.MasterKeyFileOrDefault(), Text: cfg.MasterKey.Reveal(), Command: cfg.MasterKeyCommand}
	if old := cfg.MasterKeyOld.Reveal(); old != "" {
		source.Old = strings.Split(old, ",")
	}
	return source
}

// loadVault reads the master key. A missing file is made only while the database
// has nothing that another key has sealed: a new key could not open that.
func loadVault(ctx context.Context, cfg config.Config, s *store.Store) (*vault.Vault, error) {
	probe, err := s.GetSetting(ctx, secrets.ProbeSetting)
	if err != nil {
		return nil, fmt.Errorf("look for secrets: %w", err)
	}
	source := keySource(cfg)
	source.Create = probe == ""
	v, err := vault.Load(ctx, source)
	if errors.Is(err, os.ErrNotExist) && source.File != "" && probe != "" {
		return nil, fmt.Errorf("%w. The secrets in this database are encrypted with an older key: copy that one here, from a backup or from another server of this database", err)
	}
	return v, err
}

const mendMasterKey = "bring the key here, or name where it is: --master-key-file, --master-key-command or LINESHAFT_MASTER_KEY"

// loadKeys reads the master key without making one.
func loadKeys(ctx context.Context, cfg config.Config) (*vault.Vault, error) {
	return vault.Load(ctx, keySource(cfg))
}

// checkMasterKey checks that the master key exists and opens everything.
func checkMasterKey(ctx context.Context, cfg config.Config) config.Check {
	const name = "master key"
	source := keySource(cfg)
	v, err := vault.Load(ctx, source)
	if errors.Is(err, os.ErrNotExist) && source.File != "" {
		if database := cfg.DatabaseOrDefault(); !store.IsPostgres(database) {
			if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
				return good(name, "%s, made at the first start", source.File)
			}
		}
	}
	if err != nil {
		return bad(name, config.CheckProblem, err.Error(), mendMasterKey)
	}
	s, err := store.Open(ctx, store.Options{Database: cfg.DatabaseOrDefault()})
	switch {
	case lineshaft.CodeOf(err) == lineshaft.CodeConflict:
		return good(name, "%s; a running server uses the database, so what is under it was not counted", v.CurrentID())
	case err != nil:
		return bad(name, config.CheckWarning, "the database could not be asked what is under it", "see database")
	}
	defer func() { _ = s.Close() }() // it was only read
	count, err := secrets.CountSealed(ctx, s, v)
	return sealedCheck(v.CurrentID(), count, err)
}

// sealedCheck says what is under a master key.
func sealedCheck(keyID string, count secrets.SealedCount, err error) config.Check {
	const name = "master key"
	switch {
	case err != nil:
		return bad(name, config.CheckWarning, "the database could not be asked what is under it", "see database")
	case count.Stuck > 0:
		return bad(name, config.CheckProblem, fmt.Sprintf("%s does not open %d secrets", keyID, count.Stuck),
			"add the key that they are under to LINESHAFT_MASTER_KEY_OLD, or update them")
	case count.Old > 0:
		return bad(name, config.CheckWarning, fmt.Sprintf("%s; %d secrets are still under an older one", keyID, count.Old),
			"start a server with both keys; it brings them under the new one")
	}
	return good(name, "%s, with %d secrets under it", keyID, count.Current)
}

// openBlobs opens the storage for files outside of the database; nil when there is none.
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
