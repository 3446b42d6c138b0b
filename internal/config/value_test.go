package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"no-worker", "maybe", "neither true nor false"},
		{"max-concurrent-runs", "many", "not a whole number"},
		{"max-concurrent-runs", "1.5", "not a whole number"},
		{"cpu-limit", "NaN", "not a number"},
		{"cpu-limit", "half", "not a number"},
		{"lease", "30", "not a time such as"},
		{"lease", "d", "not a time such as"},
		{"lease", "-3d", "not a time such as"},
		{"lease", "3d-1h", "not a time such as"},
		{"lease", "999999999d", "not a time such as"},
		{"memory-limit", "4 elephants", "not a size such as"},
		{"memory-limit", "-1", "not a size such as"},
		{"memory-limit", "9999999999GiB", "not a size such as"},
		{"memory-limit", "GiB", "not a size such as"},
		{"isolation", "bublewrap", "did you mean bubblewrap?"},
		{"egress", "some", `"some" is not one of full, none`},
		{"log-level", "verbose", "not one of debug, info, warn, error"},
		{"agent-path", "/srv/agents:agents", `"agents" is not an absolute path`},
		{"agent-path", "/home/", `"/home" holds more than agents may see`},
		{"agent-path", "/srv/..", `"/" holds more`},
		{"agent-path", "/proc/1/root/srv", "holds more"},
		{"egress-hosts", "example.com, https://example.com", `"https://example.com" is not a host`},
		{"egress-hosts", "example.com:99999", "is not a host"},
		{"egress-hosts", "exam*ple.com", "is not a host"},
		{"egress-hosts", "127.1", "is not a host"},
		{"egress-hosts", "0x7f000001", "is not a host"},
		{"egress-hosts", "[::1", "is not a host"},
		{"trusted-proxy", "10.0.0.0/8, nonsense", `"nonsense" is neither an address nor a network`},
		{"agent-command", "my-agent 'open", "left open"},
		{"agent-command", `my-agent \`, "left open"},
	} {
		f := field(t, tc.name)
		c := Default()
		if err := f.Set(&c, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %q: %v, want %q", tc.name, tc.text, err, tc.want)
		}
		if !reflect.DeepEqual(c, Default()) {
			t.Errorf("%s %q: the refused value was taken", tc.name, tc.text)
		}
	}
	for _, f := range Fields() {
		c := Default()
		if err := f.Set(&c, "1", "2"); err == nil && f.Kind != "command" && !slices.Contains([]string{"oidc-scopes", "child-harnesses", "child-models", "acme-domain"}, f.Name) {
			t.Errorf("%s took two values", f.Name)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"memory-limit", "512", "512"},
		{"memory-limit", "1_000", "1KB"},
		{"memory-limit", "512m", "512MiB"},
		{"memory-limit", "2 GB", "2GB"},
		{"memory-limit", "1024KiB", "1MiB"},
		{"memory-limit", "7B", "7"},
		{"memory-limit", "0", "0"},
		{"lease", "90s", "1m30s"},
		{"lease", "60m", "1h"},
		{"run-retention", "90d", "90d"},
		{"run-retention", "1d12h", "36h"},
		{"run-retention", "0", "0"},
		{"egress-hosts", "Example.com, *.example.org:8443 ,10.0.0.1:80,[::1]:443,", "example.com,*.example.org:8443,10.0.0.1:80,[::1]:443"},
		{"trusted-proxy", "10.1.2.3/8, 192.0.2.1 ,::1,", "10.0.0.0/8,192.0.2.1/32,::1/128"},
		{"trusted-proxy", "::ffff:192.0.2.1", "192.0.2.1/32"},
		{"cpu-limit", "0.50", "0.5"},
		{"agent-path", ":/srv/agents/:/home/x/../y:", "/srv/agents:/home/y"},
		{"agent-command", "  a\tb  ", "a b"},
		{"agent-command", "", ""},
	} {
		c := Default()
		f := field(t, tc.name)
		if err := f.Set(&c, tc.text); err != nil || f.Get(&c) != tc.want {
			t.Errorf("%s %q = %q, %v; want %q", tc.name, tc.text, f.Get(&c), err, tc.want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:                       {},
		`a`:                      {"a"},
		`a b`:                    {"a", "b"},
		`a 'b c' "d e"`:          {"a", "b c", "d e"},
		`a''b`:                   {"ab"},
		`''`:                     {""},
		`a\ b`:                   {"a b"},
		`'it'\''s'`:              {"it's"},
		`"a\"b" "c\d" 'e\f'`:     {`a"b`, `c\d`, `e\f`},
		`$HOME *`:                {"$HOME", "*"},
		"a\nb":                   {"a", "b"},
		`--flag="x y" größe "ü"`: {"--flag=x y", "größe", "ü"},
	} {
		if got, err := SplitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("SplitWords(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\" e" \f`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := SplitWords(text)
		if err != nil {
			return
		}
		again, err := SplitWords(command{&words}.text())
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("%q became %q, %v", words, again, err)
		}
	})
}

func FuzzSize(f *testing.F) {
	f.Add("512MiB")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if err != nil {
			return
		}
		again, err := parseSize(writeSize(n))
		if err != nil || again != n || n < 0 {
			t.Fatalf("%q is %d, comes back as %d, %v", text, n, again, err)
		}
	})
}
