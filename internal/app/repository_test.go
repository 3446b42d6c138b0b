package app_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

func TestF5ForgeThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ forge, credentials string }{
		"scheme":      {"ftp://example.com/{owner}/{repo}", ""},
		"password":    {"https://me:hidden-word@example.com/{owner}/{repo}", ""},
		"credentials": {"https://example.com", "hidden-word\nin two lines"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := settings(t)
			cfg.ForgeURL, cfg.ForgeCredentials = tc.forge, config.Secret(tc.credentials)
			a, err := app.Start(t.Context(), cfg, options(t, io.Discard))
			if err == nil {
				_ = a.Stop(t.Context())
				t.Fatal("the server started")
			}
			if !strings.Contains(err.Error(), "--forge-url") || strings.Contains(err.Error(), "hidden-word") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The server follows repositories as soon as it runs, with its cache in the data
// directory.
func TestF5ServerReadsALocalForge(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	for name, text := range map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: From the folder\n", "agents/boss/agent.md": "---\nagentType: FOREMAN\n---\nSee to it.\n",
	} {
		path := filepath.Join(forge, "acme", "shop", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := settings(t)
	const key = "ls_the-key-of-this-test-0123456789"
	cfg.ForgeURL, cfg.AdminKey = forge, key
	a := start(t, cfg, options(t, io.Discard))
	status, body := call(t, http.MethodPost, a.URL()+"/api/v1/factory", key, `{"name":"x","repository":{"url":"file://`+forge+`/acme/shop"}}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	_, uid, _ := strings.Cut(string(body), `"uid":"`)
	uid, _, _ = strings.Cut(uid, `"`)
	status, body = call(t, http.MethodPost, a.URL()+"/api/v1/factory/"+uid+"/repository/sync", key, "")
	if status != http.StatusOK || !strings.Contains(string(body), `"name":"From the folder"`) || !strings.Contains(string(body), `"applied_commit":"dir-`) {
		t.Errorf("%d %s", status, body)
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "git", "repositories")); err != nil {
		t.Error(err)
	}
	status, body = call(t, http.MethodPost, a.URL()+"/api/v1/factory", key, `{"name":"x","repository":{"url":"file:///etc"}}`)
	if status != http.StatusBadRequest || !strings.Contains(string(body), "--allow-local-git") {
		t.Errorf("%d %s", status, body)
	}
}
