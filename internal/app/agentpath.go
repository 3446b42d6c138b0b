package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// programFolders are where the usual installers put programs, below a folder that
// the operator names; the folder itself comes last.
var programFolders = []string{"bin", ".bin", "node_modules/.bin", "."}

// agentPath finds the folders of --agent-path: what agents see of them, links
// resolved, and the PATH in which they look for programs there first.
func agentPath(cfg config.Config) (seen []string, path string, err error) {
	var search []string
	for _, folder := range cfg.AgentPath {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, "", fmt.Errorf("look at agent-path: %w; install the agents there, or name another folder", err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, "", fmt.Errorf("agent-path: %s is not a folder; name the folder that the agents are installed in", folder)
		}
		if overlap(real, cfg.DataDir) {
			return nil, "", fmt.Errorf("agent-path: %s and the data directory %s hold one another; agents see the first and must not see the second, so keep them apart", folder, cfg.DataDir)
		}
		seen = append(seen, real)
		for _, sub := range programFolders {
			if info, err := os.Stat(filepath.Join(real, sub)); err == nil && info.IsDir() {
				search = append(search, filepath.Join(real, sub))
			}
		}
	}
	return seen, strings.Join(append(search, worker.DefaultPath), ":"), nil
}

// overlap says that one of two folders is in the other.
func overlap(a, b string) bool {
	b, err := filepath.Abs(b)
	if err != nil {
		return false // isolate says so
	}
	if real, err := filepath.EvalSymlinks(b); err == nil {
		b = real // it may not be there yet
	}
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}
