package web

import (
	"errors"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// webhookKind is one way in which a sender may prove who it is, for those who choose
// among all of them.
type webhookKind struct {
	// Name is the scheme's, or the mode's where there is none.
	Name     string
	Title    string
	AuthMode lineshaft.AuthMode
	Scheme   string
	// Issued says that the provider makes the secret: it may come later.
	Issued bool
	// SecretFirst says that the provider asks the URL for an answer at once, so that it
	// is entered there last.
	SecretFirst bool
	// Handshake says in words which request of the provider starts nothing.
	Handshake string
}

// webhookKinds lists the ways: first those that any sender can take, then providers
// by title.
func webhookKinds() []webhookKind {
	kinds := []webhookKind{
		{Name: string(lineshaft.AuthToken), Title: "Bearer token", AuthMode: lineshaft.AuthToken},
		{Name: string(lineshaft.AuthURLToken), Title: "Token in the URL", AuthMode: lineshaft.AuthURLToken},
	}
	var providers []webhookKind
	for _, s := range signature.Schemes() {
		kind := webhookKind{
			Name: s.Name, Title: s.Title, AuthMode: lineshaft.AuthSignature, Scheme: s.Name, Handshake: s.Handshake,
			Issued: s.SecretFrom == signature.Issued, SecretFirst: s.SecretFrom == signature.Issued && s.Handshake != "",
		}
		if kind.Open() {
			kinds = append(kinds, kind)
		} else {
			providers = append(providers, kind)
		}
	}
	slices.SortFunc(providers, func(a, b webhookKind) int {
		return strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
	})
	return append(kinds, providers...)
}

// Open says that the kind is not one provider's: any sender may use it.
func (k webhookKind) Open() bool {
	return k.Scheme == "" || k.Scheme == "hmac" || k.Scheme == "standard_webhooks"
}

// kindOf finds the kind of a webhook.
func kindOf(w lineshaft.Webhook) webhookKind {
	for _, kind := range webhookKinds() {
		if kind.AuthMode == w.AuthMode && kind.Scheme == w.SignatureScheme {
			return kind
		}
	}
	return webhookKind{Name: string(w.AuthMode), Title: w.SignatureScheme, AuthMode: w.AuthMode, Scheme: w.SignatureScheme}
}

// webhookTrial is what somebody needs to send a first delivery by hand.
type webhookTrial struct {
	Webhook lineshaft.Webhook
	// URL is where deliveries go, without a token.
	URL string
	// Secret is the webhook's if the asker knows it; Told puts it into the script.
	Secret string
	Told   bool
}

// Event is the event that the script sends, as the provider calls it; empty for none.
func (t webhookTrial) Event() string { return signature.TrialEvent(t.Webhook.SignatureScheme) }

// Script returns lines for a shell that sign and send a delivery; empty where only the
// provider can sign.
func (t webhookTrial) Script() (string, error) {
	secret := signature.SecretPlace
	if t.Told {
		secret = t.Secret
	}
	body := "\n" + `body="{\"id\":\"$(openssl rand -hex 8)\",\"message\":\"hello\"}"` + "\n"
	switch t.Webhook.AuthMode {
	case lineshaft.AuthToken:
		return "url=" + signature.ShellWord(t.URL) + "\nsecret=" + signature.ShellWord(secret) + body +
			signature.ShellPost([]string{`"Authorization: Bearer $secret"`, "'Content-Type: application/json'"}), nil
	case lineshaft.AuthURLToken:
		return "url=" + signature.ShellWord(t.URL+"/"+secret) + body + signature.ShellPost([]string{"'Content-Type: application/json'"}), nil
	case lineshaft.AuthSignature:
	}
	script, err := signature.Trial{
		Scheme: t.Webhook.SignatureScheme, Settings: signature.HMAC(t.Webhook.HMAC), URL: t.URL, Secret: t.Secret, Told: t.Told,
	}.Script()
	if errors.Is(err, signature.ErrNoTrial) {
		return "", nil
	}
	return script, err
}
