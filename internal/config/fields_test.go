package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// samples has, for each setting, a text other than the default.
func samples() map[string]string {
	return map[string]string{
		"listen": "0.0.0.0:9000", "data-dir": "/srv/ls", "database": "postgres://u:pw@db/x", "base-url": "https://a.example",
		"blob-dir": "/srv/blobs", "blob-url": "https://s3.example/b", "blob-region": "eu-1", "blob-key-id": "kid", "blob-secret": "hidden-blob",
		"webhook-base-url": "https://b.example", "no-worker": "true", "max-concurrent-runs": "7", "isolation": "bubblewrap",
		"egress": "none", "egress-hosts": "example.com,*.example.org:8443,[2001:db8::1]:443", "allow-local-mcp": "true",
		"models-file": "/srv/models.yaml", "model": "a-model", "anthropic-api-key": "key-a-of-this-test", "anthropic-url": "http://a.example",
		"openai-api-key": "key-o-of-this-test", "openai-url": "http://o.example/v1", "gemini-api-key": "key-g-of-this-test", "gemini-url": "http://g.example",
		"memory-limit": "4GiB", "process-limit": "512", "cpu-limit": "1.5", "otlp-endpoint": "http://127.0.0.1:4318", "trace-sample": "0.25", "disk-limit": "20GiB", "environment-cache": "50GB", "environment-cache-age": "72h", "container-program": "/usr/bin/docker", "container-image": "debian:13", "rate-limit": "600",
		"trusted-proxy": "10.0.0.0/8,192.0.2.1/32", "tls-cert": "/c.pem", "tls-key": "/k.pem", "acme-domain": "a.example,b.example", "acme-directory": "https://ca.example/dir", "acme-email": "ops@example.com", "acme-ca-root": "/root.pem", "acme-http-port": "8080", "metrics-key": "metricskey123",
		"cors-origin": "https://app.example.com,http://127.0.0.1:3000",
		"log-format":  "json", "log-level": "debug", "lease": "1m", "run-retention": "90d", "delivery-retention": "30d", "delivery-keep": "75",
		"max-run-depth": "3", "max-live-children": "4", "max-descendants": "5", "child-harnesses": "shell,builtin", "child-models": "small,tiny",
		"max-webhooks-per-factory": "50", "event-limit": "5", "forge-url": "/srv/forge", "forge-credentials": "a-token-of-this-test",
		"repository-poll": "5m", "allow-local-git": "true", "callback-allow-private": "true",
		"output-limit": "3MB", "agent-command": "my-agent --print 'two words'", "agent-path": "/home/x/.npm-global:/srv/agents", "default-harness": "shell", "permission-policy": "ask",
		"artifact-limit":      "2GiB",
		"artifact-tree-limit": "8GiB", "agent-seccomp": "off",
		"master-key-file": "/k/master.key", "master-key": "a-master-key-of-this-test", "master-key-command": "get-key --from 'the safe'",
		"master-key-old": "an-old-key,an-older-key", "postgres-max-conns": "9", "admin-key": "ls_0123456789abcdefghijklm", "shutdown-grace": "25s",
		"kubernetes-config": "/etc/kubeconfig", "kubernetes-namespace": "agents", "kubernetes-image": "lineshaft:1", "kubernetes-gateway-listen": ":8486", "kubernetes-gateway-url": "http://launcher:8486", "kubernetes-start-timeout": "3m0s",
		"oidc-issuer": "https://id.example", "oidc-client-id": "lineshaft", "oidc-client-secret": "a-client-secret-of-this-test", "oidc-name": "Example ID",
		"oidc-scopes": "profile,groups", "oidc-role-claim": "realm_access.roles", "oidc-roles": "ops=admin,k=v=viewer", "oidc-default-role": "viewer",
		"oidc-session-life": "8h", "oidc-allow-private": "true",
	}
}

func TestFieldNamesAgree(t *testing.T) {
	t.Parallel()
	name, seen := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), map[string]bool{}
	for _, f := range Fields() {
		if !name.MatchString(f.Name) || seen[f.Name] {
			t.Errorf("name %q is malformed or there twice", f.Name)
		}
		seen[f.Name] = true
		key := strings.ReplaceAll(f.Name, "-", "_")
		if f.Env != "LINESHAFT_"+strings.ToUpper(key) || f.Key != key && !f.EnvOnly || f.EnvOnly && f.Key != "" {
			t.Errorf("names of %s do not agree: %s, %s", f.Name, f.Env, f.Key)
		}
		if f.Help == "" || strings.HasSuffix(f.Help, ".") || strings.Contains(f.Help, "\n") || f.Kind == "" {
			t.Errorf("%s: help %q, kind %q", f.Name, f.Help, f.Kind)
		}
		if _, ok := samples()[f.Name]; !ok {
			t.Errorf("%s has no sample in this test", f.Name)
		}
	}
}

// TestFieldsCoverConfig: each member of Config belongs to exactly one setting.
func TestFieldsCoverConfig(t *testing.T) {
	t.Parallel()
	owner := map[string]string{}
	for _, f := range Fields() {
		c := Default()
		if err := f.Set(&c, samples()[f.Name]); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		before, after := reflect.ValueOf(Default()), reflect.ValueOf(c)
		for i := range before.NumField() {
			if !before.Type().Field(i).IsExported() || reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
				continue
			}
			member := before.Type().Field(i).Name
			if owner[member] != "" {
				t.Errorf("%s is set by %s and by %s", member, owner[member], f.Name)
			}
			owner[member] = f.Name
		}
	}
	if n := reflect.TypeFor[Config]().NumField() - 2; len(owner) != n || len(Fields()) != n {
		t.Errorf("%d settings reach %d of %d members", len(Fields()), len(owner), n)
	}
}

// TestEachWay sets every setting from the environment and, but for those that must
// not, from a file and from a flag.
func TestEachWay(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			sample := samples()[f.Name]
			want := Default()
			if err := f.Set(&want, sample); err != nil {
				t.Fatal(err)
			}
			quoted := "'" + strings.ReplaceAll(sample, "'", "''") + "'"
			ways := map[string]Sources{"environment": {Environ: []string{f.Env + "=" + sample}}}
			if !f.EnvOnly {
				ways["file"] = Sources{FileName: "f.yaml", File: []byte(f.Key + ": " + quoted + "\n")}
				ways["flag"] = Sources{Flags: map[string][]string{f.Name: {sample}}}
			}
			for way, src := range ways {
				c, err := Load(src)
				if err != nil && !needsAnother(f.Name) {
					t.Errorf("%s: %v", way, err)
				}
				if c.origins, c.file = nil, ""; !reflect.DeepEqual(c, want) {
					t.Errorf("by %s: got %v", way, c)
				}
			}
		})
	}
}

// TestTextRoundTrip: what Get shows can be given to Set.
func TestTextRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		for _, text := range []string{f.Default(), samples()[f.Name]} {
			c := Default()
			if err := f.Set(&c, text); err != nil {
				t.Errorf("%s: Set(%q) = %v", f.Name, text, err)
				continue
			}
			again := Default()
			if err := f.Set(&again, f.Get(&c)); err != nil || f.Get(&again) != f.Get(&c) {
				t.Errorf("%s: %q came back as %q, %v", f.Name, f.Get(&c), f.Get(&again), err)
			}
		}
	}
}

func field(t *testing.T, name string) Field {
	t.Helper()
	i := slices.IndexFunc(Fields(), func(f Field) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no setting %q", name)
	}
	return Fields()[i]
}

// A worker has the settings about executing runs and not those of the control plane.
func TestX1WorkerNames(t *testing.T) {
	t.Parallel()
	var known []string
	for _, f := range Fields() {
		known = append(known, f.Name)
	}
	names := WorkerNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("%s is not a setting", name)
		}
	}
	for name, has := range map[string]bool{
		"isolation": true, "egress": true, "models-file": true, "anthropic-api-key": true, "data-dir": true, "shutdown-grace": true,
		"listen": false, "database": false, "admin-key": false, "master-key": false, "lease": false, "no-worker": false, "permission-policy": false,
	} {
		if slices.Contains(names, name) != has {
			t.Errorf("%s is a setting of a worker: %t", name, !has)
		}
	}
}

// needsAnother says whether a setting alone is a problem, though it is set: a certificate
// without its key, a CA without a name, half a provider or half a gateway, and hosts without
// egress allow.
func needsAnother(name string) bool {
	return name == "egress-hosts" || slices.ContainsFunc([]string{"tls-", "acme-", "oidc-", "kubernetes-gateway-"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
