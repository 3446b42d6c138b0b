package definition

import "github.com/lineshaft/lineshaft"

// runnerKeys are those of runners/NAME.yaml.
func runnerKeys(c *lineshaft.RunnerConfig) []key {
	return []key{
		{name: "description", doc: "What it is for.", value: text(&c.Description, textRules{most: lineshaft.MaxDescriptionRunes})},
		{name: "platform", doc: "The system and processor that agents need, such as linux/amd64.", value: text(&c.Platform, textRules{check: checkPlatform})},
		{name: "image", doc: "A container image, where agents are isolated by containers.", value: text(&c.Image, textRules{most: 512})},
		{name: "instanceShape", doc: "The size of the machine.", value: block(&c.Shape, shapeKeys)},
		{name: "setupCommands", doc: "Commands that are run in order before an agent starts.", value: texts(&c.SetupCommands, lineshaft.MaxSetupCommands, textRules{filled: true, most: lineshaft.MaxSetupCommandRunes, check: checkCommand})},
	}
}

func shapeKeys(s *lineshaft.InstanceShape) []key {
	return []key{
		{name: "vcpus", doc: "Processors.", value: whole(&s.VCPUs, 1, lineshaft.MaxVCPUs, 0)},
		{name: "memoryGb", doc: "Memory in gigabytes.", value: whole(&s.MemoryGB, 1, lineshaft.MaxMemoryGB, 0)},
	}
}

func checkPlatform(platform string) error {
	return lineshaft.Runner{Name: "x", Config: lineshaft.RunnerConfig{Platform: platform}}.Validate()
}

func checkCommand(command string) error {
	return lineshaft.ValidateSetupCommands("", []string{command})
}

// readRunner reads runners/NAME.yaml.
func (p *parsing) readRunner(file, name, text string) {
	r := p.reader(file, KindRunner, name)
	v := lineshaft.Runner{Name: name}
	before := len(r.problems)
	if n := r.document(text); n != nil {
		r.object("", n, runnerKeys(&v.Config))
	}
	if len(r.problems) == before {
		r.blame(v.Validate(), "")
	}
	p.def.Runners = append(p.def.Runners, v)
}
