package app

import (
	"fmt"
	"path/filepath"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/git"
)

// openGit makes the client that fetches repositories, for the control plane and for the worker.
func openGit(cfg config.Config) (*git.Client, error) {
	client, err := git.New(git.Config{
		Cache: filepath.Join(cfg.DataDir, "git"), Forge: cfg.ForgeURL, Credentials: cfg.ForgeCredentials.Reveal(), AllowFile: cfg.AllowLocalGit,
		MaxMirrors: cfg.EnvironmentCache / 2, // the other half is for prepared environments
	})
	if err != nil {
		return nil, fmt.Errorf("prepare for repositories: %w; check --forge-url and LINESHAFT_FORGE_CREDENTIALS", err)
	}
	return client, nil
}
