//go:build linux

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// What an operator has installed elsewhere is found by its name, cannot be changed.
func TestX5AgentPathIsSeenAndReadOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for file, text := range map[string]string{"lib/tool": "#!/bin/sh\necho the tool answers", "node_modules/.bin/other": "#!/bin/sh\necho the other answers"} {
		path := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/tool", filepath.Join(folder, "bin", "tool")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	f := besiege(t, func(cfg *config.Config, _ *app.Options) {
		cfg.AgentPath = []string{link}
	})
	run, out := f.attack("exec 2>/dev/null; tool; other; echo x >" + folder + "/bin/tool && echo LEAK; touch " + folder + "/new && echo LEAK; echo done")
	if run.State != lineshaft.Succeeded || !strings.HasPrefix(out, "the tool answers\nthe other answers\n") || !strings.HasSuffix(out, "done\n") || strings.Contains(out, "LEAK") {
		t.Errorf("%s: %s", run.State, out)
	}
}

func TestX5AgentPathThatIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "is not a folder", file + "-absent": "install the agents there", filepath.Dir(file): "keep them apart"} {
		cfg := settings(t)
		cfg.AgentPath, cfg.DataDir = []string{path}, filepath.Join(filepath.Dir(file), "data")
		if _, err := app.Start(t.Context(), cfg, options(t, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
