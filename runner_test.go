package lineshaft

import (
	"strings"
	"testing"
)

func TestF2RunnerLimits(t *testing.T) {
	t.Parallel()
	good := func() Runner {
		return Runner{Name: "big", Config: RunnerConfig{
			Platform: "linux/arm64", SetupCommands: []string{"make"}, Shape: InstanceShape{VCPUs: MaxVCPUs, MemoryGB: MaxMemoryGB},
		}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		field  string
		change func(*Runner)
	}{
		"name":         {"name", func(r *Runner) { r.Name = "a/b" }},
		"vcpus":        {"instanceShape.vcpus", func(r *Runner) { r.Config.Shape.VCPUs++ }},
		"minus vcpus":  {"instanceShape.vcpus", func(r *Runner) { r.Config.Shape.VCPUs = -1 }},
		"memory":       {"instanceShape.memoryGb", func(r *Runner) { r.Config.Shape.MemoryGB++ }},
		"minus memory": {"instanceShape.memoryGb", func(r *Runner) { r.Config.Shape.MemoryGB = -1 }},
		"one word":     {"platform", func(r *Runner) { r.Config.Platform = "linux" }},
		"no system":    {"platform", func(r *Runner) { r.Config.Platform = "/amd64" }},
		"three parts":  {"platform", func(r *Runner) { r.Config.Platform = "linux/arm/v7" }},
		"long":         {"platform", func(r *Runner) { r.Config.Platform = "linux/" + strings.Repeat("x", 60) }},
		"option":       {"image", func(r *Runner) { r.Config.Image = "--privileged" }},
		"command":      {"setupCommands[0]", func(r *Runner) { r.Config.SetupCommands[0] = "" }},
	} {
		runner := good()
		test.change(&runner)
		err, ok := runner.Validate().(*Error) //nolint:errorlint // it is never wrapped here
		if !ok || err.Code != CodeInvalidRequest || err.Field != test.field {
			t.Errorf("%s: %v, want an error about %s", name, err, test.field)
		}
	}
}

// TestF2RunnerPlatformParts reads the published words for machines.
func TestF2RunnerPlatformParts(t *testing.T) {
	t.Parallel()
	linux := func(image, secret string) *LinuxPlatform {
		return &LinuxPlatform{DockerImage: image, RegistryCredentialSecretName: secret}
	}
	for name, test := range map[string]struct {
		config        RunnerConfig
		target, image string
		field         string // that is blamed; empty is valid
	}{
		"text":             {config: RunnerConfig{Platform: "linux/arm64", Image: "a"}, target: "linux/arm64", image: "a"},
		"nothing":          {},
		"empty block":      {config: RunnerConfig{PlatformParts: &PlatformParts{}}, target: "linux/amd64"},
		"image of ours":    {config: RunnerConfig{Image: "a", PlatformParts: &PlatformParts{Linux: linux("", "")}}, target: "linux/amd64", image: "a"},
		"linux on arm":     {config: RunnerConfig{PlatformParts: &PlatformParts{Arch: ArchARM, Linux: linux("b", "R")}}, target: "linux/arm64", image: "b"},
		"mac":              {config: RunnerConfig{PlatformParts: &PlatformParts{OS: PlatformMac, Mac: &MacPlatform{Version: "26"}}}, target: "darwin/arm64"},
		"both forms":       {config: RunnerConfig{Platform: "linux/amd64", PlatformParts: &PlatformParts{}}, field: "platform"},
		"two images":       {config: RunnerConfig{Image: "a", PlatformParts: &PlatformParts{Linux: linux("b", "")}}, field: "image"},
		"other system":     {config: RunnerConfig{PlatformParts: &PlatformParts{OS: "plan9"}}, field: "platform.os"},
		"other processor":  {config: RunnerConfig{PlatformParts: &PlatformParts{Arch: "amd64"}}, field: "platform.arch"},
		"mac with x86":     {config: RunnerConfig{PlatformParts: &PlatformParts{OS: PlatformMac, Arch: ArchX86}}, field: "platform.arch"},
		"mac with linux":   {config: RunnerConfig{PlatformParts: &PlatformParts{OS: PlatformMac, Linux: linux("b", "")}}, field: "platform.linux"},
		"linux with mac":   {config: RunnerConfig{PlatformParts: &PlatformParts{Mac: &MacPlatform{Version: "26"}}}, field: "platform.mac"},
		"version":          {config: RunnerConfig{PlatformParts: &PlatformParts{OS: PlatformMac, Mac: &MacPlatform{}}}, field: "platform.mac.version"},
		"option":           {config: RunnerConfig{PlatformParts: &PlatformParts{Linux: linux("--privileged", "")}}, field: "platform.linux.dockerImage"},
		"value for a name": {config: RunnerConfig{PlatformParts: &PlatformParts{Linux: linux("b", "user:pass")}}, field: "platform.linux.registryCredentialSecretName"},
	} {
		err, _ := Runner{Name: "r", Config: test.config}.Validate().(*Error) //nolint:errorlint // it is never wrapped here
		switch {
		case test.field != "":
			if err == nil || err.Field != test.field {
				t.Errorf("%s: %v, want an error about %s", name, err, test.field)
			}
		case err != nil || test.config.Target() != test.target || test.config.ContainerImage() != test.image:
			t.Errorf("%s: %v %q %q", name, err, test.config.Target(), test.config.ContainerImage())
		}
	}
}
