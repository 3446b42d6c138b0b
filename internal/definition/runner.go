package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

func runnerKeys(c *lineshaft.RunnerConfig) []key {
	return []key{
		{name: "description", doc: "What it is for.", null: sameAsAbsent, value: text(&c.Description, textRules{most: lineshaft.MaxDescriptionRunes})},
		{name: "platform", doc: "The system and processor that agents need: a text such as linux/amd64, or a block.", value: platform(c)},
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

// platform is a text such as linux/amd64, or a block of keys.
func platform(c *lineshaft.RunnerConfig) value {
	rules := textRules{check: checkPlatform, form: "write a text such as platform: linux/amd64, or a block such as platform: {os: linux, arch: x86_64}"}
	plain, parts := text(&c.Platform, rules), option(&c.PlatformParts, platformKeys)
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != objectNode {
				plain.read(r, path, n)
				return
			}
			parts.read(r, path, n)
			if c.PlatformParts != nil {
				r.blame(lineshaft.Runner{Name: "x", Config: lineshaft.RunnerConfig{PlatformParts: c.PlatformParts}}.Validate(), "")
			}
		},
		write: func() *node {
			if c.PlatformParts != nil {
				return parts.write()
			}
			return plain.write()
		},
		schema: func() schema { return schema{"oneOf": []any{rules.schema(), parts.schema()}} },
	}
}

func platformKeys(p *lineshaft.PlatformParts) []key {
	return []key{
		{name: "os", doc: "linux (the default) or macos.", value: text(&p.OS, textRules{words: []string{lineshaft.PlatformLinux, lineshaft.PlatformMac}})},
		{name: "arch", doc: "x86_64 (the default of Linux) or aarch64 (that of macOS).", value: text(&p.Arch, textRules{words: []string{lineshaft.ArchX86, lineshaft.ArchARM}})},
		{name: "linux", doc: "With os linux.", value: option(&p.Linux, linuxKeys)},
		{name: "mac", doc: "With os macos.", value: option(&p.Mac, macKeys)},
	}
}

func linuxKeys(p *lineshaft.LinuxPlatform) []key {
	return []key{
		{name: "dockerImage", doc: "A container image, where agents are isolated by containers.", value: text(&p.DockerImage, textRules{filled: true, most: 512})},
		{
			name: "registryCredentialSecretName", doc: "The managed secret with which a private image is fetched.",
			value: text(&p.RegistryCredentialSecretName, secretRules()),
			inert: "images are fetched with the log-in of the machine or the cluster",
		},
	}
}

func macKeys(p *lineshaft.MacPlatform) []key {
	return []key{{
		name: "version", doc: strings.Join(lineshaft.MacVersions(), ", "), required: true,
		value: text(&p.Version, textRules{words: lineshaft.MacVersions()}),
		inert: "workers say which system they have, not which version of it",
	}}
}

func checkPlatform(platform string) error {
	return lineshaft.Runner{Name: "x", Config: lineshaft.RunnerConfig{Platform: platform}}.Validate()
}

func checkCommand(command string) error {
	return lineshaft.ValidateSetupCommands("", []string{command})
}

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
