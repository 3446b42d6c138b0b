package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

func TestContractRulesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	if err := testServer().openAPIFault; err != nil {
		t.Error(err)
	}
}

func TestContractLinksLeadFromEveryCreate(t *testing.T) {
	t.Parallel()
	operations := operationsOf(testServer().api.OpenAPI())
	for _, op := range operations {
		if op.Method != http.MethodPost || !strings.HasPrefix(op.OperationID, "create") || op.OperationID == "createFactoryRun" {
			continue
		}
		links := successOf(op).Links
		var taking, linked []string
		for _, to := range operations {
			if strings.HasPrefix(to.Path, op.Path+"/{") && strings.Count(to.Path, "/") == strings.Count(op.Path, "/")+1 {
				taking = append(taking, to.OperationID)
			}
		}
		for id, link := range links {
			linked = append(linked, id)
			if link.OperationID != id || len(link.Parameters) == 0 {
				t.Errorf("%s: link %s: %+v", op.OperationID, id, link)
			}
		}
		for _, id := range taking {
			if !slices.Contains(linked, id) {
				t.Errorf("%s has no link to %s, only to %v", op.OperationID, id, linked)
			}
		}
		if len(taking) == 0 {
			t.Errorf("%s: nothing takes what it creates", op.OperationID)
		}
	}
}

func TestR12CancelByFilterRefusesUnknownFieldsAndCanOnlyLook(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "p", Config: lineshaft.AgentConfig{Name: "mine"}})
	path, as := "/agent/runs/cancel", lineshaft.RoleManager
	b.play(t, []scenario{
		{name: "misspelt", method: post, path: path, as: as, body: `{"filter":{"name":"mine"},"dryrun":true}`, status: 400, has: []string{"dryrun"}},
		{name: "another case", method: post, path: path, as: as, body: `{"filter":{"name":"mine"},"DRY_RUN":true}`, status: 400},
		{name: "condition", method: post, path: path, as: as, body: `{"filter":{"name":"mine","statee":["QUEUED"]}}`, status: 400, has: []string{"statee"}},
		{name: "a key that no run has", method: post, path: path, as: as, body: `{"filter":{"metadata":{"a b":"c"}}}`, status: 400, has: []string{"metadata: "}},
		{name: "null", method: post, path: path, as: as, body: `{"filter":{"name":"mine","creator":null}}`, status: 400, has: []string{"filter.creator: is null"}},
		{name: "dry_run null", method: post, path: path, as: as, body: `{"filter":{"name":"mine"},"dry_run":null}`, status: 400, has: []string{"dry_run: is null"}},
		{name: "empty", method: post, path: path, as: as, body: `{"filter":{"name":"mine","creator":""}}`, status: 400, has: []string{"filter.creator: "}},
		{name: "empty list", method: post, path: path, as: as, body: `{"filter":{"name":"mine","state":[]}}`, status: 400, has: []string{"filter.state: "}},
		{name: "no metadata", method: post, path: path, as: as, body: `{"filter":{"name":"mine","metadata":{}}}`, status: 400, has: []string{"filter.metadata: "}},
		{name: "dry", method: post, path: path, as: as, body: `{"filter":{"name":"mine"},"dry_run":true}`, status: 200, has: []string{`"cancelled":[]`, `"would_cancel":["` + id + `"]`}},
		{name: "still there", method: get, path: "/agent/runs/" + id, as: as, status: 200, has: []string{`"state":"QUEUED"`}},
		{name: "done", method: post, path: path, as: as, body: `{"filter":{"name":"mine"},"dry_run":false}`, status: 200, has: []string{`"cancelled":["` + id + `"]`}, not: []string{"would_cancel"}},
	})
}

func TestR7CascadeOnAnEndedRunWithoutDescendants(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "p"})
	cancel := "/agent/runs/" + id + "/cancel"
	b.play(t, []scenario{
		{method: post, path: cancel + "?cascade=1", as: lineshaft.RoleManager, status: 200},
		{name: "again", method: post, path: cancel + "?cascade=1", as: lineshaft.RoleManager, status: 400, code: "invalid_request"},
	})
}

// A run whose processes are being ended can be deleted a moment later, which clients may wait for.
func TestR12DeleteJustAfterACancel(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "p"})
	b.claim()
	b.check(t, scenario{method: post, path: "/agent/runs/" + id + "/cancel", as: lineshaft.RoleManager, status: 200})
	w := b.check(t, scenario{method: del, path: "/agent/runs/" + id, as: lineshaft.RoleManager, status: 409, code: "conflict"})
	if doc := decode[problem.Document](t, w); !doc.Retryable || w.Header().Get("X-Should-Retry") == "false" {
		t.Errorf("%s %v", w.Body, w.Header())
	}
}

func TestR2WhiteSpaceSaysNothing(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	id := b.start(lineshaft.NewRun{Prompt: "p"})
	as := lineshaft.RoleMember
	b.play(t, []scenario{
		{name: "prompt", method: post, path: "/agent/runs", as: as, body: `{"prompt":" \n"}`, status: 400, has: []string{"prompt: "}},
		{name: "title", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","title":"\t "}`, status: 400, has: []string{"title: "}},
		{name: "message", method: post, path: "/agent/runs/" + id + "/followups", as: lineshaft.RoleManager, body: `{"message":" "}`, status: 400, has: []string{"message: "}},
	})
}

// Complaints name what the caller sent and are in words for people.
func TestH3ComplaintsInTheCallersWords(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	as := lineshaft.RoleManager
	b.play(t, []scenario{
		{name: "skill_spec", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","config":{"skill_spec":"a b:c"}}`, status: 400, has: []string{"config.skill_spec: "}},
		{name: "skills", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","config":{"skills":["a b:c"]}}`, status: 400, has: []string{"config.skills[0]: "}},
		{name: "metadata", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","metadata":{"ok":"x","team":7}}`, status: 400, has: []string{"metadata.team: expected string, not number"}},
		{name: "worker", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","config":{"worker_host":"a b"}}`, status: 400, has: []string{"config.worker_host: "}},
		{name: "number", method: post, path: "/factory/f/webhooks", as: as, body: `{"name":"w","max_body_bytes":9999999}`, status: 400, has: []string{"= 1048576"}},
		{name: "time", method: get, path: "/agent/runs?created_after=yesterday", as: as, status: 400, has: []string{"created_after: expected a time in RFC 3339 format, such as 2026-05-01T12:00:00Z"}},
		{name: "date", method: get, path: "/agent/runs?created_after=2026-05-01", as: as, status: 200},
		{name: "mode", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","mode":"plan"}`, status: 422, has: []string{"mode: "}},
		{name: "no mode", method: post, path: "/agent/runs", as: as, body: `{"prompt":"p","mode":"fast"}`, status: 400, has: []string{"mode: "}},
	})
}

func TestF1AChangeOfNothingAndOfTheBudget(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	as := lineshaft.RoleAdmin
	b.check(t, scenario{name: "a name of two lines", method: post, path: "/factory", as: as, body: `{"name":"a\nb"}`, status: 400, has: []string{"name: "}})
	made := decode[Factory](t, b.check(t, scenario{method: post, path: "/factory", as: as, body: `{"name":"f"}`, status: 201}))
	path := "/factory/" + made.UID
	same := decode[Factory](t, b.check(t, scenario{method: patch, path: path, as: as, body: `{}`, status: 200}))
	if same.Revision != made.Revision || same.UpdatedAt != made.UpdatedAt {
		t.Errorf("revision %d at %s, was %d at %s", same.Revision, same.UpdatedAt, made.Revision, made.UpdatedAt)
	}
	b.play(t, []scenario{
		{name: "budget", method: patch, path: path, as: as, body: `{"daily_budget":{"max_cost_usd":5}}`, status: 200, has: []string{`"max_cost_usd":5`}},
		{name: "kept", method: patch, path: path, as: as, body: `{"paused":true}`, status: 200, has: []string{`"max_cost_usd":5`}},
		{name: "null", method: patch, path: path, as: as, body: `{"daily_budget":null}`, status: 200, not: []string{"daily_budget"}},
	})
}

func TestW18FiltersAreTestedOnWhatIngressTakes(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	as := lineshaft.RoleAdmin
	made := decode[Factory](t, b.check(t, scenario{method: post, path: "/factory", as: as, body: `{"name":"f"}`, status: 201}))
	path := "/factory/" + made.UID + "/test-filter"
	b.play(t, []scenario{
		{name: "payload", method: post, path: path, as: as, body: "{\"filter\":{\"payload\":{\"a\":[\"b\"]}},\"payload\":{\"a\":\"\\u0000\"}}", status: 200, has: []string{`"would_trigger":false`}},
		{name: "elsewhere", method: post, path: path, as: as, body: "{\"filter\":{},\"delivery_id\":\"\\u0000\"}", status: 400},
	})
}

// The server accepts and refuses what the document allows and forbids. Random requests found each of these.
func TestContractTheDocumentAgreesAboutForms(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	uid, _ := b.factory("f", "a")
	made := 0
	hooks, environments, definition := "/factory/"+uid+"/webhooks", "/agent/environments", "/factory/"+uid+"/definition"
	hmac := func(rest string) string {
		made++
		return `{"name":"w` + strconv.Itoa(made) + `","auth_mode":"signature","signature_scheme":"hmac","hmac":{"header":"X-Sig"` + rest + `}}`
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, form := range []struct {
		schema, path, body string
		ok                 bool
	}{
		{"CreateWebhookRequest", hooks, hmac(`,"prefix":"sha256="`), true},
		{"CreateWebhookRequest", hooks, hmac(`,"prefix":"é"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"prefix":"` + strings.Repeat("x", 65) + `"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"{timestamp}.{body}","timestamp_header":"X-Time"`), true},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"{timestamp}.{body}"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"timestamp_header":"X-Time"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"{id}.{body}","id_header":"X-Id"`), true},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"{id}.{body}"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"{id}","id_header":"X-Id"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"template":"é{body}"`), false},
		{"CreateWebhookRequest", hooks, hmac(`,"id_header":"Host"`), false},
		{"EnvironmentRequest", environments, `{"config":{"name":"a","setup_commands":["true"]}}`, true},
		{"EnvironmentRequest", environments, `{"config":{"name":"b","setup_commands":[" \n"]}}`, false},
		{"EnvironmentRequest", environments, `{"config":{"name":"c","refresh_commands":[" "]}}`, false},
		{"CancelRunsRequest", "/agent/runs/cancel", `{"filter":{"factory_uid":["a"` + strings.Repeat(`,"a"`, 19) + `]}}`, true},
		{"CancelRunsRequest", "/agent/runs/cancel", `{"filter":{"factory_uid":["a"` + strings.Repeat(`,"a"`, 20) + `]}}`, false},
		{"DefinitionRequest", definition + "/validate", `{"files":{"factory.yaml":"schemaVersion: v1alpha1\nname: f\n"}}`, true},
		{"DefinitionRequest", definition + "/validate", `{"files":{}}`, true},
		{"DefinitionRequest", definition + "/validate", `{"files":null}`, false},
		{"DefinitionRequest", definition + "/plan", `{"files":null}`, false},
		{"DefinitionRequest", definition + "/validate", `{"files":{"factory.yaml":null}}`, false},
		{"ApplyDefinitionRequest", definition + "/apply", `{"files":null}`, false},
		{"TestFilterRequest", "/factory/" + uid + "/test-filter", `{"filter":{},"payload":{},"provider":"webhook"}`, true},
		{"TestFilterRequest", "/factory/" + uid + "/test-filter", `{"filter":{},"payload":{},"provider":"other"}`, false},
		{"CancelRunsRequest", "/agent/runs/cancel", `{"filter":{"metadata":{"k":"` + strings.Repeat("0", 257) + `"}}}`, false},
		{"CreateAgentRequest", "/agent/identities", `{"name":"a","harness":{"type":"claude","auth":{"source":"managedSecret"}}}`, false},
		{"PublishedFolder", "/factory-files/validate", `{"files":null}`, false},
		{"PublishedFolder", "/factory-files/validate", `{"files":{"factory.yaml":null}}`, false},
		{"PublishedFolder", "/factory-files/validate", `{"files":[{"path":"factory.yaml","content":null}]}`, false},
		{"RunAgentRequest", "/agent/runs", `{"prompt":"p","config":{"mcp_servers":{"a":{"command":"true"}}}}`, true},
		{"RunAgentRequest", "/agent/runs", `{"prompt":"p","config":{"mcp_servers":{"":{"command":"true"}}}}`, false},
	} {
		if schemas[form.schema] == nil {
			schemas[form.schema] = documented(t, form.schema)
		}
		if fits(t, schemas[form.schema], form.body) != form.ok {
			t.Errorf("the document says otherwise: %s", form.body)
		}
		w := b.do(t, scenario{method: post, path: form.path, as: lineshaft.RoleManager, body: form.body})
		if accepted := w.Code < 300; accepted != form.ok || !accepted && w.Code != 400 {
			t.Errorf("%s: %d %s", form.body, w.Code, w.Body)
		}
	}
	b.check(t, scenario{method: get, path: "/agent/runs?metadata[k]=" + strings.Repeat("0", 257), as: lineshaft.RoleViewer, status: 400, has: []string{"metadata.k: "}})
}
