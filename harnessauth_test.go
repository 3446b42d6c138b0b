package lineshaft_test

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF2HarnessAuth(t *testing.T) {
	t.Parallel()
	secret := &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: "KEY"}
	for name, test := range map[string]struct {
		harness lineshaft.HarnessConfig
		field   string // that is blamed; empty is valid
	}{
		"secret":           {lineshaft.HarnessConfig{Type: "claude", Auth: secret}, ""},
		"inherited type":   {lineshaft.HarnessConfig{Auth: secret}, ""},
		"environment":      {lineshaft.HarnessConfig{Type: "codex", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthWorkerEnvironment}}, ""},
		"cleared":          {lineshaft.HarnessConfig{Type: "oz", Auth: &lineshaft.HarnessAuth{}}, ""},
		"built-in agent":   {lineshaft.HarnessConfig{Type: "oz", Auth: secret}, "config.harness.auth"},
		"no name":          {lineshaft.HarnessConfig{Type: "claude", Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret}}, "config.harness.auth.secret_name"},
		"a value":          {lineshaft.HarnessConfig{Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: "sk-abc"}}, "config.harness.auth.secret_name"},
		"name too many":    {lineshaft.HarnessConfig{Auth: &lineshaft.HarnessAuth{Source: lineshaft.AuthWorkerEnvironment, SecretName: "KEY"}}, "config.harness.auth.secret_name"},
		"another source":   {lineshaft.HarnessConfig{Auth: &lineshaft.HarnessAuth{Source: "file"}}, "config.harness.auth.source"},
		"without a source": {lineshaft.HarnessConfig{Auth: &lineshaft.HarnessAuth{SecretName: "KEY"}}, "config.harness.auth.source"},
	} {
		err, _ := lineshaft.AgentConfig{Harness: &test.harness}.Validate().(*lineshaft.Error) //nolint:errorlint // it is never wrapped here
		if (err == nil) != (test.field == "") || err != nil && err.Field != test.field {
			t.Errorf("%s: %v, want an error about %q", name, err, test.field)
		}
	}
}

// TestX15AuthIsInheritedExactly lets a child have the key of its parent and no other.
func TestX15AuthIsInheritedExactly(t *testing.T) {
	t.Parallel()
	auth := func(name string) *lineshaft.HarnessAuth {
		return &lineshaft.HarnessAuth{Source: lineshaft.AuthManagedSecret, SecretName: name}
	}
	parent := lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "claude", Auth: auth("KEY")}}
	for name, asked := range map[string]*lineshaft.HarnessConfig{"nothing": nil, "the same": {Auth: auth("KEY")}, "a model": {Permissions: lineshaft.PermissionsDeny}} {
		got, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{Harness: asked}, lineshaft.ChildAllowance{})
		if err != nil || got.AuthSecret() != "KEY" {
			t.Errorf("%s: %+v %v", name, got.Harness, err)
		}
	}
	for name, other := range map[string]*lineshaft.HarnessAuth{"another": auth("OTHER"), "none": {}, "the worker's": {Source: lineshaft.AuthWorkerEnvironment}} {
		_, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Auth: other}}, lineshaft.ChildAllowance{})
		if denied, ok := err.(*lineshaft.Error); !ok || denied.Field != "config.harness.auth" { //nolint:errorlint // it is never wrapped here
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another agent that the server offers to children has nothing of the parent's key.
	got, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "codex"}}, lineshaft.ChildAllowance{Harnesses: []string{"codex"}})
	if err != nil || got.AuthSecret() != "" {
		t.Errorf("%+v %v", got.Harness, err)
	}
}
