package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// ensureAdmin makes the first admin key and stores it for the local CLI, before
// anyone can connect.
func (a *App) ensureAdmin(ctx context.Context) error {
	chosen := a.cfg.AdminKey.Reveal()
	made, err := a.control.EnsureAdmin(ctx, chosen)
	if err != nil {
		return fmt.Errorf("make admin key: %w", err)
	}
	file := a.cfg.AdminKeyFile()
	key := chosen
	if made != "" {
		key = made
	}
	a.madeKey = made
	if key == "" {
		return nil
	}
	return writeKey(file, key)
}

func (a *App) announce(ctx context.Context) error {
	a.banner(ctx, a.madeKey, a.cfg.AdminKeyFile())
	a.log.InfoContext(ctx, "ready", "url", a.URL(), "database", a.store.Engine(), "settings", a.cfg.Summary())
	return nil
}

// writeKey stores a key so that only this user can read it, whole or not at all.
func writeKey(file, key string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("store admin key: %w", err)
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, []byte(key+"\n"), 0o600); err != nil {
		return fmt.Errorf("store admin key: %w", err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("store admin key: %w", err)
	}
	return nil
}

// banner shows a person what to do first. The key itself is printed only once, and
// only on a terminal.
func (a *App) banner(ctx context.Context, made, file string) {
	if a.opts.Out == nil {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\nLineshaft %s is ready at %s\n\n", a.opts.Version, a.URL())
	key := "$(cat " + shellQuote(file) + ")"
	switch {
	case made != "" && a.opts.Terminal:
		fmt.Fprintf(&text, "  Admin key   %s\n              (shown once; kept in %s)\n", made, file)
	case !there(file): // a database that was restored, or that another node has begun
		key = "$LINESHAFT_API_KEY"
		fmt.Fprintf(&text, "  Admin key   the one that this database already had; it is not in %s.\n"+
			"              Put it into LINESHAFT_API_KEY, or start with another in LINESHAFT_ADMIN_KEY.\n", file)
	case a.revoked(ctx, file):
		key = "$LINESHAFT_API_KEY"
		fmt.Fprintf(&text, "  Admin key   the one in %s is no longer valid.\n"+
			"              Put another into LINESHAFT_API_KEY, or start with a new one in LINESHAFT_ADMIN_KEY.\n", file)
	default:
		fmt.Fprintf(&text, "  Admin key   in %s\n", file)
	}
	if !a.cfg.NoWorker {
		fmt.Fprintf(&text, "  Isolation   %s\n", a.isolated.name())
	}
	if a.isolated.warning != "" {
		fmt.Fprintf(&text, "\n  WARNING     %s\n", a.isolated.warning)
	}
	if unnamed := a.unnamedModel(); unnamed != "" {
		fmt.Fprintf(&text, "\n  WARNING     %s; %s\n", unnamed, fixUnnamed)
	}
	if idle := a.idleModel(); idle != "" {
		fmt.Fprintf(&text, "\n  WARNING     %s; %s\n", idle, fixIdleModel)
	}
	fmt.Fprintf(&text, `
Start a first run:

  curl -s %s/api/v1/agent/runs \
    -H "Authorization: Bearer %s" \
    -d '{"prompt": "Say hello\n`+"```sh\\necho hello from $LINESHAFT_RUN_ID\\n```"+`"}'

and open %s in a browser to watch it.

`, a.URL(), key, a.URL())
	_, _ = fmt.Fprint(a.opts.Out, text.String()) // a closed terminal does not stop the server
}

// revoked says whether the key in a file opens nothing.
func (a *App) revoked(ctx context.Context, file string) bool {
	key, err := os.ReadFile(file)
	if err != nil {
		return false // it may be another user's
	}
	_, err = a.control.Authenticate(ctx, strings.TrimSpace(string(key)))
	return lineshaft.CodeOf(err) == lineshaft.CodeAuthenticationRequired
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// unnamedModel is what people should know of the models of the worker in this process.
func (a *App) unnamedModel() string {
	if a.cfg.NoWorker {
		return ""
	}
	models, _ := loadModels(a.cfg) // they were right when the worker started
	return unnamedModel(models)
}

// idleModel warns of a named model that nothing uses.
func (a *App) idleModel() string {
	models, err := loadModels(a.cfg)
	if err != nil || len(models.Endpoints) > 0 || a.cfg.Model == "" || a.cfg.NoWorker {
		return ""
	}
	return idleModel(a.cfg.Model)
}

func shellQuote(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
