package lineshaft

import (
	"slices"
	"strings"
)

// HarnessAuth says whose key the model of an agent is called with. The key never
// reaches the agent: the worker's gateway adds it. The zero value undoes what a wider
// layer says.
type HarnessAuth struct {
	// Source is AuthManagedSecret or AuthWorkerEnvironment.
	Source string `json:"source,omitempty"`
	// SecretName is the managed secret that holds the key, with AuthManagedSecret only.
	SecretName string `json:"secret_name,omitempty"`
}

// The sources of a model's key.
const (
	// AuthManagedSecret takes it from a managed secret.
	AuthManagedSecret = "managedSecret"
	// AuthWorkerEnvironment takes it from the environment of a self-hosted worker.
	AuthWorkerEnvironment = "workerEnvironment"
)

// AuthSources lists the sources.
func AuthSources() []string { return []string{AuthManagedSecret, AuthWorkerEnvironment} }

// ReasoningDefault undoes the reasoning level of a wider layer: the agent's own counts.
const ReasoningDefault = "default"

// KeyedHarnesses are the agents that can be given a key of their own, because the vendor
// that the key belongs to is known.
func KeyedHarnesses() []string { return []string{"claude", "codex", "gemini"} }

// validateAuth checks what one layer says; what the layers say together is for CheckAuth.
func (h HarnessConfig) validateAuth(field string) error {
	if h.Auth == nil || *h.Auth == (HarnessAuth{}) {
		return nil
	}
	if h.Type != "" && !slices.Contains(KeyedHarnesses(), h.Type) {
		return Invalid(field+".auth", "%s does not take its own key; leave auth out, or choose one of %s", Clip(h.Type, 40), strings.Join(KeyedHarnesses(), ", "))
	}
	switch a := h.Auth; a.Source {
	case AuthManagedSecret:
		if !ValidSecretName(a.SecretName) {
			return Invalid(field+".auth.secret_name", "%q is not the name of a secret: a capital letter, then capital letters, digits and '_'", Clip(a.SecretName, 40))
		}
	case AuthWorkerEnvironment:
		if a.SecretName != "" {
			return Invalid(field+".auth.secret_name", "is only for source %s; leave it out", AuthManagedSecret)
		}
	default:
		return Invalid(field+".auth.source", "%q is neither %s nor %s", Clip(a.Source, 40), AuthManagedSecret, AuthWorkerEnvironment)
	}
	return nil
}

// CheckAuth says whether the layers together can have the key that they ask for.
func (c AgentConfig) CheckAuth() error {
	if c.Harness == nil || c.Harness.Auth == nil {
		return nil
	}
	if !slices.Contains(KeyedHarnesses(), c.Harness.Type) {
		return Invalid("config.harness.auth", "is only for the agents %s; name one of them in harness.type, or leave auth out", strings.Join(KeyedHarnesses(), ", "))
	}
	if c.Harness.Auth.Source == AuthWorkerEnvironment && (c.WorkerHost == "" || c.WorkerHost == HostedWorker) {
		return Invalid("config.harness.auth.source", "%s takes the key of a self-hosted worker, and these runs go to the server's own; name a worker in worker_host, or use %s",
			AuthWorkerEnvironment, AuthManagedSecret)
	}
	return nil
}

// AuthOrigin is where the origins of a configuration show which layer chose the key; if
// it is missing, that of the harness did.
const AuthOrigin = "harness.auth"

// AuthSecret is the managed secret that the model's key is in; empty is none.
func (c AgentConfig) AuthSecret() string {
	if c.Harness == nil || c.Harness.Auth == nil {
		return ""
	}
	return c.Harness.Auth.SecretName
}
