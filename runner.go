package lineshaft

import "time"

// Runner says on what kind of machine the agents of a factory work. It comes from
// the factory's definition.
type Runner struct {
	UID        string
	FactoryUID string
	Name       string
	Config     RunnerConfig
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// RunnerConfig is what people write of a runner.
type RunnerConfig struct {
	Description string `json:"description,omitempty"`
	// Platform is what agents need, such as linux/amd64; empty is any.
	Platform string `json:"platform,omitempty"`
	// PlatformParts says the same in the words of the published format; at most one of
	// the two is set.
	PlatformParts *PlatformParts `json:"platform_parts,omitempty"`
	// Image is for isolation by containers.
	Image         string        `json:"image,omitempty"`
	SetupCommands []string      `json:"setup_commands,omitempty"`
	Shape         InstanceShape `json:"shape,omitzero"`
}

// InstanceShape bounds an agent's processes; zero leaves it to the worker.
type InstanceShape struct {
	VCPUs    int `json:"vcpus,omitempty"`
	MemoryGB int `json:"memory_gb,omitempty"`
}

// Limits of a runner.
const (
	MaxVCPUs    = 1024
	MaxMemoryGB = 16384
)

// Validate checks what can be checked without the store.
func (r Runner) Validate() error {
	if err := CheckPartName("name", r.Name); err != nil {
		return err
	}
	c := r.Config
	if c.Shape.VCPUs < 0 || c.Shape.VCPUs > MaxVCPUs {
		return Invalid("instanceShape.vcpus", "must be 1 to %d", MaxVCPUs)
	}
	if c.Shape.MemoryGB < 0 || c.Shape.MemoryGB > MaxMemoryGB {
		return Invalid("instanceShape.memoryGb", "must be 1 to %d", MaxMemoryGB)
	}
	if err := c.validatePlatform(); err != nil {
		return err
	}
	if err := validateImage("image", c.Image); err != nil {
		return err
	}
	return ValidateSetupCommands("setupCommands", c.SetupCommands)
}
