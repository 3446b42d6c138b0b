package web

import (
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// secretsPerPage is how many secrets a page of the list has.
const secretsPerPage = 100

func (s *server) secretRoutes() []route {
	const needs = lineshaft.PermissionSecrets
	return []route{
		{"GET /secrets", needs, s.secretsPage},
		{"GET /secrets/new", needs, s.newSecretPage},
		{"POST /secrets", needs, s.createSecret},
		{"GET /secrets/{name}", needs, s.secretPage},
		{"POST /secrets/{name}", needs, s.describeSecret},
		{"POST /secrets/{name}/value", needs, s.replaceSecret},
		{"GET /secrets/{name}/delete", needs, s.askDeleteSecret},
		{"POST /secrets/{name}/delete", needs, s.deleteSecret},
	}
}

type secretsData struct {
	Secrets     []lineshaft.Secret
	Next, First string
}

func (s *server) secretsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.ListSecrets(r.Context(), c, secretsPerPage, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	data := secretsData{Secrets: found.Items, Next: pageAddress(r, found.Next), First: firstAddress(r)}
	return s.render(w, r, c, "secrets", page{Title: "Secrets", Section: "secrets", Data: data})
}

// secretData is a secret without its value, which no page ever has: a form that is
// shown again asks for it anew.
type secretData struct {
	// New says that it is not stored yet.
	New    bool
	Secret lineshaft.Secret
	Uses   secrets.Uses
	// Owned says that a webhook keeps this credential, which is changed there.
	Owned bool
}

func newSecretForm(secret lineshaft.Secret) page {
	data := secretData{New: true, Secret: secret}
	return page{Title: "New secret", Section: "secrets", Crumbs: []crumb{{"Secrets", "/secrets"}}, Data: data}
}

func (s *server) newSecretPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.render(w, r, c, "secret", newSecretForm(lineshaft.Secret{Name: r.URL.Query().Get("name"), Access: lineshaft.AccessGranted}))
}

func (s *server) createSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	secret := lineshaft.Secret{
		Name: strings.TrimSpace(r.PostFormValue("name")), Description: r.PostFormValue("description"),
		Access: lineshaft.SecretAccess(r.PostFormValue("access")),
	}
	value, err := secretValue(r)
	if err == nil {
		_, err = s.Control.CreateSecret(r.Context(), c, secret, value)
	}
	if err != nil {
		return s.renderAgain(w, r, c, "secret", newSecretForm(secret), err)
	}
	return s.done(w, r, under("secrets", secret.Name), "The secret is stored. Its value cannot be read again.")
}

// secretValue takes the value from the field for one line or the one for several,
// whose line ends browsers change.
func secretValue(r *http.Request) (string, error) {
	value, lines := r.PostFormValue("value"), formText(r.PostFormValue("lines"))
	if value != "" && lines != "" {
		return "", lineshaft.Invalid("value", "fill in one of the two fields for the value")
	}
	return value + lines, nil
}

func (s *server) secretPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	p, err := s.secretForm(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "secret", p)
}

func (s *server) secretForm(r *http.Request, c lineshaft.Caller) (page, error) {
	secret, err := s.Control.GetSecret(r.Context(), c, r.PathValue("name"))
	if err != nil {
		return page{}, err
	}
	uses, err := s.Control.SecretUses(r.Context(), c, secret.Name)
	if err != nil {
		return page{}, err
	}
	data := secretData{Secret: secret, Uses: uses, Owned: secret.Kind == lineshaft.SecretWebhook && uses.Any()}
	return page{Title: secret.Name, Section: "secrets", Crumbs: []crumb{{"Secrets", "/secrets"}}, Data: data}, nil
}

func (s *server) describeSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	description, access := r.PostFormValue("description"), lineshaft.SecretAccess(r.PostFormValue("access"))
	return s.changeSecret(w, r, c, secrets.SecretChange{Description: &description, Access: &access}, "The secret is changed.")
}

func (s *server) replaceSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	value, err := secretValue(r)
	if err != nil {
		return s.secretAgain(w, r, c, secrets.SecretChange{}, err)
	}
	return s.changeSecret(w, r, c, secrets.SecretChange{Value: &value}, "The value is replaced. Runs get it with their next execution.")
}

func (s *server) changeSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, change secrets.SecretChange, notice string) error {
	name := r.PathValue("name")
	if _, err := s.Control.UpdateSecret(r.Context(), c, name, change); err != nil {
		return s.secretAgain(w, r, c, change, err)
	}
	return s.done(w, r, under("secrets", name), notice)
}

// secretAgain shows a secret with what was written of it, but for the value.
func (s *server) secretAgain(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, change secrets.SecretChange, wrong error) error {
	p, err := s.secretForm(r, c)
	if err != nil {
		return err
	}
	if data, ok := p.Data.(secretData); ok && change.Description != nil {
		data.Secret.Description, data.Secret.Access = *change.Description, *change.Access
		p.Data = data
	}
	return s.renderAgain(w, r, c, "secret", p, wrong)
}

func (s *server) askDeleteSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.questionSecret(w, r, c, nil)
}

func (s *server) questionSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, wrong error) error {
	secret, err := s.Control.GetSecret(r.Context(), c, r.PathValue("name"))
	if err != nil {
		return err
	}
	uses, err := s.Control.SecretUses(r.Context(), c, secret.Name)
	if err != nil {
		return err
	}
	back := under("secrets", secret.Name)
	return s.askRemoval(w, r, c, "secrets", []crumb{{"Secrets", "/secrets"}, {secret.Name, back}}, removal{
		Kind: "secret", Name: secret.Name, Verb: "Delete", Uses: uses, Action: back + "/delete", Back: back,
		Effects: []string{
			"No factory, agent, automation, environment or webhook names it.",
			"The value is gone for good. A run that still asks for it fails and says which secret is missing.",
		},
	}, wrong)
}

func (s *server) deleteSecret(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	name := r.PathValue("name")
	if err := s.Control.DeleteSecret(r.Context(), c, name); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			return s.questionSecret(w, r, c, err)
		}
		return err
	}
	return s.done(w, r, "/secrets", "The secret "+name+" is deleted.")
}
