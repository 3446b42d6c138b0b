package lineshaft

import (
	"slices"
	"strings"
)

// PlatformParts is the machine of a runner in the words of the published format.
type PlatformParts struct {
	// OS is PlatformLinux or PlatformMac; empty is Linux.
	OS string `json:"os,omitempty"`
	// Arch is x86_64 or aarch64; empty is the usual one of the system.
	Arch  string         `json:"arch,omitempty"`
	Linux *LinuxPlatform `json:"linux,omitempty"`
	Mac   *MacPlatform   `json:"mac,omitempty"`
}

// LinuxPlatform is what only a Linux machine has.
type LinuxPlatform struct {
	DockerImage string `json:"docker_image,omitempty"`
	// RegistryCredentialSecretName is the managed secret with which the image is fetched.
	RegistryCredentialSecretName string `json:"registry_credential_secret_name,omitempty"`
}

// MacPlatform is what only a Mac has.
type MacPlatform struct {
	Version string `json:"version,omitempty"`
}

// The words of the published format for systems and processors.
const (
	PlatformLinux = "linux"
	PlatformMac   = "macos"
	ArchX86       = "x86_64"
	ArchARM       = "aarch64"
)

// MacVersions lists the versions of macOS that the published format knows.
func MacVersions() []string { return []string{"14", "15", "26", "27"} }

// Target is the platform that agents need in the words of the text form, such as
// linux/amd64; empty is any.
func (c RunnerConfig) Target() string {
	if c.PlatformParts == nil {
		return c.Platform
	}
	parts := c.PlatformParts
	switch {
	case parts.OS == PlatformMac:
		return "darwin/arm64"
	case parts.Arch == ArchARM:
		return "linux/arm64"
	}
	return "linux/amd64"
}

// ContainerImage is the image that the runner names in either form.
func (c RunnerConfig) ContainerImage() string {
	if c.PlatformParts != nil && c.PlatformParts.Linux != nil && c.PlatformParts.Linux.DockerImage != "" {
		return c.PlatformParts.Linux.DockerImage
	}
	return c.Image
}

// RegistrySecret is the managed secret with which the image is fetched; empty is none.
func (c RunnerConfig) RegistrySecret() string {
	if c.PlatformParts == nil || c.PlatformParts.Linux == nil {
		return ""
	}
	return c.PlatformParts.Linux.RegistryCredentialSecretName
}

func (c RunnerConfig) validatePlatform() error {
	if c.PlatformParts != nil {
		return c.validateParts()
	}
	if c.Platform == "" {
		return nil
	}
	system, machine, ok := strings.Cut(c.Platform, "/")
	if !ok || system == "" || machine == "" || !plainCharacters(system+machine) || len(c.Platform) > 60 {
		return Invalid("platform", "%q is not a platform; write a system and a processor, such as linux/amd64", Clip(c.Platform, 60))
	}
	return nil
}

func (c RunnerConfig) validateParts() error {
	parts := c.PlatformParts
	switch {
	case c.Platform != "":
		return Invalid("platform", "is given as a text and as a block; keep one of them")
	case parts.OS != "" && parts.OS != PlatformLinux && parts.OS != PlatformMac:
		return Invalid("platform.os", "%q is neither %s nor %s", Clip(parts.OS, 40), PlatformLinux, PlatformMac)
	case parts.Arch != "" && parts.Arch != ArchX86 && parts.Arch != ArchARM:
		return Invalid("platform.arch", "%q is neither %s nor %s", Clip(parts.Arch, 40), ArchX86, ArchARM)
	}
	if parts.OS == PlatformMac {
		return c.validateMac()
	}
	return c.validateLinux()
}

func (c RunnerConfig) validateMac() error {
	parts := c.PlatformParts
	switch {
	case parts.Linux != nil:
		return Invalid("platform.linux", "is only for os %s", PlatformLinux)
	case parts.Arch == ArchX86:
		return Invalid("platform.arch", "a Mac has %s", ArchARM)
	case parts.Mac != nil && !slices.Contains(MacVersions(), parts.Mac.Version):
		return Invalid("platform.mac.version", "%q is not one of %s", Clip(parts.Mac.Version, 40), strings.Join(MacVersions(), ", "))
	}
	return nil
}

func (c RunnerConfig) validateLinux() error {
	parts := c.PlatformParts
	switch {
	case parts.Mac != nil:
		return Invalid("platform.mac", "is only for os %s", PlatformMac)
	case parts.Linux == nil:
		return nil
	case c.Image != "" && parts.Linux.DockerImage != "":
		return Invalid("image", "the platform also names an image; keep one of them")
	case parts.Linux.RegistryCredentialSecretName != "" && !ValidSecretName(parts.Linux.RegistryCredentialSecretName):
		return Invalid("platform.linux.registryCredentialSecretName", "%q is not the name of a secret: a capital letter, then capital letters, digits and '_'", Clip(parts.Linux.RegistryCredentialSecretName, 40))
	}
	return validateImage("platform.linux.dockerImage", parts.Linux.DockerImage)
}
