package hooks

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/signature"
)

// Those who choose among the kinds find every mode and scheme, once.
func TestW4EveryKindIsOffered(t *testing.T) {
	t.Parallel()
	kinds := WebhookKinds()
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.Name] || k.Title == "" || k.SecretFirst && (!k.Issued || k.Handshake == "") {
			t.Errorf("kind %+v", k)
		}
		seen[k.Name] = true
		if got := kindOf(lineshaft.Webhook{AuthMode: k.AuthMode, SignatureScheme: k.Scheme}); got != k {
			t.Errorf("the kind of %s is %+v", k.Name, got)
		}
	}
	for _, name := range append(signature.Names(), "token", "url_token") {
		if !seen[name] {
			t.Errorf("%s is not offered", name)
		}
	}
	for _, first := range []string{"discord", "dropbox", "slack", "zoom"} {
		if !slices.ContainsFunc(kinds, func(k WebhookKind) bool { return k.Name == first && k.SecretFirst }) {
			t.Errorf("%s wants its answer at once", first)
		}
	}
	if got := kindOf(lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "gone"}); got.Title != "gone" {
		t.Errorf("an unknown scheme is %+v", got)
	}
}

func TestW3TrialOfTokens(t *testing.T) {
	t.Parallel()
	const url, secret = "http://127.0.0.1:1/webhooks/w/x", "it's-$secret"
	script := func(trial webhookTrial) string {
		t.Helper()
		trial.URL, trial.Secret = url, secret
		text, err := trial.Script()
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(text, "$secret'"); told != trial.Told {
			t.Errorf("secret told %v, want %v:\n%s", told, trial.Told, text)
		}
		return text
	}
	for _, mode := range lineshaft.AuthModes() {
		for _, told := range []bool{true, false} {
			text := script(webhookTrial{Webhook: lineshaft.Webhook{AuthMode: mode, SignatureScheme: "github"}, Told: told})
			// A shell reads it; curl is replaced by one that shows its arguments.
			out, err := exec.CommandContext(t.Context(), "bash", "-euc", `curl() { printf '%s\n' "$@"; }; `+text).CombinedOutput()
			if err != nil || !strings.Contains(string(out), url) {
				t.Errorf("%s: %v\n%s", mode, err, out)
			}
			if mode == lineshaft.AuthToken && told && !strings.Contains(string(out), "Authorization: Bearer "+secret+"\n") {
				t.Errorf("header:\n%s", out)
			}
		}
	}
	if text, err := (webhookTrial{Webhook: lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "discord"}}).Script(); err != nil || text != "" {
		t.Errorf("discord: %q, %v", text, err)
	}
	if _, err := (webhookTrial{Webhook: lineshaft.Webhook{AuthMode: lineshaft.AuthSignature, SignatureScheme: "gone"}}).Script(); err == nil {
		t.Error("an unknown scheme has a script")
	}
}

func TestEveryKindHasAGuide(t *testing.T) {
	t.Parallel()
	for _, kind := range WebhookKinds() {
		if hookGuide(kind.Name) == "" || kind.Open() && kindWords(kind.Name) == "" {
			t.Errorf("%s: nobody says where to enter it", kind.Name)
		}
	}
}
