package lineshaft

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FactoryMode says where a factory is edited.
type FactoryMode string

// The modes of F-5.
const (
	// ModeManaged is edited over the API and the dashboard.
	ModeManaged FactoryMode = "managed"
	// ModeRepository follows a Git repository.
	ModeRepository FactoryMode = "repository"
)

// Limits of a factory.
const (
	MaxAliasRunes       = 60
	MaxDescriptionRunes = 2000
)

// Factory groups agents, automations and webhooks.
type Factory struct {
	UID         string
	Name        string
	Alias       string
	Description string
	Mode        FactoryMode
	// Defaults are the widest layer of the factory's runs.
	Defaults AgentConfig
	// Secrets and MCPServers are for all of its agents, besides what these name.
	Secrets    []string
	MCPServers map[string]MCPServer
	// Repositories are what its agents work on.
	Repositories []Repository
	// Repository is how far it has followed its repository; nil for a managed one. Only
	// answers of the control plane have it.
	Repository *GitStatus
	// Paused stops its automations from starting runs; deliveries are still taken.
	Paused bool
	// DailyBudget keeps it from starting more runs once its runs consumed as much in a
	// day of UTC; runs that are at work continue. The zero value is none.
	DailyBudget Budget
	// SpentToday is what its runs consumed today. Only answers of the control plane about
	// a single factory have it.
	SpentToday *Spending
	// Foreman is the name of the agent that gets work for which no other is named.
	Foreman string
	// Revision grows with every change to the factory, its agents, automations and
	// webhooks: holders of a copy compare it.
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks what can be checked without the store.
func (f Factory) Validate() error {
	if n := utf8.RuneCountInString(f.Name); n == 0 || n > MaxNameRunes || strings.TrimSpace(f.Name) == "" {
		return Invalid("name", "a factory needs a name of 1 to %d characters", MaxNameRunes)
	}
	if strings.ContainsAny(f.Name, "\r\n") {
		return Invalid("name", "must be one line; leave the line break out")
	}
	if f.Alias != "" && !validAlias(f.Alias) {
		return Invalid("alias",
			"must be 1 to %d letters, digits, spaces, '.', '_' or '-', without a space at either end; for example web-shop", MaxAliasRunes)
	}
	if f.DailyBudget.MaxTokens < 0 || f.DailyBudget.MaxCostMicros < 0 {
		return Invalid("daily_budget", "must not be negative; 0 means no budget")
	}
	if utf8.RuneCountInString(f.Description) > MaxDescriptionRunes {
		return Invalid("description", "longer than %d characters", MaxDescriptionRunes)
	}
	for field, text := range map[string]string{"name": f.Name, "description": f.Description} {
		if err := checkText(field, text); err != nil {
			return err
		}
	}
	if err := ValidateRepositories("repositories", f.Repositories); err != nil {
		return err
	}
	if err := f.Shared().Validate(); err != nil {
		return err
	}
	if err := f.Defaults.Validate(); err != nil {
		return err
	}
	return f.Defaults.CheckModel()
}

// Shared is what all of its agents have besides what they name.
func (f Factory) Shared() AgentConfig {
	return AgentConfig{Secrets: f.Secrets, MCPServers: f.MCPServers}
}

func validAlias(alias string) bool {
	return utf8.RuneCountInString(alias) <= MaxAliasRunes && strings.TrimSpace(alias) == alias && utf8.ValidString(alias) &&
		!strings.ContainsFunc(alias, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !strings.ContainsRune(" ._-", c)
		})
}

// plainCharacters says whether s has only ASCII letters, digits, space and ._-.
func plainCharacters(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return !alphanumeric(c) && !strings.ContainsRune(" ._-", rune(c)) })
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// MaxPartName bounds the names of a factory's agents, automations and webhooks, and
// maxPartBytes what a file system must take.
const (
	MaxPartName  = 100
	maxPartBytes = 200
)

// CheckPartName checks the name of an agent, automation or webhook. Such names are
// also file names of a factory's definition, on any system.
func CheckPartName(field, name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxPartName || len(name) > maxPartBytes:
		return Invalid(field, "must have 1 to %d characters and at most %d bytes", MaxPartName, maxPartBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, strangeInName) || !unicode.IsLetter(first) && !unicode.IsNumber(first) && first != '_' ||
		strings.HasSuffix(name, " ") || strings.HasSuffix(name, "."):
		return Invalid(field, "must begin with a letter, digit or '_', have only letters, digits, spaces and any of ._-+@&,()', and not end with a space or dot, because it is also a file name")
	}
	return nil
}

// strangeInName says that a character is not allowed in names: characters that could lead
// out of a folder, begin an option or mean something to a shell or an address are left out.
func strangeInName(c rune) bool {
	return !unicode.In(c, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(" ._-+@&,()'", c)
}

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
