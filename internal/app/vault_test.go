package app_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const adminKey = "ls_the-key-of-the-administrator"

func keyText(seed string) config.Secret {
	return config.Secret(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(seed, 32)[:32])))
}

func (s served) secret(t *testing.T, name string) {
	t.Helper()
	if _, err := s.a.Control().CreateSecret(t.Context(), s.admin, lineshaft.Secret{Name: name}, "a-value-of-this-test"); err != nil {
		t.Fatal(err)
	}
}

type served struct {
	a     *app.App
	admin lineshaft.Caller
}

// serve starts a server without a worker, as the administrator sees it.
func serve(t *testing.T, cfg config.Config) served {
	t.Helper()
	cfg.NoWorker, cfg.AdminKey = true, adminKey
	a := start(t, cfg, options(t, nil))
	admin, err := a.Control().Authenticate(t.Context(), adminKey)
	if err != nil {
		t.Fatal(err)
	}
	return served{a, admin}
}

func (s served) stop(t *testing.T) {
	t.Helper()
	if err := s.a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, cfg config.Config, words ...string) {
	t.Helper()
	cfg.NoWorker = true
	a, err := app.Start(t.Context(), cfg, options(t, nil))
	if err == nil {
		_ = a.Stop(context.WithoutCancel(t.Context()))
		t.Fatal("the server starts")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func TestS1FirstStartMakesTheMasterKey(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	first := serve(t, cfg)
	first.secret(t, "KEPT")
	first.stop(t)
	file := filepath.Join(cfg.DataDir, "master.key")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key file: %v, %v", info, err)
	}
	serve(t, cfg).stop(t) // the same key again

	// A key file that is lost is not made again: that key would open nothing.
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "master.key", "older key")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a new key was made: %v", err)
	}
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "master key"); c.State != config.CheckProblem || c.Fix == "" {
		t.Errorf("doctor without the key: %+v", c)
	}
	cfg.MasterKeyFile = away // it may be anywhere
	serve(t, cfg).stop(t)
	if err := os.Chmod(away, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, cfg, "open to others", "chmod 600")
}

func TestS1NodesNeedTheSameKey(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.Database, cfg.MasterKey = storetest.Postgres(t), keyText("same")
	first := serve(t, cfg)
	first.secret(t, "SHARED")
	other := settings(t)
	other.Database = cfg.Database
	refused(t, other, "from another server of this database") // it has no key and makes none
	other.MasterKey = keyText("another")
	refused(t, other, "LINESHAFT_MASTER_KEY_OLD", "same key")
	other.MasterKey = cfg.MasterKey
	serve(t, other)
}

func TestS1RotationAtStart(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.MasterKeyCommand = []string{"echo", keyText("old").Reveal()}
	first := serve(t, cfg)
	first.secret(t, "A")
	first.secret(t, "B")
	first.stop(t)
	cfg.MasterKeyCommand, cfg.MasterKey, cfg.MasterKeyOld = nil, keyText("new"), keyText("older")+","+keyText("old")
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "master key"); c.State != config.CheckWarning || !strings.Contains(c.Detail, "2 secrets are still under an older one") {
		t.Errorf("before: %+v", c)
	}
	second := serve(t, cfg)
	if _, err := second.a.Control().RewrapSecrets(t.Context()); err != nil { // the job may be faster
		t.Fatal(err)
	}
	second.stop(t)
	cfg.MasterKeyOld = ""
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "master key"); c.State != config.CheckOK || !strings.Contains(c.Detail, "2 secrets under it") {
		t.Errorf("after: %+v", c)
	}
	serve(t, cfg).stop(t)
	cfg.MasterKey = keyText("old")
	refused(t, cfg, "LINESHAFT_MASTER_KEY_OLD")
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "master key"); c.State != config.CheckProblem {
		t.Errorf("with the old key: %+v", c)
	}
}

func TestS1BadKeysAreToldApart(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.MasterKey = "not-a-key-at-all"
	refused(t, cfg, "LINESHAFT_MASTER_KEY", "openssl rand -base64 32")
	cfg.MasterKey, cfg.MasterKeyCommand = "", []string{"lineshaft-no-such-program"}
	refused(t, cfg, "lineshaft-no-such-program")
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "master key"); c.State != config.CheckProblem {
		t.Errorf("doctor: %+v", c)
	}
}
