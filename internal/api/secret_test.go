package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

const hidden = "correct-horse-battery-staple"

func secretBody(name, value string) string {
	text, _ := json.Marshal(map[string]string{"name": name, "value": value})
	return string(text)
}

func TestS1SecretsOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	admin := lineshaft.RoleAdmin
	full := `{"name":"TRACKER_TOKEN","value":"` + hidden + `","description":"reads tickets","access":"runs"}`
	b.play(t, []scenario{
		{name: "empty", method: get, path: "/secrets", as: admin, status: 200, has: []string{`"secrets":[]`, `"page_info":`}},
		{name: "create", method: post, path: "/secrets", as: admin, body: full, status: 201, has: []string{`"kind":"managed"`, `"access":"runs"`, `"description":"reads tickets"`}},
		{name: "taken", method: post, path: "/secrets", as: admin, body: full, status: 409, code: "conflict", has: []string{"TRACKER_TOKEN", `"retryable":false`}},
		{name: "default access", method: post, path: "/secrets", as: admin, body: secretBody("OTHER", hidden), status: 201, has: []string{`"access":"granted"`}},
		{name: "get", method: get, path: "/secrets/TRACKER_TOKEN", as: admin, status: 200, has: []string{`"name":"TRACKER_TOKEN"`}},
		{name: "put", method: put, path: "/secrets/TRACKER_TOKEN", as: admin, body: `{"value":"` + hidden + `2"}`, status: 200, has: []string{`"access":"runs"`, `"description":"reads tickets"`}},
		{name: "put the rest", method: put, path: "/secrets/TRACKER_TOKEN", as: admin, body: `{"description":"","access":"granted"}`, status: 200, has: []string{`"access":"granted"`}, not: []string{"reads tickets"}},
		{name: "put nothing", method: put, path: "/secrets/TRACKER_TOKEN", as: admin, body: `{}`, status: 400, code: "invalid_request", has: []string{"nothing to change"}},
		{name: "put unknown", method: put, path: "/secrets/NOPE", as: admin, body: `{"value":"x"}`, status: 404, code: "resource_not_found"},
		{name: "page", method: get, path: "/secrets?limit=1", as: admin, status: 200, has: []string{`"OTHER"`, `"has_next_page":true`}},
		{name: "bad cursor", method: get, path: "/secrets?cursor=OTHER", as: admin, status: 400, code: "invalid_request"},
		{name: "delete", method: del, path: "/secrets/OTHER", as: admin, status: 204},
		{name: "delete again", method: del, path: "/secrets/OTHER", as: admin, status: 404, code: "resource_not_found"},
		{name: "get deleted", method: get, path: "/secrets/OTHER", as: admin, status: 404, code: "resource_not_found"},
		{name: "no name at all", method: get, path: "/secrets/%00%ff", as: admin, status: 404, code: "resource_not_found"},
	})
}

func TestS1BadSecretsAreRefusedWithoutTheirValue(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	bad := func(name, body, field string) scenario {
		return scenario{name: name, method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: body, status: 400, code: "invalid_request", has: []string{field}, not: []string{hidden}}
	}
	list := []scenario{
		bad("no value", `{"name":"A"}`, "value"),
		bad("empty value", secretBody("A", ""), "value"),
		bad("one byte too long", secretBody("A", hidden+strings.Repeat("x", lineshaft.MaxSecretBytes+1-len(hidden))), "value"),
		bad("long in bytes", secretBody("A", hidden+strings.Repeat("é", lineshaft.MaxSecretBytes/2)), "value"),
		bad("NUL", `{"name":"A","value":"`+hidden+`\u0000"}`, "U+0000"),
		bad("number", `{"name":"A","value":1234567890}`, "value"),
		bad("object", `{"name":"A","value":{"`+hidden+`":"`+hidden+`"}}`, "value"),
		bad("list", `{"name":"A","value":["`+hidden+`"]}`, "value"),
		bad("access", `{"name":"A","value":"`+hidden+`","access":"everyone"}`, "access"),
		bad("description", `{"name":"A","value":"`+hidden+`","description":"`+strings.Repeat("x", 2001)+`"}`, "description"),
	}
	for _, name := range []string{
		"", "a", "Ab", "1A", "_A", "A-B", "A B", "A/B", "Ä", "A\n", strings.Repeat("A", 129),
		"LINESHAFT_API_KEY", "PATH", "HOME", "LANG", "LC_ALL", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "IFS", "NODE_OPTIONS",
	} {
		list = append(list, bad(fmt.Sprintf("name %.20q", name), secretBody(name, hidden), "name"))
	}
	b.play(t, list)
	b.play(t, []scenario{
		{name: "longest", method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: secretBody(strings.Repeat("A", 128), strings.Repeat("x", lineshaft.MaxSecretBytes)), status: 201},
		{name: "control characters", method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: secretBody("B", "\x01\t\r\n\x7f"), status: 201},
	})
	if strings.Contains(b.log.String(), hidden) {
		t.Error("a value is in the log")
	}
}

func TestS1AKeyLimitedToFactoriesHasNoTeamSecrets(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	_, key, err := b.control.CreateAPIKey(t.Context(), b.admin(), access.NewAPIKey{Name: "limited", Role: lineshaft.RoleAdmin, FactoryUIDs: []string{b.elsewhere()}})
	if err != nil {
		t.Fatal(err)
	}
	b.check(t, scenario{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: secretBody("A", hidden), status: 201})
	b.keys[lineshaft.RoleAdmin] = key
	for _, sc := range []scenario{
		{method: get, path: "/secrets"},
		{method: get, path: "/secrets/A"},
		{method: post, path: "/secrets", body: secretBody("B", hidden)},
		{method: put, path: "/secrets/A", body: `{"value":"x"}`},
		{method: del, path: "/secrets/A"},
	} {
		sc.as, sc.status, sc.code, sc.has = lineshaft.RoleAdmin, 403, "not_authorized", []string{"team"}
		b.check(t, sc)
	}
}

func TestR3SecretsOfARunOverHTTP(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.play(t, []scenario{
		{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"OPEN","value":"` + hidden + `","access":"runs"}`, status: 201},
		{method: post, path: "/secrets", as: lineshaft.RoleAdmin, body: `{"name":"SHUT","value":"` + hidden + `"}`, status: 201},
	})
	names := func(list string) string { return nest("config.secrets", list) }
	var many []string
	for i := range lineshaft.MaxRunSecrets + 1 {
		many = append(many, fmt.Sprintf(`{"name":"S%d"}`, i))
	}
	b.play(t, []scenario{
		create("for runs", names(`[{"name":"OPEN"}]`), 200, ""),
		create("none", names(`[]`), 200, ""),
		create("granted", names(`[{"name":"SHUT"}]`), 403, "not_authorized", `"detail":"config.secrets: secret SHUT`, "SHUT --access runs"),
		create("unknown", names(`[{"name":"OPEN"},{"name":"NOPE"}]`), 400, "invalid_request", `"detail":"config.secrets: there is no secret NOPE`),
		create("twice", names(`[{"name":"OPEN"},{"name":"OPEN"}]`), 400, "invalid_request", `config.secrets[1].name: `),
		create("no name", names(`[{"name":"open"}]`), 400, "invalid_request", `config.secrets[0].name: `),
		create("without name", names(`[{}]`), 400, "invalid_request", `config.secrets[0]`),
		create("too many", names(`[`+strings.Join(many, ",")+`]`), 400, "invalid_request", `config.secrets`),
	})
	job := b.claim()
	if job.Secrets["OPEN"] != hidden {
		t.Fatalf("the run got %v", job.Secrets)
	}
	for _, path := range []string{"/agent/runs", "/agent/runs/" + job.RunID, "/agent/runs/" + job.RunID + "/events", "/audit?limit=100", "/secrets"} {
		b.check(t, scenario{method: get, path: path, as: lineshaft.RoleAdmin, status: 200, not: []string{hidden}})
	}
	b.check(t, scenario{method: get, path: "/agent/runs/" + job.RunID, as: lineshaft.RoleAdmin, status: 200, has: []string{`"secrets":[{"name":"OPEN"}]`}})
	b.check(t, scenario{method: get, path: "/audit?limit=100", as: lineshaft.RoleAdmin, status: 200, has: []string{`"action":"secret.use"`, `"secrets":"OPEN"`}})
	if strings.Contains(b.log.String(), hidden) {
		t.Error("a value is in the log")
	}
}
