package lineshaft

import (
	"strings"
	"time"
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
	// day of UTC; runs that are at work go on. The zero value is none.
	DailyBudget Budget
	// SpentToday is what its runs consumed today. Only answers of the control plane about
	// a single factory have it.
	SpentToday *Spending
	// Foreman is the name of the agent that work without another one goes to.
	Foreman string
	// Revision grows with every change to the factory, its agents, automations and
	// webhooks: whoever holds a copy compares it.
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks what can be checked without the store.
func (f Factory) Validate() error {
	if n := utf8.RuneCountInString(f.Name); n == 0 || n > MaxNameRunes || strings.TrimSpace(f.Name) == "" {
		return Invalid("name", "a factory needs a name of 1 to %d characters", MaxNameRunes)
	}
	if f.Alias != "" && !validAlias(f.Alias) {
		return Invalid("alias", "must be 1 to %d letters, digits, spaces, '.', '_' or '-'", MaxAliasRunes)
	}
	if f.DailyBudget.MaxTokens < 0 || f.DailyBudget.MaxCostMicros < 0 {
		return Invalid("daily_budget", "must not be negative; 0 is no budget")
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
	if err := (AgentConfig{Secrets: f.Secrets, MCPServers: f.MCPServers}).Validate(); err != nil {
		return err
	}
	return f.Defaults.Validate()
}

// Layer is what the factory says about the configuration of its runs: its defaults
// with what is for all of its agents.
func (f Factory) Layer() AgentConfig {
	layer := f.Defaults
	layer.Secrets = union(f.Defaults.Secrets, f.Secrets)
	layer.MCPServers = mergeServers(f.Defaults.MCPServers, f.MCPServers)
	return layer
}

func validAlias(alias string) bool {
	if len(alias) > MaxAliasRunes || strings.TrimSpace(alias) != alias {
		return false
	}
	return plainCharacters(alias)
}

// plainCharacters says whether s has only ASCII letters, digits, space and ._-.
func plainCharacters(s string) bool {
	for _, c := range []byte(s) {
		if !alphanumeric(c) && !strings.ContainsRune(" ._-", rune(c)) {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// MaxPartName bounds the names of a factory's agents, automations and webhooks.
const MaxPartName = 100

// CheckPartName checks the name of an agent, automation or webhook. Such names are
// also file names of a factory's definition, on any system.
func CheckPartName(field, name string) error {
	switch {
	case name == "" || len(name) > MaxPartName:
		return Invalid(field, "must have 1 to %d characters", MaxPartName)
	case !plainCharacters(name) || !alphanumeric(name[0]) || strings.HasSuffix(name, " ") || strings.HasSuffix(name, "."):
		return Invalid(field, "must begin with a letter or digit, have only ASCII letters, digits, spaces, '.', '_' and '-', and not end with a space or dot, because it is also a file name")
	}
	return nil
}
