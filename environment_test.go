package lineshaft

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestX9EnvironmentLimits(t *testing.T) {
	t.Parallel()
	good := func() EnvironmentConfig {
		return EnvironmentConfig{
			Name: "web", Description: strings.Repeat("é", MaxEnvironmentDescription), DockerImage: "debian:13",
			Repositories:  []Repository{{"acme", "shop"}, {"acme/tools", "lint.er_2"}},
			SetupCommands: []string{"make\nall", strings.Repeat("é", MaxSetupCommandRunes)},
			Secrets:       []string{"TOKEN"}, GitCredentials: "FORGE_TOKEN",
		}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		field  string
		change func(*EnvironmentConfig)
	}{
		"no name":         {"config.name", func(c *EnvironmentConfig) { c.Name = " " }},
		"long name":       {"config.name", func(c *EnvironmentConfig) { c.Name = strings.Repeat("x", MaxNameRunes+1) }},
		"NUL in name":     {"config", func(c *EnvironmentConfig) { c.Name = "a\x00" }},
		"description":     {"config.description", func(c *EnvironmentConfig) { c.Description += "x" }},
		"image":           {"config.docker_image", func(c *EnvironmentConfig) { c.DockerImage = "debian 13" }},
		"tab in image":    {"config.docker_image", func(c *EnvironmentConfig) { c.DockerImage = "debian\v13" }},
		"image not ASCII": {"config.docker_image", func(c *EnvironmentConfig) { c.DockerImage = "debian\u00a013" }},
		"option as image": {"config.docker_image", func(c *EnvironmentConfig) { c.DockerImage = "--privileged" }},
		"long image":      {"config.docker_image", func(c *EnvironmentConfig) { c.DockerImage = strings.Repeat("x", 513) }},
		"repository":      {"config.github_repos[1]", func(c *EnvironmentConfig) { c.Repositories[1].Name = "../x" }},
		"twice":           {"config.github_repos[1]", func(c *EnvironmentConfig) { c.Repositories[1] = Repository{"ACME", "Shop"} }},
		"private folder":  {"config.github_repos[0]", func(c *EnvironmentConfig) { c.Repositories[0].Name = ".Lineshaft" }},
		"git folder":      {"config.github_repos[0]", func(c *EnvironmentConfig) { c.Repositories[0].Name = ".git" }},
		"many repositories": {"config.github_repos", func(c *EnvironmentConfig) {
			c.Repositories = nil
			for i := range MaxRepositories + 1 {
				c.Repositories = append(c.Repositories, Repository{"o", fmt.Sprint("r", i)})
			}
		}},
		"many commands":  {"config.setup_commands", func(c *EnvironmentConfig) { c.SetupCommands = make([]string, MaxSetupCommands+1) }},
		"blank command":  {"config.setup_commands[1]", func(c *EnvironmentConfig) { c.SetupCommands[1] = "\n\t" }},
		"long command":   {"config.setup_commands[1]", func(c *EnvironmentConfig) { c.SetupCommands[1] += "x" }},
		"NUL in command": {"config.setup_commands[0]", func(c *EnvironmentConfig) { c.SetupCommands[0] = "a\x00b" }},
		"secret":         {"config.secrets[0].name", func(c *EnvironmentConfig) { c.Secrets[0] = "token" }},
		"secret twice":   {"config.secrets[1].name", func(c *EnvironmentConfig) { c.Secrets = []string{"A", "A"} }},
		"credentials":    {"config.git_credentials", func(c *EnvironmentConfig) { c.GitCredentials = "https://x@y" }},
	} {
		config := good()
		test.change(&config)
		err, ok := config.Validate().(*Error) //nolint:errorlint // it is never wrapped here
		if !ok || err.Code != CodeInvalidRequest || err.Field != test.field {
			t.Errorf("%s: %v, want an error about %s", name, err, test.field)
		}
	}
}

func TestX4RepositoryNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"acme/shop": true, "group/sub/shop": true, "a/.github": true, "_a/b-c.d": true,
		"acme": false, "/shop": false, "acme/": false, "acme//shop": false, "acme/..": false, "../shop": false, "./shop": false, "acme/...": false,
		"-u/shop": false, "acme/-x": false, "acme/sh op": false, "acme/shop\n": false, "acme/é": false, "a:b/c": false, "a@b/c": false, "acme/" + strings.Repeat("x", 101): false,
	} {
		r, err := ParseRepository(text)
		if (err == nil) != want {
			t.Errorf("%.40q: %v", text, err)
		}
		if want && r.String() != text {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	if r, err := ParseRepository("group/shop"); err != nil || r != (Repository{"group", "shop"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestS2GitCredentialsAreNotPrinted(t *testing.T) {
	t.Parallel()
	const value = "correct-horse-battery-staple"
	job := Job{Prepare: Preparation{GitCredentials: value}}
	encoded, err := json.Marshal(job) //nolint:musttag // it must not show the value even so
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts = append(texts, fmt.Sprintf(verb, job), fmt.Sprintf(verb, job.Prepare.GitCredentials), fmt.Sprintf(verb, &job))
	}
	for _, text := range texts {
		if strings.Contains(text, value) || strings.Contains(text, fmt.Sprintf("%x", value)) {
			t.Errorf("the value is in %s", text)
		}
	}
	if got := fmt.Sprint(SecretText(""), SecretText("x")); strings.TrimSpace(got) != "[secret]" {
		t.Errorf("printed as %q", got)
	}
}

func TestX4EmptyPreparation(t *testing.T) {
	t.Parallel()
	for _, p := range []Preparation{{Repositories: make([]Repository, 1)}, {SetupCommands: []string{"x"}}, {Skills: make([]Skill, 1)}} {
		if p.Empty() {
			t.Errorf("%+v counts as empty", p)
		}
	}
	if p := (Preparation{Image: "x", Runner: RunnerConfig{Platform: "linux/amd64"}}); !p.Empty() {
		t.Error("an image alone is nothing to do in a workspace")
	}
}
