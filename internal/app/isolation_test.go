package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
)

// withoutBubblewrap makes a PATH in which bubblewrap is not found.
func withoutBubblewrap(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
}

//nolint:paralleltest // changes PATH, which belongs to the whole process
func TestX5MissingBubblewrapIsLoudOrRefused(t *testing.T) {
	withoutBubblewrap(t)
	var out bytes.Buffer
	cfg := settings(t)
	a := start(t, cfg, options(t, &out))
	if !strings.Contains(out.String(), "NOT ISOLATED") || !strings.Contains(out.String(), "Isolation   none") {
		t.Errorf("banner without bubblewrap:\n%s", out.String())
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What was asked for is never weakened.
	cfg.Isolation = "bubblewrap"
	if _, err := app.Start(t.Context(), cfg, options(t, nil)); err == nil || !strings.Contains(err.Error(), "bubblewrap") {
		t.Errorf("bubblewrap asked for and missing: %v", err)
	}
	cfg.Isolation = "container"
	if _, err := app.Start(t.Context(), cfg, options(t, nil)); err == nil || !strings.Contains(err.Error(), "isolation container was asked for") || !strings.Contains(err.Error(), "--container-program") {
		t.Errorf("containers asked for and missing: %v", err)
	}
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "isolation"); c.State != config.CheckProblem || c.Fix == "" {
		t.Errorf("doctor without containers: %+v", c)
	}
	// And who asked for none is not shouted at.
	out.Reset()
	cfg.Isolation = "none"
	start(t, cfg, options(t, &out))
	if strings.Contains(out.String(), "NOT ISOLATED") {
		t.Errorf("banner with isolation none:\n%s", out.String())
	}
}

func check(t *testing.T, checks []config.Check, name string) config.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("doctor did not look at %q", name)
	return config.Check{}
}

func TestDoctorFindsAHealthyMachine(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	checks := app.Doctor(t.Context(), cfg, options(t, nil))
	for _, c := range checks {
		if c.State == config.CheckProblem {
			t.Errorf("%+v", c)
		}
		if c.State != config.CheckOK && c.Fix == "" {
			t.Errorf("%s says nothing about what to do: %+v", c.Name, c)
		}
	}
	if c := check(t, checks, "database"); !strings.Contains(c.Detail, "first start") {
		t.Errorf("database before the first start: %+v", c)
	}
	if c := check(t, checks, "limits"); !strings.Contains(c.Detail, "memory:") || !strings.Contains(c.Detail, "disk: polled") {
		t.Errorf("limits: %+v", c)
	}
	start(t, cfg, options(t, nil))
	if c := check(t, app.Doctor(t.Context(), cfg, options(t, nil)), "database"); c.State != config.CheckOK || !strings.Contains(c.Detail, "running server") {
		t.Errorf("database of a running server: %+v", c)
	}
}

func TestDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	cfg.DataDir = "/proc/nothing/here"
	cfg.Database = "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"
	cfg.Listen = "0.0.0.0:0"
	checks := app.Doctor(t.Context(), cfg, options(t, nil))
	for _, name := range []string{"data directory", "database"} {
		if c := check(t, checks, name); c.State != config.CheckProblem || c.Fix == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := check(t, checks, "address"); c.State != config.CheckWarning || !strings.Contains(c.Fix, "--tls-cert") {
		t.Errorf("address: %+v", c)
	}
}

func TestD3MigrateMakesAndKeepsTheSchema(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	for range 2 {
		version, err := app.Migrate(t.Context(), cfg)
		if err != nil || version < 1 {
			t.Fatalf("version %d, %v", version, err)
		}
	}
	start(t, cfg, options(t, nil))
}
