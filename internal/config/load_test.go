package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPrecedence: defaults < file < environment < flags.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := Sources{FileName: "f", File: []byte("listen: file:1\nlease: 11s\nlog_level: warn\n")}
	both := file
	both.Environ = []string{"LINESHAFT_LISTEN=env:2", "LINESHAFT_LEASE=12s", "OTHER=x", "LINESHAFT_LOG_LEVEL="}
	all := both
	all.Flags = map[string][]string{"listen": {"flag:3"}}
	for _, tc := range []struct {
		name   string
		src    Sources
		listen string
		lease  time.Duration
		level  string
	}{
		{"defaults", Sources{}, "127.0.0.1:8484", 30 * time.Second, "info"},
		{"file", file, "file:1", 11 * time.Second, "warn"},
		{"environment", both, "env:2", 12 * time.Second, "warn"},
		{"flags", all, "flag:3", 12 * time.Second, "warn"},
	} {
		c, err := Load(tc.src)
		if err != nil || c.Listen != tc.listen || c.Lease != tc.lease || c.LogLevel != tc.level {
			t.Errorf("%s: %s %s %s, %v", tc.name, c.Listen, c.Lease, c.LogLevel, err)
		}
	}
}

func TestDefaultIsValid(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{})
	if err != nil || !reflect.DeepEqual(c, Default()) || len(c.Warnings()) != 0 {
		t.Errorf("Load = %v, %v, warnings %q", c, err, c.Warnings())
	}
}

func TestFileForms(t *testing.T) {
	t.Parallel()
	text := `# a comment
listen: "0.0.0.0:1"
data-dir: /srv/x   # hyphens are fine, too
no_worker: true
max_concurrent_runs: 1_0
cpu_limit: 1.5
trusted_proxy:
  - 10.0.0.0/8
  - 192.0.2.1
agent_command: [my agent, --flag, "x y"]
base_url: |
  https://a.example
run_retention: 30d
`
	c, err := Load(Sources{FileName: "f.yaml", File: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	for name, value := range map[string]string{
		"listen": "0.0.0.0:1", "data-dir": "/srv/x", "no-worker": "true", "max-concurrent-runs": "10", "cpu-limit": "1.5",
		"trusted-proxy": "10.0.0.0/8,192.0.2.1/32", "base-url": "https://a.example", "run-retention": "720h", "agent-command": "'my agent' --flag 'x y'",
	} {
		if err := field(t, name).Set(&want, value); err != nil {
			t.Fatal(err)
		}
	}
	if c.origins, c.file = nil, ""; !reflect.DeepEqual(c, want) {
		t.Errorf("got  %v\nwant %v", c, want)
	}
	for _, empty := range []string{"", "# only a comment\n", "trusted_proxy: []\nagent_command: []\n"} {
		c, err := Load(Sources{FileName: "f.yaml", File: []byte(empty)})
		if err != nil || len(c.TrustedProxies)+len(c.AgentCommand) != 0 {
			t.Errorf("%q: %v, %v", empty, c, err)
		}
	}
}

func TestFileProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "lease: 1m\nlistn: x:1\n", `f.yaml:2: unknown key "listn"; did you mean listen?`},
		{"far away", "frobnicate: 1\n", "`lineshaft serve --help` lists the settings"},
		{"secret key", "admin_key: ls_secretsecretsecretsecret\n", "f.yaml:1: admin_key cannot be set in a file: set LINESHAFT_ADMIN_KEY instead"},
		{"null", "listen: ~\n", "f.yaml:1: listen: the value is missing"},
		{"nested", "listen: {a: 1}\n", "f.yaml:1: listen: write a plain value"},
		{"list of maps", "trusted_proxy: [{a: 1}]\n", "write a plain value"},
		{"list for one", "listen: [a, b]\n", "give one value, not a list"},
		{"alias", "listen: *x\n", "write a plain value"},
		{"not a map", "- listen\n", "f.yaml: write one `key: value` per line"},
		{"twice", "listen: a:1\nlisten: b:1\n", `f.yaml: [2:1] mapping key "listen" already defined`},
		{"syntax", "listen: a: b\n", "f.yaml: [1:9] mapping value is not allowed"},
		{"bad value", "lease: soon\n", `f.yaml:1: lease: "soon" is not a time such as`},
		{"secret in bad syntax", "metrics_key: secretsecret: x\nlisten: a:1\n", "f.yaml: [1:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(Sources{FileName: "f.yaml", File: []byte(tc.text)})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "secretsecret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// TestAllProblemsAtOnce: every source and every check says what it found.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{
		FileName: "f.yaml", File: []byte("lisen: x\nlease: soon\negress: none\nisolation: none\n"),
		Environ: []string{"LINESHAFT_RATE_LIMIT=fast", "LINESHAFT_ADMIN_KEY=short", "LINESHAFT_TLS_CERT=c.pem"},
		Flags:   map[string][]string{"max-concurrent-runs": {"-1"}, "log-level": {"loud"}, "database": {"mysql://u:pw123@h/x"}},
	})
	for _, want := range []string{
		"f.yaml:1:", "f.yaml:2: lease", "LINESHAFT_RATE_LIMIT:", "LINESHAFT_ADMIN_KEY: must begin with ls_", "tls-key:",
		"max-concurrent-runs: -1", "--log-level:", "database: mysql:// is not known", "egress: without isolation",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
	for _, secret := range []string{"short", "pw123"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows %q", secret)
		}
	}
}

func TestFlagsLastWinsAndListsAdd(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Flags: map[string][]string{
		"listen": {"a:1", "b:2"}, "trusted-proxy": {"10.0.0.0/8", "192.0.2.0/24"}, "agent-command": {"a b", "c 'd e'"}, "admin-key": {"ls_x"},
	}})
	if err != nil || c.Listen != "b:2" || len(c.TrustedProxies) != 2 || !slices.Equal(c.AgentCommand, []string{"c", "d e"}) || c.AdminKey != "" {
		t.Errorf("Load = %v, %v", c, err)
	}
}

func TestMisspeltEnv(t *testing.T) {
	t.Parallel()
	got := MisspeltEnv([]string{
		"LINESHAFT_LISTN=x", "LINESHAFT_URL=x", "LINESHAFT_API_KEY=x", "LINESHAFT_LISTEN=x", "LINESHAFT_CONFIG=x",
		"LINESHAFT_SOMETHING_ELSE=x", "LISTEN=x", "LINESHAFT_DATADIR=secret",
	})
	want := []string{
		"LINESHAFT_LISTN is set but is not a setting; did you mean LINESHAFT_LISTEN?",
		"LINESHAFT_DATADIR is set but is not a setting; did you mean LINESHAFT_DATA_DIR?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
