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
