package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// hooks makes a factory and returns the path of its webhooks.
func (b *bench) hooks() string {
	b.Helper()
	f, err := b.control.CreateFactory(b.Context(), b.admin(), factories.NewFactory{Name: "works"})
	if err != nil {
		b.Fatal(err)
	}
	return Prefix + "/factory/" + f.UID + "/webhooks"
}

func (b *bench) createHook(path, body string) IssuedWebhook {
	b.Helper()
	return decode[IssuedWebhook](b.T, b.check(b.T, scenario{name: body, method: post, path: path, as: lineshaft.RoleManager, body: body, status: 201}))
}

func TestW3WebhookLife(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.hooks()
	created := b.check(t, scenario{method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"ci"}`, status: 201})
	made := decode[IssuedWebhook](t, created)
	if made.IngressURL != testBase+"/webhooks/w/"+made.UID || len(made.Secret) != 43 || created.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s", created.Body)
	}
	for _, field := range []string{
		`"auth_mode":"token"`, `"secret_name":"CI_WEBHOOK_SECRET"`, `"enabled":true`, `"needs_secret":false`, `"rate_limit":60`, `"max_body_bytes":262144`, `"replay_guard":false`,
	} {
		if !strings.Contains(created.Body.String(), field) {
			t.Errorf("%s is not in %s", field, created.Body)
		}
	}
	one := path + "/" + made.UID
	b.play(t, []scenario{
		{name: "read", method: get, path: one, as: lineshaft.RoleViewer, status: 200, has: []string{`"name":"ci"`}, not: []string{made.Secret, `"secret":`}},
		{name: "list", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`{"webhooks":[{`, `"page_info":{"has_next_page":false}`}, not: []string{made.Secret}},
		{name: "name taken", method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"ci"}`, status: 409, code: "conflict", has: []string{`"retryable":false`}},
		{name: "change", method: patch, path: one, as: lineshaft.RoleManager, body: `{"enabled":false,"rate_limit":0,"delivery_id_header":"X-Id"}`, status: 200, has: []string{`"enabled":false`, `"rate_limit":0`, `"delivery_id_header":"X-Id"`}, not: []string{made.Secret}},
		{name: "nothing", method: patch, path: one, as: lineshaft.RoleManager, body: `{"name":"ci","auth_mode":"token","unknown":1}`, status: 200, has: []string{`"rate_limit":0`}},
		{name: "rename", method: patch, path: one, as: lineshaft.RoleManager, body: `{"name":"other"}`, status: 422, code: "operation_not_supported", has: []string{"second webhook"}},
		{name: "mode", method: patch, path: one, as: lineshaft.RoleManager, body: `{"auth_mode":"url_token"}`, status: 422, code: "operation_not_supported"},
		{name: "scheme", method: patch, path: one, as: lineshaft.RoleManager, body: `{"signature_scheme":"github"}`, status: 422, code: "operation_not_supported"},
		{name: "secret", method: patch, path: one, as: lineshaft.RoleManager, body: `{"secret":"` + made.Secret + `"}`, status: 400, code: "invalid_request", has: []string{"rotate"}},
		{name: "overlap", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"overlap_seconds":259201}`, status: 400, code: "invalid_request", has: []string{"overlap_seconds"}},
		{name: "negative overlap", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"overlap_seconds":-1}`, status: 400, code: "invalid_request"},
	})
	for _, body := range []string{``, `{}`, `{"overlap_seconds":259200}`} {
		rotated := decode[IssuedWebhook](t, b.check(t, scenario{name: "rotate " + body, method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: body, status: 200}))
		if len(rotated.Secret) != 43 || rotated.Secret == made.Secret || rotated.UID != made.UID || (rotated.OldSecretUntil != "") != strings.Contains(body, "overlap") {
			t.Errorf("%+v", rotated)
		}
		read := decode[Webhook](t, b.check(t, scenario{name: "after " + body, method: get, path: one, as: lineshaft.RoleViewer, status: 200}))
		if read.OldSecretUntil != rotated.OldSecretUntil {
			t.Errorf("reads %q, was told %q", read.OldSecretUntil, rotated.OldSecretUntil)
		}
	}
	b.play(t, []scenario{
		{name: "delete", method: del, path: one, as: lineshaft.RoleManager, status: 204},
		{name: "gone", method: get, path: one, as: lineshaft.RoleManager, status: 404, code: "resource_not_found"},
		{name: "empty list", method: get, path: path, as: lineshaft.RoleManager, status: 200, has: []string{`{"webhooks":[],"page_info":{"has_next_page":false}}`}},
		{name: "audit", method: get, path: "/audit?limit=50", as: lineshaft.RoleAdmin, status: 200, has: []string{"webhook.create", "webhook.rotate", "webhook.disable", "webhook.delete"}, not: []string{made.Secret}},
	})
	if strings.Contains(b.log.String(), made.Secret) {
		t.Error("the log tells the secret")
	}
}

// The token is in the URL of the answer that shows it, and a placeholder after.
func TestW3URLOfAURLToken(t *testing.T) {
	t.Parallel()
	b := newServer(t, func(d *Deps) { d.WebhookBaseURL = "https://in.test/" })
	path := b.hooks()
	made := b.createHook(path, `{"name":"u","auth_mode":"url_token"}`)
	base := "https://in.test/webhooks/w/" + made.UID
	if made.IngressURL != base+"/"+made.Secret || made.Secret == "" {
		t.Errorf("%+v", made)
	}
	one := path + "/" + made.UID
	b.check(t, scenario{method: get, path: one, as: lineshaft.RoleViewer, status: 200, has: []string{`"ingress_url":"` + base + `/{token}"`}, not: []string{made.Secret}})
	rotated := decode[IssuedWebhook](t, b.check(t, scenario{method: post, path: one + "/rotate", as: lineshaft.RoleManager, status: 200}))
	if rotated.IngressURL != base+"/"+rotated.Secret || rotated.Secret == made.Secret {
		t.Errorf("%+v", rotated)
	}
	given := `0123456789abcdefghijklmnopqrstuv`
	b.check(t, scenario{method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"secret":"` + given + `"}`, status: 200, has: []string{base + "/{token}"}, not: []string{given, `"secret":`}})
	b.check(t, scenario{method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"v","auth_mode":"url_token","secret":"` + given + `"}`, status: 201, has: []string{"/{token}"}, not: []string{given, `"secret":`}})
	b.check(t, scenario{method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"w","auth_mode":"url_token","secret":"` + given + `/.."}`, status: 400, code: "invalid_request", has: []string{"secret"}, not: []string{given}})
}

func TestW4SchemesOverTheWire(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.hooks()
	for _, scheme := range factories.SignatureSchemes()[:20] {
		body, _ := json.Marshal(map[string]any{"name": scheme, "auth_mode": "signature", "signature_scheme": scheme})
		if scheme == "hmac" {
			body = []byte(`{"name":"hmac","auth_mode":"signature","signature_scheme":"hmac","hmac":{"header":"X-Sig","prefix":"sha256=","template":"{timestamp}.{body}","timestamp_header":"X-Time"}}`)
		}
		made := b.createHook(path, string(body))
		if string(made.SignatureScheme) != scheme || made.NeedsSecret != (made.Secret == "") || made.NeedsSecret == made.Enabled || (made.HMAC != nil) != (scheme == "hmac") {
			t.Errorf("%+v", made)
		}
	}
	b.check(t, scenario{name: "the 21st", method: post, path: path, as: lineshaft.RoleManager, body: `{"name":"x"}`, status: 409, code: "conflict", has: []string{"20 webhooks"}})
	path = b.hooks()
	made := b.createHook(path, `{"name":"pay","auth_mode":"signature","signature_scheme":"stripe"}`)
	one := path + "/" + made.UID
	b.play(t, []scenario{
		{name: "enable too early", method: patch, path: one, as: lineshaft.RoleManager, body: `{"enabled":true}`, status: 409, code: "conflict", has: []string{"rotate"}},
		{name: "rotate without", method: post, path: one + "/rotate", as: lineshaft.RoleManager, status: 400, code: "invalid_request", has: []string{"provider"}},
		{name: "second step", method: post, path: one + "/rotate", as: lineshaft.RoleManager, body: `{"secret":"whsec_given"}`, status: 200, has: []string{`"enabled":true`, `"needs_secret":false`}, not: []string{"whsec_given"}},
	})
}

func TestW1BadWebhookRequests(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.hooks()
	for _, body := range []string{
		``, `{}`, `{"name":""}`, `{"name":5}`, `{"name":"a/b"}`, `{"name":"🪝"}`, `{"name":"n","auth_mode":"basic"}`, `{"name":"n","auth_mode":"signature"}`,
		`{"name":"n","signature_scheme":"github"}`, `{"name":"n","auth_mode":"signature","signature_scheme":"nobody"}`, `{"name":"n","secret":""}`, `{"name":"n","secret":5}`,
		`{"name":"n","secret":"short"}`, `{"name":"n","secret_name":"lower"}`, `{"name":"n","rate_limit":-1}`, `{"name":"n","rate_limit":1.5}`, `{"name":"n","max_body_bytes":0}`,
		`{"name":"n","max_body_bytes":1048577}`, `{"name":"n","delivery_id_header":"authorization"}`, `{"name":"n","delivery_id_header":"a b"}`, `{"name":"n","hmac":{"header":"X"}}`,
		`{"name":"n","auth_mode":"signature","signature_scheme":"hmac"}`, `{"name":"n","enabled":"yes"}`, `[]`, `{"name":"n"`,
	} {
		b.check(t, scenario{name: body, method: post, path: path, as: lineshaft.RoleManager, body: body, status: 400, code: "invalid_request"})
	}
	b.play(t, []scenario{
		{name: "nothing was made", method: get, path: path, as: lineshaft.RoleViewer, status: 200, has: []string{`"webhooks":[]`}},
		{name: "no factory", method: post, path: Prefix + "/factory/nowhere/webhooks", as: lineshaft.RoleManager, body: `{"name":"n"}`, status: 404, code: "resource_not_found"},
		{name: "no webhook", method: get, path: path + "/nobody", as: lineshaft.RoleViewer, status: 404, code: "resource_not_found"},
	})
}

func TestS3WhoMayManageWebhooks(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	path := b.hooks()
	made := b.createHook(path, `{"name":"ci"}`)
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleWorker, lineshaft.RoleRun} {
		for _, sc := range []scenario{
			{method: post, path: path, body: `{"name":"x"}`},
			{method: patch, path: path + "/" + made.UID, body: `{"enabled":false}`},
			{method: post, path: path + "/" + made.UID + "/rotate"},
			{method: del, path: path + "/" + made.UID},
		} {
			sc.as, sc.status, sc.code = role, 403, "not_authorized"
			b.check(t, sc)
		}
	}
	// A key for another factory sees nothing here.
	_, key, err := b.control.CreateAPIKey(t.Context(), b.admin(), access.NewAPIKey{Name: "other", Role: lineshaft.RoleManager, FactoryUIDs: []string{b.elsewhere()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range []scenario{
		{method: get, path: path},
		{method: get, path: path + "/" + made.UID},
		{method: post, path: path, body: `{"name":"x"}`},
		{method: patch, path: path + "/" + made.UID, body: `{}`},
		{method: post, path: path + "/" + made.UID + "/rotate"},
		{method: del, path: path + "/" + made.UID},
	} {
		sc.header, sc.status, sc.code = map[string]string{"Authorization": "Bearer " + key}, 404, "resource_not_found"
		b.check(t, sc)
	}
}
