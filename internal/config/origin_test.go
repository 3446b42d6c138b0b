package config

import (
	"strings"
	"testing"
)

func TestSettingsTellWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{
		FileName: "f.yaml", File: []byte("listen: 127.0.0.1:1\nlease: 40s\nlog_level: debug\n"),
		Environ: []string{"LINESHAFT_LEASE=50s", "LINESHAFT_LOG_LEVEL=warn", "LINESHAFT_ADMIN_KEY=ls_0123456789abcdefghijklm", "LINESHAFT_RATE_LIMIT="},
		Flags:   map[string][]string{"log-level": {"error"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"listen": {"127.0.0.1:1", OriginFile}, "lease": {"50s", OriginEnvironment}, "log-level": {"error", OriginFlag},
		"rate-limit": {"0", OriginDefault}, "admin-key": {"[set]", OriginEnvironment}, "metrics-key": {"", OriginDefault},
	}
	seen := 0
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "0123456789abc") {
			t.Errorf("%s shows a secret", s.Name)
		}
		if w, ok := want[s.Name]; ok {
			seen++
			if s.Value != w[0] || s.Origin != w[1] {
				t.Errorf("%s is %q from %s, want %v", s.Name, s.Value, s.Origin, w)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d settings", seen, len(want))
	}
}

func TestSettingsHideThePasswordOfTheDatabase(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Database = "postgres://u:hidden@db/x?password=hidden2"
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "hidden") {
			t.Errorf("%s shows %s", s.Name, s.Value)
		}
	}
}

func TestNotedOriginsAreNotShared(t *testing.T) {
	t.Parallel()
	first := Default()
	note(&first, "listen", OriginFile)
	second := first
	note(&second, "listen", OriginFlag)
	if first.origins["listen"] != OriginFile {
		t.Error("a copy changed the original")
	}
}
