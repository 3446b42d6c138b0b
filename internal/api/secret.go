package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	controlsecrets "github.com/lineshaft/lineshaft/internal/control/secrets"
)

// SecretAccess says which runs may use a secret.
type SecretAccess string

// Schema implements huma.SchemaProvider.
func (SecretAccess) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Enum: []any{string(lineshaft.AccessGranted), string(lineshaft.AccessRuns)},
		Description: "granted: only runs whose factory, agent or automation names it; runs: anyone who may start a run may name it.",
	}
}

// SecretValue is a value on its way in. It is never answered.
type SecretValue string

// Schema implements huma.SchemaProvider.
func (SecretValue) Schema(huma.Registry) *huma.Schema {
	least, most := 1, lineshaft.MaxSecretBytes
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &least, MaxLength: &most, WriteOnly: true,
		Description: "Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read again.",
	}
}

// Secret is a managed secret as the list shows it: never its value.
type Secret struct {
	Name        string       `json:"name"`
	Kind        string       `json:"kind" enum:"managed,webhook" doc:"webhook: the credential of a webhook, which no run gets."`
	Access      SecretAccess `json:"access"`
	Description string       `json:"description,omitempty"`
	CreatedAt   string       `json:"created_at" format:"date-time"`
	UpdatedAt   string       `json:"updated_at" format:"date-time"`
}

// CreateSecretRequest stores a secret.
type CreateSecretRequest struct {
	Name        string       `json:"name" minLength:"1" maxLength:"128" pattern:"^[A-Z][A-Z0-9_]*$" patternDescription:"a capital letter, then capital letters, digits and _" doc:"Also the name of the variable that a run gets."`
	Value       SecretValue  `json:"value"`
	Description string       `json:"description,omitempty" maxLength:"2000"`
	Access      SecretAccess `json:"access,omitempty"`
}

// UpdateSecretRequest changes a secret; what is absent stays.
type UpdateSecretRequest struct {
	Value       *SecretValue  `json:"value,omitempty"`
	Description *string       `json:"description,omitempty" maxLength:"2000"`
	Access      *SecretAccess `json:"access,omitempty"`
}

// ListSecretsResponse is a page of secrets, by name.
type ListSecretsResponse struct {
	Secrets  []Secret `json:"secrets"`
	PageInfo PageInfo `json:"page_info"`
}

type (
	secretInput struct {
		Name string `path:"name" maxLength:"128" doc:"The name of a secret."`
	}
	updateSecretInput struct {
		Name string `path:"name" maxLength:"128" doc:"The name of a secret."`
		Body UpdateSecretRequest
	}
)

func (s *server) createSecret(ctx context.Context, in *given[CreateSecretRequest]) (*answer[Secret], error) {
	return shown(at(wireSecret))(s.Control.CreateSecret(ctx, callerOf(ctx), lineshaft.Secret{
		Name: in.Body.Name, Description: in.Body.Description, Access: lineshaft.SecretAccess(in.Body.Access),
	}, string(in.Body.Value)))
}

func (s *server) updateSecret(ctx context.Context, in *updateSecretInput) (*answer[Secret], error) {
	return shown(at(wireSecret))(s.Control.UpdateSecret(ctx, callerOf(ctx), in.Name, controlsecrets.SecretChange{
		Value: (*string)(in.Body.Value), Description: in.Body.Description, Access: (*lineshaft.SecretAccess)(in.Body.Access),
	}))
}

func (s *server) getSecret(ctx context.Context, in *secretInput) (*answer[Secret], error) {
	return shown(at(wireSecret))(s.Control.GetSecret(ctx, callerOf(ctx), in.Name))
}

func (s *server) listSecrets(ctx context.Context, in *ListQuery) (*answer[ListSecretsResponse], error) {
	secrets, info, err := fillWith(wireSecret)(s.Control.ListSecrets(ctx, callerOf(ctx), "", in.Limit, in.Cursor))
	return reply(ListSecretsResponse{secrets, info}, err)
}

func (s *server) deleteSecret(ctx context.Context, in *secretInput) (*struct{}, error) {
	return nil, s.Control.DeleteSecret(ctx, callerOf(ctx), in.Name)
}

func wireSecret(s *lineshaft.Secret) Secret {
	return Secret{
		Name: s.Name, Kind: string(s.Kind), Access: SecretAccess(s.Access), Description: s.Description,
		CreatedAt: stamp(s.CreatedAt), UpdatedAt: stamp(s.UpdatedAt),
	}
}
