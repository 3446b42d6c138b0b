package lineshaft

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// SecretKind distinguishes secrets for runs from credentials of webhooks.
type SecretKind string

// The kinds of secrets.
const (
	SecretManaged SecretKind = "managed"
	// SecretWebhook is a webhook's credential: no run ever gets it.
	SecretWebhook SecretKind = "webhook"
)

// SecretAccess says which runs may use a secret (S-1).
type SecretAccess string

// The ways of access.
const (
	// AccessGranted reaches only runs whose factory, agent, automation or
	// environment names the secret.
	AccessGranted SecretAccess = "granted"
	// AccessRuns may be named by the part that may start a run.
	AccessRuns SecretAccess = "runs"
)

// Limits of a secret.
const (
	MaxSecretBytes = 64 << 10
	maxSecretName  = 128
	// MaxRunSecrets is how many secrets one run may use: with their names they have
	// to fit into the environment of a process.
	MaxRunSecrets = 20
)

// Secret is a managed secret without its value, which is never read back.
type Secret struct {
	Name        string
	Kind        SecretKind
	Access      SecretAccess
	Description string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// SecretValues are values by name. Printing or encoding them in any way shows only
// their number: to pass them on, name each.
type SecretValues map[string]string

// Format writes how many there are, whatever the verb.
func (v SecretValues) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "[%d secrets]", len(v)) }

// MarshalText keeps the values out of JSON and YAML.
func (v SecretValues) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "[%d secrets]", len(v)), nil
}

// SecretText is one value. Printing or encoding it in any way does not show it: to pass
// it on, convert it.
type SecretText string

// Format writes only that there is a value, whatever the verb.
func (v SecretText) Format(f fmt.State, _ rune) {
	if v != "" {
		_, _ = fmt.Fprint(f, "[secret]")
	}
}

// MarshalText keeps the value out of JSON and YAML.
func (v SecretText) MarshalText() ([]byte, error) { return fmt.Append(nil, v), nil }

// Validate checks the name, access and description.
func (s Secret) Validate() error {
	if !ValidSecretName(s.Name) {
		return Invalid("name", "must be a capital letter, then up to %d capital letters, digits and '_'", maxSecretName-1)
	}
	// Webhook credentials never become variables: their names are free.
	if s.Kind != SecretWebhook && reservedVariable(s.Name) {
		return Invalid("name", "%s has a special meaning in an agent's environment; choose another name", s.Name)
	}
	if s.Access != AccessGranted && s.Access != AccessRuns {
		return Invalid("access", "%q is not one of granted, runs", Clip(string(s.Access), 40))
	}
	if utf8.RuneCountInString(s.Description) > MaxDescriptionRunes {
		return Invalid("description", "longer than %d characters", MaxDescriptionRunes)
	}
	return checkText("description", s.Description)
}

// ValidSecretName says whether a name has the form [A-Z][A-Z0-9_]{0,127}.
func ValidSecretName(name string) bool {
	if name == "" || len(name) > maxSecretName || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	return !slices.ContainsFunc([]byte(name), func(c byte) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' })
}

// reservedVariable says whether a run's secret of this name would replace a variable
// that the server sets or that makes shells and loaders run other code.
func reservedVariable(name string) bool {
	for _, prefix := range []string{"LINESHAFT_", "LC_", "LD_", "DYLD_", "BASH_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "HOME", "LANG", "TRACEPARENT", "TRACESTATE", "LANGUAGE", "SHELL", "USER", "LOGNAME", "PWD", "OLDPWD", "TMPDIR", "TERM", "TZ",
		"IFS", "ENV", "CDPATH", "PS4", "SHELLOPTS", "BASHOPTS", "GCONV_PATH", "LOCPATH", "NLSPATH",
		"NODE_OPTIONS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS",
	}, name)
}

// CheckSecretValue checks a value without ever quoting it: it must fit into a variable
// of an agent's environment.
func CheckSecretValue(value string) error {
	switch {
	case value == "":
		return Invalid("value", "a secret cannot be empty; delete it instead")
	case len(value) > MaxSecretBytes:
		return Invalid("value", "has %d bytes; at most %d are allowed", len(value), MaxSecretBytes)
	}
	return checkText("value", value)
}
