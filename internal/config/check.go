package config

// CheckState says how a Check came out.
type CheckState string

// The outcomes of a check. Only a problem makes `lineshaft doctor` fail.
const (
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning"
	CheckProblem CheckState = "problem"
)

// Check is one line of what `lineshaft doctor` finds out about this machine and
// these settings.
type Check struct {
	// Name is what was looked at, such as "database".
	Name  string     `json:"name"`
	State CheckState `json:"state"`
	// Detail is what was found, such as the mechanism in force.
	Detail string `json:"detail"`
	// Fix says what to do; empty when all is well.
	Fix string `json:"fix,omitempty"`
}
