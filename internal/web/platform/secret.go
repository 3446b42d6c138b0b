package platform

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// secretsPerPage is how many secrets a page of the list has.
const secretsPerPage = 100

func (s pages) secretRoutes() []page.Route {
	const needs = lineshaft.PermissionSecrets
	return append([]page.Route{
		page.Get("/secrets", needs, page.Show("secrets", s.secretsPage)),
		page.Get("/secrets/new", needs, s.newSecretPage),
		page.Post("/secrets", needs, s.createSecret),
		page.Get("/secrets/{name}", needs, page.Show("secret", s.secretForm)),
		page.Post("/secrets/{name}", needs, s.describeSecret),
		page.Post("/secrets/{name}/value", needs, s.replaceSecret),
	}, page.Removing("/secrets/{name}/delete", needs, s.askDeleteSecret, func(r *page.Request, id string) error {
		return s.Control.DeleteSecret(r.Context(), r.Caller, id)
	})...)
}

type secretsData struct {
	page.Pager

	// OfWebhooks says that the list has the credentials of webhooks, and no others.
	OfWebhooks bool
	Secrets    []lineshaft.Secret
}

func (s pages) secretsPage(r *page.Request) (p page.Page, err error) {
	kind := lineshaft.SecretManaged
	if r.URL.Query().Get("kind") == string(lineshaft.SecretWebhook) {
		kind = lineshaft.SecretWebhook
	}
	found, err := s.Control.ListSecrets(r.Context(), r.Caller, kind, secretsPerPage, r.Cursor())
	return page.Of("secrets", secretsData{r.Pager(found.Next), kind == lineshaft.SecretWebhook, found.Items}), err
}

// secretData is a secret without its value, which no page ever has: a form that is
// shown again also asks for the value again.
type secretData struct {
	// New says that it is not stored yet.
	New    bool
	Secret lineshaft.Secret
	Uses   secrets.Uses
	// Owned says that a webhook keeps this credential, which is changed there.
	Owned bool
}

func newSecretForm(secret lineshaft.Secret) page.Page {
	return page.Below("secrets", "New secret", secretData{New: true, Secret: secret})
}

func (s pages) newSecretPage(r *page.Request) error {
	return r.Render("secret", newSecretForm(lineshaft.Secret{Name: r.URL.Query().Get("name"), Access: lineshaft.AccessGranted}))
}

func (s pages) createSecret(r *page.Request) error {
	secret := lineshaft.Secret{
		Name: r.Text("name"), Description: r.PostFormValue("description"),
		Access: lineshaft.SecretAccess(r.PostFormValue("access")),
	}
	value, err := secretValue(r)
	if err == nil {
		_, err = s.Control.CreateSecret(r.Context(), r.Caller, secret, value)
	}
	if err != nil {
		return r.Again("secret", newSecretForm(secret), err)
	}
	return r.Done(page.Under("secrets", secret.Name), "The secret is stored. Its value cannot be read again.")
}

// secretValue takes the value from the one-line field or from the field for several lines,
// whose line ends browsers change.
func secretValue(r *page.Request) (string, error) {
	value, lines := r.PostFormValue("value"), page.FormText(r.PostFormValue("lines"))
	if value != "" && lines != "" {
		return "", lineshaft.Invalid("value", "fill in one of the two fields for the value")
	}
	return value + lines, nil
}

func (s pages) usedSecret(r *page.Request) (lineshaft.Secret, secrets.Uses, error) {
	secret, err := s.Control.GetSecret(r.Context(), r.Caller, r.PathValue("name"))
	if err != nil {
		return secret, secrets.Uses{}, err
	}
	uses, err := s.Control.SecretUses(r.Context(), r.Caller, secret.Name)
	return secret, uses, err
}

func (s pages) secretForm(r *page.Request) (page.Page, error) {
	secret, uses, err := s.usedSecret(r)
	data := secretData{Secret: secret, Uses: uses, Owned: secret.Kind == lineshaft.SecretWebhook && uses.Any()}
	return page.Below("secrets", secret.Name, data), err
}

func (s pages) describeSecret(r *page.Request) error {
	description, access := r.PostFormValue("description"), lineshaft.SecretAccess(r.PostFormValue("access"))
	return s.changeSecret(r, secrets.SecretChange{Description: &description, Access: &access}, "The secret is changed.")
}

func (s pages) replaceSecret(r *page.Request) error {
	value, err := secretValue(r)
	if err != nil {
		return s.secretAgain(r, secrets.SecretChange{}, err)
	}
	return s.changeSecret(r, secrets.SecretChange{Value: &value}, "The value is replaced. Runs get it with their next execution.")
}

func (s pages) changeSecret(r *page.Request, change secrets.SecretChange, notice string) error {
	name := r.PathValue("name")
	if _, err := s.Control.UpdateSecret(r.Context(), r.Caller, name, change); err != nil {
		return s.secretAgain(r, change, err)
	}
	return r.Done(page.Under("secrets", name), notice)
}

// secretAgain shows a secret with what was written of it, but for the value.
func (s pages) secretAgain(r *page.Request, change secrets.SecretChange, wrong error) error {
	p, err := s.secretForm(r)
	if err != nil {
		return err
	}
	if data, ok := p.Data.(secretData); ok && change.Description != nil {
		data.Secret.Description, data.Secret.Access = *change.Description, *change.Access
		p.Data = data
	}
	return r.Again("secret", p, wrong)
}

func (s pages) askDeleteSecret(r *page.Request) (page.Removal, error) {
	secret, uses, err := s.usedSecret(r)
	at := page.Under("secrets", secret.Name)
	return page.Removal{
		Section: "secrets", Crumbs: page.Way("secrets").To(secret.Name, at), Kind: "secret", Name: secret.Name, Verb: "Delete", Uses: uses, Back: at,
		ID: secret.Name, Done: "The secret " + secret.Name + " is deleted.",
		Effects: []string{
			"No factory, agent, automation, schedule, environment or webhook names it.",
			"The value is gone for good. A run that still asks for it fails and says which secret is missing.",
		},
	}, err
}
