package app

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/prepared"
)

// checkPrepared says how runs get the files of prepared environments.
func checkPrepared(ctx context.Context, cfg config.Config, chosen isolation) config.Check {
	const name = "prepared environments"
	switch {
	case cfg.EnvironmentCache == 0:
		return good(name, "none are kept: --environment-cache is 0")
	case chosen.sandbox == nil || chosen.sandbox.Name() == "none":
		return good(name, "none are kept without isolation, nor in pods: --isolation bubblewrap or container keeps them")
	}
	dir := cfg.DataDir
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	how, why := prepared.Best(ctx, dir)
	if chosen.sandbox.Name() == "container" && how == prepared.Overlay {
		how, why = prepared.Copy, "no overlay: containers may not see what the worker mounts"
	}
	if why != "" {
		why = " (" + why + ")"
	}
	return good(name, "each run gets its files by %s%s", how, why)
}
