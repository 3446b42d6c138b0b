package lineshaft

import "time"

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

// ForemanName is what the foreman of a new managed factory is called.
const ForemanName = "foreman"

// Agent is a named configuration that runs of a factory go to.
type Agent struct {
	UID         string
	FactoryUID  string
	Name        string
	Type        AgentType
	Description string
	// Prompt is put before the prompt of each of its runs.
	Prompt    string
	Config    AgentConfig
	CreatedAt time.Time
	UpdatedAt time.Time
}
