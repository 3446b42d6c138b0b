package lineshaft

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// AgentType is the part an agent plays in its factory.
type AgentType string

// The agent types. A factory has exactly one foreman.
const (
	AgentCustom    AgentType = "CUSTOM"
	AgentForeman   AgentType = "FOREMAN"
	AgentTriage    AgentType = "TRIAGE"
	AgentSpec      AgentType = "SPEC"
	AgentImplement AgentType = "IMPLEMENT"
	AgentReview    AgentType = "REVIEW"
	AgentVerify    AgentType = "VERIFY"
)

// AgentTypes lists the agent types.
func AgentTypes() []AgentType {
	return []AgentType{AgentCustom, AgentForeman, AgentTriage, AgentSpec, AgentImplement, AgentReview, AgentVerify}
}

// ForemanName is what the foreman of a new managed factory is called.
const ForemanName = "foreman"

// Agent is a named configuration that runs go to.
type Agent struct {
	UID string
	// FactoryUID is empty for an agent of the whole team.
	FactoryUID  string
	Name        string
	Type        AgentType
	Description string
	// Prompt is put before the prompt of each of its runs.
	Prompt string
	Config AgentConfig
	// Truncated says that this is what lists show: long texts are cut.
	Truncated bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks what can be checked without the store.
func (a Agent) Validate() error {
	if err := a.checkName(); err != nil {
		return err
	}
	if !slices.Contains(AgentTypes(), a.Type) {
		return Invalid("agent_type", "%q is not one of CUSTOM, FOREMAN, TRIAGE, SPEC, IMPLEMENT, REVIEW, VERIFY", Clip(string(a.Type), 40))
	}
	if a.Type == AgentForeman && a.FactoryUID == "" {
		return Invalid("agent_type", "a foreman needs a factory; give factory_uid, or another type")
	}
	if utf8.RuneCountInString(a.Description) > MaxDescriptionRunes {
		return Invalid("description", "longer than %d characters", MaxDescriptionRunes)
	}
	if len(a.Prompt) > MaxPromptBytes {
		return Invalid("prompt", "has %d bytes; at most %d are allowed", len(a.Prompt), MaxPromptBytes)
	}
	if err := checkText("description", a.Description); err != nil {
		return err
	}
	if err := checkText("prompt", a.Prompt); err != nil {
		return err
	}
	if err := a.Config.Validate(); err != nil {
		return err
	}
	if err := a.Config.CheckModel(); err != nil {
		return err
	}
	return a.checkSkills()
}

// checkSkills refuses skills of a factory for an agent without one.
func (a Agent) checkSkills() error {
	if a.FactoryUID != "" {
		return nil
	}
	for i, spec := range a.Config.Skills {
		if ref, err := ParseSkillRef(spec); err == nil && ref.Local() {
			return Invalid(fieldAt("config.skills", i), "%q would be a skill of the agent's factory, and it has none; write owner/repo:name", Clip(spec, 80))
		}
	}
	return nil
}

// checkName requires a name that can be a file's in a factory, and any name elsewhere.
func (a Agent) checkName() error {
	if a.FactoryUID != "" {
		return CheckPartName("name", a.Name)
	}
	if strings.TrimSpace(a.Name) == "" || utf8.RuneCountInString(a.Name) > MaxNameRunes {
		return Invalid("name", "an agent needs a name of 1 to %d characters", MaxNameRunes)
	}
	return checkText("name", a.Name)
}
