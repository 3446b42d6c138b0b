package lineshaft

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of an environment.
const (
	MaxEnvironmentDescription = 240
	MaxSetupCommands          = 100
	MaxSetupCommandRunes      = 4096
	MaxRepositories           = 50
	// MaxEnvironments is how many environments a server has, MaxEnvironmentBytes how long
	// their configurations are together: clients read the list as a whole (H-14).
	MaxEnvironments     = 500
	MaxEnvironmentBytes = 8 << 20
	// EnvironmentIDLength is how many letters and digits the id of an environment has (H-7).
	EnvironmentIDLength = 22
)

// Repository names a repository at the forge.
type Repository struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
}

// String is owner/name.
func (r Repository) String() string { return r.Owner + "/" + r.Name }

// ParseRepository reads owner/name.
func ParseRepository(s string) (Repository, error) {
	owner, name, ok := strings.Cut(s, "/")
	r := Repository{Owner: owner, Name: name}
	if !ok {
		return Repository{}, Invalid("", "%q is not a repository; write owner/name", Clip(s, 80))
	}
	return r, r.Validate("")
}

// Validate requires names that are safe in a URL and as a folder. An owner may have
// several parts, as groups of GitLab do.
func (r Repository) Validate(field string) error {
	for part := range strings.SplitSeq(r.Owner+"/"+r.Name, "/") {
		if part == "" || len(part) > 100 || !alphanumeric(part[0]) && part[0] != '_' && part[0] != '.' || strings.Trim(part, ".") == "" {
			return Invalid(field, "%q is not a repository; write an owner and a name of letters, digits, '.', '_' and '-'", Clip(r.String(), 80))
		}
		for _, c := range []byte(part) {
			if !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
				return Invalid(field, "%q is not a repository; write an owner and a name of letters, digits, '.', '_' and '-'", Clip(r.String(), 80))
			}
		}
	}
	return nil
}

// Environment is what is made ready before an agent of a run starts.
type Environment struct {
	UID    string
	Config EnvironmentConfig
	// Creator and Editor are uids of principals.
	Creator   string
	Editor    string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// EnvironmentConfig is what people write of an environment.
type EnvironmentConfig struct {
	Name          string       `json:"name"`
	Description   string       `json:"description,omitempty"`
	DockerImage   string       `json:"docker_image,omitempty"`
	Repositories  []Repository `json:"repositories,omitempty"`
	SetupCommands []string     `json:"setup_commands,omitempty"`
	// RefreshCommands bring what was prepared for an older commit to a newer one; without
	// any the set-up commands do.
	RefreshCommands []string `json:"refresh_commands,omitempty"`
	Secrets         []string `json:"secrets,omitempty"`
	// GitCredentials names the secret that repositories are cloned with. No agent gets it.
	GitCredentials string `json:"git_credentials,omitempty"`
}

// EnvironmentDetail is an environment with what is known of its use.
type EnvironmentDetail struct {
	Environment
	CreatedBy Principal
	EditedBy  Principal
	// LastRun is the newest run in it; nil when there is none, or none to show.
	LastRun *EnvironmentRun
}

// EnvironmentRun is a run as an environment shows it.
type EnvironmentRun struct {
	ID         string
	FactoryUID string
	Title      string
	State      RunState
	Code       Code
	CreatedAt  time.Time
	UpdatedAt  time.Time
	StartedAt  time.Time
}

// EnvironmentStarts is how the newest runs in an environment found it prepared, as their logs say.
type EnvironmentStarts struct {
	// Warm, Newer and Cold count the starts: on what was prepared, on what was prepared for an older
	// commit, and from nothing.
	Warm, Newer, Cold int
	// Saved is how much longer cold starts would have taken.
	Saved time.Duration
	// Layers are what was prepared, last used first. A worker may have removed some since.
	Layers []PreparedLayer
	// ColdStarts are the newest of them.
	ColdStarts []ColdStart
}

// PreparedLayer is a prepared environment on a worker.
type PreparedLayer struct {
	Worker, Name string
	Files        int
	Bytes        int64
	// Hits is how many of the runs started on it, and Saved what that saved them.
	Hits   int
	Saved  time.Duration
	UsedAt time.Time
}

// ColdStart is a start from nothing.
type ColdStart struct {
	RunID, Worker, Reason string
	At                    time.Time
}

// SetupFailed says that the newest run could not be set up.
func (d EnvironmentDetail) SetupFailed() bool {
	return d.LastRun != nil && d.LastRun.State == Failed && d.LastRun.Code == CodeEnvironmentSetupFailed
}

// Validate checks what can be checked without the store.
func (c EnvironmentConfig) Validate() error {
	if n := utf8.RuneCountInString(c.Name); strings.TrimSpace(c.Name) == "" || n > MaxNameRunes {
		return Invalid("config.name", "an environment needs a name of 1 to %d characters", MaxNameRunes)
	}
	if utf8.RuneCountInString(c.Description) > MaxEnvironmentDescription {
		return Invalid("config.description", "longer than %d characters", MaxEnvironmentDescription)
	}
	if err := validateImage("config.docker_image", c.DockerImage); err != nil {
		return err
	}
	if err := ValidateRepositories("config.github_repos", c.Repositories); err != nil {
		return err
	}
	if err := ValidateSetupCommands("config.setup_commands", c.SetupCommands); err != nil {
		return err
	}
	if err := ValidateSetupCommands("config.refresh_commands", c.RefreshCommands); err != nil {
		return err
	}
	if c.GitCredentials != "" && !ValidSecretName(c.GitCredentials) {
		return Invalid("config.git_credentials", "%q is not the name of a secret: a capital letter, then capital letters, digits and '_'", Clip(c.GitCredentials, 40))
	}
	if err := checkText("config", c.Name, c.Description, c.DockerImage); err != nil {
		return err
	}
	return AgentConfig{Secrets: c.Secrets}.Validate()
}

// validateImage checks that the name of an image cannot be mistaken for something else:
// programs that get it treat a leading '-' as an option.
func validateImage(field, image string) error {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(image) > 512 || strings.ContainsFunc(image, strange) {
		return Invalid(field, "must be the name of an image: at most 512 letters, digits and signs of ASCII, without spaces")
	}
	if strings.HasPrefix(image, "-") {
		return Invalid(field, "%q begins with '-', which no name of an image does; write one such as debian:13", Clip(image, 40))
	}
	return nil
}

// ValidateRepositories checks a list of repositories.
func ValidateRepositories(field string, list []Repository) error {
	if len(list) > MaxRepositories {
		return Invalid(field, "%d are too many; at most %d are allowed", len(list), MaxRepositories)
	}
	seen := map[string]bool{}
	for i, r := range list {
		if err := r.Validate(fieldAt(field, i)); err != nil {
			return err
		}
		if name := strings.ToLower(r.Name); name == PrivateFolder || name == ".git" {
			return Invalid(fieldAt(field, i), "a repository named %q cannot be cloned: the workspace needs the folder of that name itself", r.Name)
		}
		if key := strings.ToLower(r.String()); seen[key] {
			return Invalid(fieldAt(field, i), "%s is named twice; name it once", r)
		} else {
			seen[key] = true
		}
	}
	return nil
}

// ValidateSetupCommands checks the commands that are run before an agent starts.
func ValidateSetupCommands(field string, commands []string) error {
	if len(commands) > MaxSetupCommands {
		return Invalid(field, "%d are too many; at most %d are allowed", len(commands), MaxSetupCommands)
	}
	for i, command := range commands {
		if strings.TrimSpace(command) == "" || utf8.RuneCountInString(command) > MaxSetupCommandRunes {
			return Invalid(fieldAt(field, i), "a command must have 1 to %d characters", MaxSetupCommandRunes)
		}
		if err := checkText(fieldAt(field, i), command); err != nil {
			return err
		}
	}
	return nil
}

// Empty says that there is nothing to make ready in a workspace.
func (p Preparation) Empty() bool { return len(p.Repositories)+len(p.SetupCommands)+len(p.Skills) == 0 }

// Preparation is what a worker makes ready before it starts an agent.
type Preparation struct {
	// Revision names the environment, and the last change of it; empty without one.
	Revision string
	// Repositories are cloned into folders of their names.
	Repositories []Repository
	// SetupCommands are run in order: those of the environment, then the runner's.
	SetupCommands []string
	// RefreshCommands are run instead, on top of what was prepared for an older commit;
	// none when the set-up commands are.
	RefreshCommands []string
	// Image is for isolation by containers.
	Image string
	// GitCredentials is what repositories are cloned with. It is a secret, and the
	// agent does not get it.
	GitCredentials SecretText
	// Skills are put where agents look for them.
	Skills []Skill
	Runner RunnerConfig
}
